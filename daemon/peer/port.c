/* The port that was free, found again. */
#include "daemon/peer/port.h"

#include "base/memory.h"
#include "daemon/own_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "listen"

/* How much of it is the address before ":0"; 0: another port is named, or none. */
static size_t bytes_of_any(const char *listen)
{
        size_t bytes = strlen(listen);

        return listen[0] != '/' && bytes > 2 && !strcmp(listen + bytes - 2, ":0") ? bytes - 1 : 0;
}

bool pw_port_last(const struct pw_daemon *daemon, char address[PW_PORT_ADDRESS_BYTES])
{
        size_t same = bytes_of_any(daemon->settings.listen);
        pw_auto_close int fd = -1;
        struct pw_error err;
        ssize_t bytes;

        if (!same || pw_own_file(daemon->state_dir, FILE_NAME, &fd, &err) != PW_OK)
                return false;
        bytes = read(fd, address, PW_PORT_ADDRESS_BYTES - 1);
        if (bytes <= 0)
                return false;
        address[bytes] = 0;
        address[strcspn(address, "\n")] = 0;
        return !strncmp(address, daemon->settings.listen, same);
}

void pw_port_keep(struct pw_daemon *daemon, const char *address)
{
        char text[PW_PORT_ADDRESS_BYTES];
        pw_auto_close int fd = -1;
        struct pw_error err;
        int bytes = snprintf(text, sizeof text, "%s\n", address);
        enum pw_status status;

        if (!bytes_of_any(daemon->settings.listen) || bytes >= (int)sizeof text)
                return;
        status = pw_own_file(daemon->state_dir, FILE_NAME, &fd, &err);
        if (status == PW_OK && (ftruncate(fd, 0) < 0 || write(fd, text, (size_t)bytes) != bytes))
                status = pw_error_errno(&err, errno, "write %s/" FILE_NAME, daemon->state_dir);
        if (status != PW_OK)
                pw_log(&daemon->log, PW_LOG_WARNING,
                       "the port of --listen is not kept: a start while Redis is away may get another one reason=\"%s\"", err.text);
}
