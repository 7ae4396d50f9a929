/* Tests that start their daemon themselves. */
#include "tests/integration/folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int it_setup_folder(void **state)
{
        struct it_host *host = calloc(1, sizeof *host);

        assert_non_null(host);
        it_host_init(host);
        *state = host;
        return 0;
}

int it_remove_folder(void **state)
{
        it_host_done(*state);
        free(*state);
        return 0;
}

int it_setup_small(void **state) { return it_setup_with(state, IT_ARGS(IT_SMALL)); }

void it_start(struct it_host *host, const char *const *args)
{
        char said[600];
        int code;

        if (!it_host_start(host, args, &code, said))
                fail_msg("pathwaysd ended with %d: %s", code, said);
}

void it_refuses_to_start(struct it_host *host, const char *const *args, const char *texts)
{
        char said[600], *list = strdup(texts), *rest = list, *text;
        int code;

        if (it_host_start(host, args, &code, said))
                fail_msg("pathwaysd has started");
        assert_in_range(code, 1, 127);
        while ((text = strsep(&rest, "|")))
                if (!strstr(said, text))
                        fail_msg("\"%s\" does not say \"%s\"", said, text);
        free(list);
}

void it_write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

bool it_has_said(const struct it_host *host, const char *text)
{
        char line[1000];
        bool has = false;
        FILE *log = fopen(host->log, "re");

        assert_non_null(log);
        while (!has && fgets(line, sizeof line, log))
                has = strstr(line, text);
        fclose(log);
        return has;
}

static void write_config(const struct it_host *host, const char *text, char path[128])
{
        snprintf(path, 128, "%s/pathways.conf", host->folder);
        it_write_file(path, text);
}

void it_start_configured(struct it_host *host, const char *text)
{
        char path[128];

        write_config(host, text, path);
        it_start(host, IT_ARGS("--config", path));
}

void it_reload(const struct it_host *host, const char *text)
{
        char path[128];

        write_config(host, text, path);
        assert_int_equal(kill(host->pid, SIGHUP), 0);
}
