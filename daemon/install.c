/* Paths of the parts, from the path of the running program. */
#include "daemon/install.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the daemon's program in a build tree; and where `make install` puts it. */
static const struct { const char *built, *installed; } parts[] = {
        [PW_INSTALL_EXECUTOR] = { "../executor/pathways-executor", PW_PKGLIBEXECDIR "/pathways-executor" },
        [PW_INSTALL_MODULES] = { "../executor/modules/.libs", PW_MODULEDIR },
};

/* An installation may lie elsewhere than it was made for: what is PREFIX/lib there is ../lib from PREFIX/sbin. */
static const char *below_prefix(const char *path)
{
        size_t length = strlen(PW_PREFIX);

        return !strncmp(path, PW_PREFIX, length) && path[length] == '/' ? path + length + 1 : NULL;
}

void pw_install_path(enum pw_install_part part, char *path, size_t bytes)
{
        char self[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        char *slash;

        self[length < 0 ? 0 : length] = 0;
        slash = strrchr(self, '/');
        if (slash)
                *slash = 0;
        snprintf(path, bytes, "%s/%s", self, parts[part].built);
        if (slash && access(path, F_OK) == 0)
                return;
        if (slash && below_prefix(parts[part].installed)) {
                snprintf(path, bytes, "%s/../%s", self, below_prefix(parts[part].installed));
                if (access(path, F_OK) == 0)
                        return;
        }
        snprintf(path, bytes, "%s", parts[part].installed);
}
