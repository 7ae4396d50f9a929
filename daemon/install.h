/* Where the other parts of the product lie: installed, or built beside this daemon.
 */
#ifndef PW_DAEMON_INSTALL_H
#define PW_DAEMON_INSTALL_H

#include <stddef.h>

enum pw_install_part { PW_INSTALL_EXECUTOR, PW_INSTALL_MODULES };

/* The path of `part`: beside the daemon's own program (a build tree, or an installation that was moved), else where
 * configure said. */
void pw_install_path(enum pw_install_part part, char *path, size_t bytes);

#endif
