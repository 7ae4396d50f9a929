/* Descriptors of a file system whose server never answers, sent over many connections: who closes one waits for that server, no
 * signal ends it, and whoever starts a process while he has it waits as well. Others attach and work meanwhile, and the daemon
 * ends. On a system that refuses descriptors at the door, and on one that cannot. */
#include "tests/attack/attack.h"
#include "tests/integration/older.h"
#include "tests/integration/raw.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENT 40u   /* the daemon had 16 threads that close */
#define OTHERS 8u
#define DEAD_MS (int)(IT_LONG / 1000)

/* --- a file system that answers everything but what a close asks -------------------------------------------------------------- */

struct dead { int fd, folder; struct it_child server; };

static uint32_t answer(const struct fuse_in_header *in, char *out)
{
        static const struct fuse_attr file = { .ino = 2, .mode = S_IFREG | 0666, .nlink = 1 },
                folder = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 1 };

        switch (in->opcode) {
        case FUSE_INIT:
                *(struct fuse_init_out *)(void *)out = (struct fuse_init_out){ .major = 7, .minor = 31, .max_write = 4096,
                                                                               .max_background = 64 };
                return sizeof(struct fuse_init_out);
        case FUSE_LOOKUP:
                *(struct fuse_entry_out *)(void *)out = (struct fuse_entry_out){ .nodeid = 2, .attr = file };
                return sizeof(struct fuse_entry_out);
        case FUSE_GETATTR:
                *(struct fuse_attr_out *)(void *)out = (struct fuse_attr_out){ .attr = in->nodeid == 1 ? folder : file };
                return sizeof(struct fuse_attr_out);
        case FUSE_OPEN:
                return sizeof(struct fuse_open_out);
        default:
                return 0;
        }
}

static int serve(void *context, int pipe)
{
        const struct dead *dead = context;
        union { struct fuse_in_header in; char bytes[1 << 16]; } asked;
        struct { struct fuse_out_header head; char body[256]; } said;

        (void)pipe;
        for (;;) {
                ssize_t got = read(dead->fd, &asked, sizeof asked);

                if (got < (ssize_t)sizeof asked.in && errno == EINTR)
                        continue;
                if (got < (ssize_t)sizeof asked.in)
                        return 0;
                if (asked.in.opcode == FUSE_FLUSH || asked.in.opcode == FUSE_RELEASE || asked.in.opcode == FUSE_FORGET ||
                    asked.in.opcode == FUSE_INTERRUPT)
                        continue;
                memset(&said, 0, sizeof said);
                said.head.unique = asked.in.unique;
                said.head.len = sizeof said.head + answer(&asked.in, said.body);
                said.head.error = said.head.len == sizeof said.head ? -ENOSYS : 0;
                if (write(dead->fd, &said, said.head.len) < 0 && errno != ENOENT)
                        return 0;
        }
}

/* Mounted where nobody finds it: it goes with who has its folder, and ends with its server. */
static void begin_dead(struct dead *dead)
{
        char path[] = "/tmp/pw-dead-XXXXXX", how[96];
        bool mounted;
        int number;

        dead->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        if (dead->fd < 0)
                it_skip("/dev/fuse does not open here (%s)", strerror(errno));
        assert_non_null(mkdtemp(path));
        snprintf(how, sizeof how, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dead->fd);
        mounted = mount("dead", path, "fuse", MS_NOSUID | MS_NODEV, how) == 0;
        number = errno;
        dead->folder = mounted ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (mounted)
                assert_int_equal(umount2(path, MNT_DETACH), 0);
        rmdir(path);
        if (!mounted)
                it_skip("a file system of user space cannot be mounted here (%s)", strerror(number));
        assert_true(dead->folder >= 0);
        dead->server = it_fork(serve, dead);
        close(dead->fd);
}

/* --- who sends its files ------------------------------------------------------------------------------------------------------ */

struct attacked { const struct it_host *host; const struct dead *dead; };

