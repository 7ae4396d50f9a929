/* Packets, by a socket of the kind that tcpdump has: packet(7). */
#include "tests/integration/cluster/capture/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE_BYTES (256 << 20)

/* --- a network ---------------------------------------------------------------------------------------------------------------- */

static bool say_to(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool said = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

        close(fd);
        return said;
}

/* Who is not root is who he is in a namespace of users, too, in which he may make one. */
static bool leave_network(void)
{
        char users[64], groups[64];

        if (geteuid() == 0)
                return unshare(CLONE_NEWNET) == 0;
        snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
        snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
        return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && say_to("/proc/self/setgroups", "deny") &&
               say_to("/proc/self/uid_map", users) && say_to("/proc/self/gid_map", groups);
}

bool capture_network(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
        int fd, sniffer;
        bool up;

        if (!leave_network())
                return false;
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sniffer = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        up = fd >= 0 && sniffer >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
        close(fd);
        close(sniffer);
        return up;
}

/* --- what goes by ------------------------------------------------------------------------------------------------------------- */

static void look(const struct capture *capture, struct capture_seen *seen)
{
        static char packet[1 << 18]; /* one of loopback has 64 KiB, and its heads */
        ssize_t bytes;

        while ((bytes = recv(capture->fd, packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC)) > 0) {
                assert_true((size_t)bytes <= sizeof packet);
                seen->packets++;
                seen->bytes += (uint64_t)bytes;
                for (int i = 0; i < capture->count; i++)
                        seen->seen[i] += memmem(packet, (size_t)bytes, capture->patterns[i], CAPTURE_PATTERN_BYTES) != NULL;
        }
}

static int watch(void *context, int pipe)
{
        const struct capture *capture = context;
        struct pollfd fds[2] = { { .fd = capture->fd, .events = POLLIN }, { .fd = capture->stop[0], .events = POLLIN } };
        struct capture_seen seen = { 0 };
        struct tpacket_stats stats = { 0 };
        socklen_t bytes = sizeof stats;

        close(capture->stop[1]); /* the test's is the last */
        while (!fds[1].revents) {
                (void)poll(fds, 2, -1);
                look(capture, &seen);
        }
        assert_int_equal(getsockopt(capture->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &bytes), 0);
        seen.lost = stats.tp_drops;
        return write(pipe, &seen, sizeof seen) == sizeof seen ? 0 : 1;
}

void capture_begin(struct capture *capture, const char (*patterns)[CAPTURE_PATTERN_BYTES + 1], int count)
{
        struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)if_nametoindex("lo") };

        *capture = (struct capture){ .patterns = patterns, .count = count };
        assert_int_equal(pipe2(capture->stop, O_CLOEXEC), 0);
        capture->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        assert_true(capture->fd >= 0 && at.sll_ifindex > 0);
        if (setsockopt(capture->fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ QUEUE_BYTES }, sizeof(int)) < 0)
                print_message("the queue of packets is a small one: %s\n", strerror(errno));
        assert_int_equal(bind(capture->fd, (const struct sockaddr *)&at, sizeof at), 0);
        capture->child = it_fork(watch, capture);
}

void capture_end(struct capture *capture, struct capture_seen *ret_seen)
{
        close(capture->stop[1]);
        capture->stop[1] = -1;
        it_read(&capture->child, ret_seen, sizeof *ret_seen);
        assert_int_equal(it_reap(&capture->child, 0), 0);
        close(capture->stop[0]);
        close(capture->fd);
}
