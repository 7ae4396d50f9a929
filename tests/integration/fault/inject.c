/* Faults on demand, preloaded into one program: an allocation or a system call fails once, told apart by where it is called from.
 *
 * PW_FAULT_IN names the program (others that inherit the preload are left alone). With PW_FAULT_LIST=FILE every place that is met
 * is written there once, a line "HASH FUNCTION"; with PW_FAULT_AT=HASH the first call from that place fails, unless the file
 * PW_FAULT_OVER exists by then; with PW_FAULT_ONCE it is made then, so that no other process fails. With PW_FAULT_NO_PUNCH no page
 * is ever given back. A place is a function and the return addresses above it, so runs that compare places switch address
 * randomization off. What libc looks up for users and groups is left out: its own code asserts that nothing fails there.
 *
 * After curl's tests/runtests.pl --torture, which fails each call in turn; by place instead of by number the count stays small,
 * and does not change with timing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 14
#define PLACES 16384u /* a power of two */

static struct {
        bool listing, failing, once, no_punch;
        uint64_t at;
        const char *list, *over;
        pid_t pid; /* a child of this process, on its way to another program, is left alone */
        _Atomic bool failed;
        _Atomic uint64_t seen[PLACES]; /* open addressing */
} faults;
static __thread bool inside;

static uint64_t place_of(const char *function, void *const *frames, int count)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (const char *c = function; *c; c++)
                hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
        for (int i = 1; i < count; i++) /* without fails() itself */
                hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
        return hash ? hash : 1;
}

static bool in_user_lookup(void *const *frames, int count)
{
        Dl_info info;

        for (int i = 0; i < count; i++)
                if (dladdr(frames[i], &info) && info.dli_sname && !strncmp(info.dli_sname, "getpw", 5))
                        return true;
        return false;
}

static bool is_new(uint64_t place)
{
        for (uint32_t i = 0; i < PLACES; i++) {
                _Atomic uint64_t *cell = &faults.seen[(place + i) % PLACES];
                uint64_t none = 0;

                if (atomic_load(cell) == place)
                        return false;
                if (atomic_compare_exchange_strong(cell, &none, place))
                        return true;
                if (none == place)
                        return false;
        }
        return false;
}

/* "HASH FUNCTION", one write. The program may close descriptors that it does not know, so none is kept. The call may be a signal
 * handler's that came inside malloc(): nothing here may allocate, so no stdio. */