/* False: refused at the door. */
static bool send_file(int socket, int file)
{
        union { struct cmsghdr align; char space[CMSG_SPACE(sizeof(int))]; } room = { .space = { 0 } };
        struct iovec part = { (void *)(uintptr_t)"", 1 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.space,
                                  .msg_controllen = sizeof room.space };

        room.align = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&room.align), &file, sizeof file);
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        assert_true(sent == 1 || errno == EPERM);
        return sent == 1;
}

static int send_files(void *context, int pipe)
{
        const struct attacked *attacked = context;
        uint32_t sent = 0;

        for (uint32_t i = 0; i < SENT; i++) {
                struct pollfd on = { .fd = raw_connect(attacked->host), .events = POLLIN };
                int file = openat(attacked->dead->folder, "file", O_RDONLY | O_CLOEXEC);

                if (file < 0)
                        fail_msg("open: %s", strerror(errno));
                if (send_file(on.fd, file)) {
                        sent++;
                        assert_int_equal(poll(&on, 1, DEAD_MS), 1); /* it is hung up */
                        assert_true(on.revents & POLLHUP);
                }
        }
        assert_int_equal(write(pipe, &sent, sizeof sent), sizeof sent);
        pause(); /* it waits as well when it ends */
        return 0;
}

static int attach_and_work(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        struct pw_view view;

        (void)pipe;
        it_ok(pw_put(session, "kept", 5, NULL, &future, IT_ERR));
        it_ok(pw_get(future, IT_LONG, &view, IT_ERR));
        assert_memory_equal(view.data, "kept", 5);
        pw_view_done(&view);
        pw_unref(future);
        pw_close(session);
        return 0;
}

static bool has_all(const struct pw_listing *devices, void *context)
{
        const char *but = context;

        for (size_t i = 0; i < it_rows(devices); i++)
                if (!strcmp(it_text(devices, i, "device"), but) && strcmp(it_text(devices, i, "state"), "ready"))
                        return false;
        return true;
}

static void others_go_on(const struct it_host *host)
{
        for (uint32_t i = 0; i < OTHERS; i++) {
                struct it_child other = attack_fork(ATTACK_VICTIM, attach_and_work, (void *)(uintptr_t)host);

                assert_int_equal(it_reap(&other, 0), 0);
        }
}

static const char *const args[] = { "--devices", "emulated:2", "--device-memory", "16MiB", NULL };

static void run(struct it_host *host)
{
        struct dead dead = { .fd = -1 };
        uint32_t sent;
        char said[600];
        int status;

        begin_dead(&dead);
        struct it_child sender = attack_fork(ATTACK_USER, send_files, &(struct attacked){ host, &dead });
        it_read(&sender, &sent, sizeof sent);
        printf("%u of %u descriptors were taken by the socket\n", sent, SENT);
        if (older_is())
                assert_int_equal(sent, SENT);
        others_go_on(host);
        if (!attack_is_shared()) { /* a process that is started has none of them either, nor has the end of the daemon to wait */
                it_signal_executor(host, "h0:1", SIGKILL);
                it_until(host->session, "devices", has_all, (void *)(uintptr_t)"h0:1");
                pw_close(host->session);
                host->session = NULL;
                assert_int_equal(it_host_end(host, SIGTERM), 0);
                assert_true(it_host_start(host, args, &status, said));
                host->session = it_connect(host);
        }
        kill(sender.pid, SIGKILL);
        it_reap(&dead.server, SIGKILL); /* whoever waits for it goes on */
        close(dead.folder);
        it_reap(&sender, SIGKILL);
}

int main(void)
{
        const struct attack attack = { .name = "dead_files", .rule = "the daemon never has a descriptor of a client", .args = args,
                                       .users = true, .unwatched = true, .run = run };
        int status = 0;

        if (attack_is_shared())
                return attack_main(&attack);
        pid_t child = fork(); /* what it is denied, it is denied for good */
        if (child == 0)
                return older_begin() ? attack_main(&attack) : 77;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
                return 1;
        if (WEXITSTATUS(status) && WEXITSTATUS(status) != 77)
                return WEXITSTATUS(status);
        return attack_main(&attack);
}
