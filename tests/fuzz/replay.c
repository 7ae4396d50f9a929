/* main() where no fuzzer brings one: each file named, or in a folder named, is one input. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int replay_file(const char *path)
{
        FILE *file = fopen(path, "rb");
        uint8_t *bytes = malloc(1 << 20);
        size_t count;

        if (!file || !bytes) {
                fprintf(stderr, "%s: cannot be read\n", path);
                exit(1);
        }
        count = fread(bytes, 1, 1 << 20, file);
        fclose(file);
        /* A copy of its own size, so that a sanitizer sees a read behind its end. */
        bytes = realloc(bytes, count ? count : 1);
        LLVMFuzzerTestOneInput(bytes, count);
        free(bytes);
        return 1;
}

static int replay(const char *path)
{
        DIR *folder = opendir(path);
        struct dirent *entry;
        char inside[4096];
        int count = 0;

        if (!folder)
                return replay_file(path);
        while ((entry = readdir(folder)))
                if (entry->d_name[0] != '.' && snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) < (int)sizeof inside)
                        count += replay_file(inside);
        closedir(folder);
        return count;
}

int main(int count, char **paths)
{
        const char *name = strrchr(paths[0], '/'), *source = getenv("PW_SRC");
        char corpus[4096];
        int replayed = 0;

        /* Libtool's wrapper runs .libs/lt-NAME. */
        name = name ? name + 1 : paths[0];
        name = strncmp(name, "lt-", 3) ? name : name + 3;
        snprintf(corpus, sizeof corpus, "%s/tests/fuzz/corpus/%s", source ? source : ".", name);
        for (int i = 1; i < count; i++)
                replayed += replay(paths[i]);
        if (count == 1)
                replayed = replay(corpus);
        LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
        printf("%s: %d inputs\n", name, replayed);
        return replayed || count > 1 ? 0 : 1;
}