static void list(uint64_t place, const char *function)
{
        int fd = (int)syscall(SYS_openat, AT_FDCWD, faults.list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        char line[64];
        size_t at = 0;

        for (; at < 16; at++)
                line[at] = "0123456789abcdef"[place >> (60 - 4 * at) & 15];
        line[at++] = ' ';
        while (*function && at < sizeof line - 1)
                line[at++] = *function++;
        line[at++] = '\n';
        (void)!syscall(SYS_write, fd, line, at);
        syscall(SYS_close, fd);
}

/* Whether this call has to fail. Keeps errno. */
static __attribute__((noinline)) bool fails(const char *function)
{
        int error = errno, count;
        void *frames[DEPTH];
        bool now = false;
        uint64_t place;

        if (inside || (!faults.listing && (!faults.failing || atomic_load(&faults.failed))))
                return false;
        if (getpid() != faults.pid)
                return false;
        inside = true;
        count = backtrace(frames, DEPTH);
        place = place_of(function, frames, count);
        if (faults.listing && is_new(place) && !in_user_lookup(frames, count))
                list(place, function);
        now = faults.failing && place == faults.at && !atomic_exchange(&faults.failed, true) &&
              syscall(SYS_access, faults.over, F_OK) != 0;
        if (now && faults.once)
                syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, faults.over, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        if (now) {
                (void)!syscall(SYS_write, STDERR_FILENO, function, strlen(function));
                (void)!syscall(SYS_write, STDERR_FILENO, " fails here:\n", 13);
                backtrace_symbols_fd(frames, count, STDERR_FILENO);
        }
        inside = false;
        errno = error;
        return now;
}

static __attribute__((constructor)) void begin(void)
{
        const char *program = getenv("PW_FAULT_IN"), *at = getenv("PW_FAULT_AT");
        void *frame;

        if (!program || strcmp(program, program_invocation_short_name))
                return;
        backtrace(&frame, 1); /* its first call allocates, */
        syscall(SYS_getpid);  /* and so may this one's */
        faults.pid = getpid();
        faults.list = getenv("PW_FAULT_LIST");
        faults.over = getenv("PW_FAULT_OVER");
        faults.listing = faults.list != NULL;
        faults.at = at ? strtoull(at, NULL, 16) : 0;
        faults.failing = faults.at != 0;
        faults.once = getenv("PW_FAULT_ONCE") != NULL && faults.over;
        faults.no_punch = getenv("PW_FAULT_NO_PUNCH") != NULL;
}

/* A function of libc that fails with `error` on demand. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAULT(type, name, declared, given, result, error)                                                                       \
        type name declared                                                                                                       \
        {                                                                                                                        \
                static __typeof__(&name) next;                                                                                   \
                if (!next)                                                                                                       \
                        next = NEXT(name);                                                                                       \
                if (fails(#name)) {                                                                                              \
                        errno = error;                                                                                           \
                        return result;                                                                                           \
                }                                                                                                                \
                return next given;                                                                                               \
        }

/* dlsym() may allocate, so these go to libc by names that it has for that. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define NO_MEMORY(function) (fails(function) ? (errno = ENOMEM, true) : false)

void *malloc(size_t bytes) { return NO_MEMORY("malloc") ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return NO_MEMORY("calloc") ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { return NO_MEMORY("realloc") ? NULL : __libc_realloc(memory, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes)
{
        return NO_MEMORY("aligned_alloc") ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void **ret_memory, size_t alignment, size_t bytes)
{
        void *memory = NO_MEMORY("posix_memalign") ? NULL : __libc_memalign(alignment, bytes);

        if (memory)
                *ret_memory = memory;
        return memory ? 0 : ENOMEM;
}

/* Memory and files */
FAULT(void *, mmap, (void *at, size_t bytes, int prot, int flags, int fd, off_t offset), (at, bytes, prot, flags, fd, offset),
      MAP_FAILED, ENOMEM)
FAULT(int, munmap, (void *at, size_t bytes), (at, bytes), -1, ENOMEM)
FAULT(int, mprotect, (void *at, size_t bytes, int prot), (at, bytes, prot), -1, ENOMEM)
FAULT(int, madvise, (void *at, size_t bytes, int advice), (at, bytes, advice), -1, EAGAIN)
FAULT(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
FAULT(int, ftruncate, (int fd, off_t bytes), (fd, bytes), -1, EINTR)

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
        static __typeof__(&fallocate) next;

        if (!next)
                next = NEXT(fallocate);
        if (fails("fallocate") || (faults.no_punch && mode & FALLOC_FL_PUNCH_HOLE)) {
                errno = ENOSPC;
                return -1;
        }
        return next(fd, mode, at, bytes);
}

FAULT(int, fstat, (int fd, struct stat *stat), (fd, stat), -1, ENOMEM)
FAULT(int, fsync, (int fd), (fd), -1, EIO)
FAULT(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EPERM)
FAULT(int, chmod, (const char *path, mode_t mode), (path, mode), -1, EPERM)
FAULT(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
FAULT(int, dup, (int fd), (fd), -1, EMFILE)
FAULT(int, pipe2, (int ends[2], int flags), (ends, flags), -1, EMFILE)
FAULT(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
FAULT(ssize_t, read, (int fd, void *data, size_t bytes), (fd, data, bytes), -1, EINTR)
FAULT(ssize_t, pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at), -1, EIO)
FAULT(ssize_t, write, (int fd, const void *data, size_t bytes), (fd, data, bytes), -1, EINTR)
FAULT(ssize_t, pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at), -1, ENOSPC)

int open(const char *path, int flags, ...)
{
        static __typeof__(&open) next;
        va_list list;

        va_start(list, flags);
        mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
        va_end(list);
        if (!next)
                next = NEXT(open);
        if (fails("open")) {
                errno = EMFILE;
                return -1;
        }
        return next(path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
        static __typeof__(&fcntl) next;
        va_list list;

        va_start(list, command);
        void *argument = va_arg(list, void *);
        va_end(list);
        if (!next)
                next = NEXT(fcntl);
        if (fails("fcntl")) {
                errno = EMFILE;
                return -1;
        }
        return next(fd, command, argument);
}

/* Sockets and events */
FAULT(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
FAULT(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends), -1, EMFILE)
FAULT(int, bind, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes), -1, EADDRINUSE)
FAULT(int, listen, (int fd, int backlog), (fd, backlog), -1, EADDRINUSE)
FAULT(int, connect, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes), -1, EAGAIN)
FAULT(int, accept4, (int fd, struct sockaddr *address, socklen_t *bytes, int flags), (fd, address, bytes, flags), -1, EMFILE)
FAULT(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *bytes), (fd, level, name, value, bytes), -1, ENOBUFS)
FAULT(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), -1, ENOBUFS)
FAULT(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), -1, EINTR)
FAULT(int, poll, (struct pollfd *fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms), -1, EINTR)
FAULT(int, epoll_create1, (int flags), (flags), -1, EMFILE)
FAULT(int, epoll_ctl, (int fd, int operation, int of, struct epoll_event *event), (fd, operation, of, event), -1, ENOMEM)
FAULT(int, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout_ms), (fd, events, most, timeout_ms), -1, EINTR)

/* Processes and threads */
FAULT(pid_t, fork, (void), (), -1, EAGAIN)
FAULT(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *context),
      (thread, attributes, work, context), EAGAIN, EAGAIN)
FAULT(int, setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved), -1, EAGAIN)
FAULT(int, setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved), -1, EAGAIN)

/* Futexes are left alone: a wait that fails is a wake-up, which every wait expects. */
long syscall(long number, ...)
{
        static __typeof__(&syscall) next;
        uintptr_t a[6];
        va_list list;

        va_start(list, number);
        for (int i = 0; i < 6; i++)
                a[i] = va_arg(list, uintptr_t);
        va_end(list);
        if (!next)
                next = NEXT(syscall);
        if (number == SYS_pidfd_open && fails("pidfd_open")) {
                errno = EMFILE;
                return -1;
        }
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
