/* The file of a module, NAME.so in a folder, copied whole into a memfd that nothing can change.
 *
 * Whoever may write a folder may put anything there: only regular files of a bounded size are taken, no link leads out of the
 * folder, and they are read, not mapped. A folder that somebody else than root and the daemon's user may write is looked into with
 * the rights of the executors, so nothing gets into one that it could not read itself.
 *
 * Threads: any.   Blocks: as the file system does.
 */
#ifndef PW_DAEMON_MODULE_MODULE_FILE_H
#define PW_DAEMON_MODULE_MODULE_FILE_H

#include "base/error.h"
#include "base/option.h"
#include "base/size.h"

#include <sys/stat.h>

#define PW_MODULE_BYTES_MAX (256 * PW_MIB)

/* What a file was when it was read: one that is still the same need not be read again. */
struct pw_module_mark {
        dev_t device;
        ino_t inode;
        off_t bytes;
        struct timespec modified, changed;
        uint64_t digest;
        bool settled; /* old enough when it was read: a later change has another time */
};

struct pw_module_query {
        const struct pw_text_list *folders; /* the first that has the module wins */
        const char *name;
        bool change_user;                   /* `uid` and `gid` are the executors'; false: the daemon's own */
        uid_t uid;
        gid_t gid;
        struct pw_module_mark known;        /* zeroed: read it in any case */
};

struct pw_module_file {
        struct pw_module_mark mark;
        int fd; /* sealed, read-only for whoever has it; -1: the file is as known */
};

/* Own: *ret_file's descriptor is the caller's.
 * Errors: PW_INVALID (name), PW_NOT_FOUND (with the folders that were looked in), PW_BAD_MODULE (what lies there is no file that
 * may be a module), PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_module_file_read(const struct pw_module_query *query, struct pw_module_file *ret_file,
                                                 struct pw_error *ret_err);

#endif
