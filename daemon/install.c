/* Paths of the parts, from the path of the running program. */
#include "daemon/install.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the daemon's program; and the path of the installation. */
static const struct { const char *beside[2]; const char *installed; } parts[] = {
        [PW_INSTALL_EXECUTOR] = { { "../executor/pathways-executor", "../libexec/pathways/pathways-executor" },
                                  PW_PKGLIBEXECDIR "/pathways-executor" },
        [PW_INSTALL_MODULES] = { { "../executor/modules/.libs", "../lib/pathways/modules" }, PW_MODULEDIR },
};

void pw_install_path(enum pw_install_part part, char *path, size_t bytes)
{
        char self[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        char *slash;

        self[length < 0 ? 0 : length] = 0;
        slash = strrchr(self, '/');
        if (slash)
                *slash = 0;
        for (int i = 0; slash && i < 2; i++) {
                snprintf(path, bytes, "%s/%s", self, parts[part].beside[i]);
                if (access(path, F_OK) == 0)
                        return;
        }
        snprintf(path, bytes, "%s", parts[part].installed);
}
