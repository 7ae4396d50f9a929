/* The environment: where folders lie, and what systemd tells a service. */
#include "daemon/settings/environment.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The longest that a path made from a variable may be: names of our own are put behind it. */
#define FOLDER_BYTES 3800u

static void note_odd(struct pw_environment *environment, const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(environment->odd); i++) {
                if (environment->odd[i][0])
                        continue;
                snprintf(environment->odd[i], sizeof environment->odd[i], "%s", name);
                return;
        }
}

/* The XDG specification: a path that is not absolute is to be ignored. */
static const char *folder(struct pw_environment *environment, const char *name)
{
        const char *text = getenv(name);

        if (!text || !*text)
                return NULL;
        if (*text == '/' && strlen(text) < FOLDER_BYTES)
                return text;
        note_odd(environment, name);
        return NULL;
}

static const char *notify_socket(struct pw_environment *environment)
{
        const char *text = getenv("NOTIFY_SOCKET");

        if (!text || !*text)
                return NULL;
        if ((*text == '/' || *text == '@') && text[1] && strlen(text) < sizeof ((struct sockaddr_un *)0)->sun_path)
                return text;
        note_odd(environment, "NOTIFY_SOCKET");
        return NULL;
}

static bool number_of(const char *text, uint64_t *ret_number)
{
        char *end;

        if (*text < '0' || *text > '9' || strlen(text) > 18)
                return false;
        *ret_number = strtoull(text, &end, 10);
        return !*end;
}

/* WATCHDOG_PID says whom the watchdog is for: a child of the service has the variable too. */
static uint64_t watchdog(struct pw_environment *environment)
{
        const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
        uint64_t us, number;

        if (!usec || !*usec)
                return 0;
        if (!number_of(usec, &us) || !us || (pid && !number_of(pid, &number))) {
                note_odd(environment, "WATCHDOG_USEC");
                return 0;
        }
        return pid && number != (uint64_t)getpid() ? 0 : us;
}

/* JOURNAL_STREAM names device and inode of the journal's stream; standard error may have been led elsewhere since. */
static bool is_journal(struct pw_environment *environment)
{
        const char *text = getenv("JOURNAL_STREAM");
        uint64_t device, inode;
        struct stat info;
        char rest;

        if (!text || !*text)
                return false;
        if (sscanf(text, "%" SCNu64 ":%" SCNu64 "%c", &device, &inode, &rest) != 2) {
                note_odd(environment, "JOURNAL_STREAM");
                return false;
        }
        return fstat(STDERR_FILENO, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

void pw_environment_read(struct pw_environment *environment)
{
        *environment = (struct pw_environment){ 0 };
        environment->runtime_dir = folder(environment, "XDG_RUNTIME_DIR");
        environment->state_home = folder(environment, "XDG_STATE_HOME");
        environment->home = folder(environment, "HOME");
        environment->cuda_cache = folder(environment, "CUDA_CACHE_PATH");
        environment->notify_socket = notify_socket(environment);
        environment->watchdog_us = watchdog(environment);
        environment->journal = is_journal(environment);
}
