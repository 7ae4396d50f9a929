/* Boards of this host: memfds, maps, descriptors. */
#include "daemon/child/child_board.h"

#include "base/memory.h"
#include "daemon/child/arena.h"
#include "plane/segment.h"

#include <sys/mman.h>

static enum pw_status make(const char *name, uint64_t bytes, int *ret_fd, void **ret_memory, struct pw_error *ret_err)
{
        struct pw_map map;
        enum pw_status status = pw_memfd_create(name, bytes, ret_fd, ret_err);

        if (status == PW_OK)
                status = pw_map_fd(*ret_fd, bytes, true, &map, ret_err);
        if (status == PW_OK)
                *ret_memory = map.base;
        return status;
}

static enum pw_status make_island(struct pw_daemon *daemon, uint32_t island, struct pw_error *ret_err)
{
        struct pw_shared_island *shared = &daemon->children.islands[island];
        void *memory = NULL;
        enum pw_status status = make("pathways-island", PW_ISLAND_BOARD_BYTES, &shared->fd, &memory, ret_err);

        shared->board = memory;
        if (status == PW_OK)
                status = pw_memfd_readonly(shared->fd, &shared->ro_fd, ret_err);
        if (status == PW_OK)
                status = pw_boards_island(daemon->boards, island, memory, PW_ISLAND_BOARD_BYTES, ret_err);
        return status;
}

static enum pw_status make_device(struct pw_daemon *daemon, uint32_t device, struct pw_error *ret_err)
{
        struct pw_child *child = &daemon->children.all[device];
        void *memory = NULL;
        enum pw_status status = make("pathways-device-board", sizeof *child->board, &child->board_fd, &memory, ret_err);

        child->board = memory;
        child->island = device * daemon->settings.islands / daemon->device_count;
        if (status == PW_OK)
                status = pw_memfd_readonly(child->board_fd, &child->board_ro_fd, ret_err);
        if (status == PW_OK)
                status = pw_boards_device(daemon->boards, device, child->island, child->board, ret_err);
        if (status == PW_OK)
                status = pw_scheduler_device_add(daemon->scheduler,
                                                 &(struct pw_device_add){ .device = device,
                                                                          .island = child->island,
                                                                          .kind = daemon->settings.kinds.of[device].name,
                                                                          .apart = daemon->settings.kinds.of[device].apart,
                                                                          .kernels = daemon->settings.kinds.of[device].kernels,
                                                                          .capacity_bytes = daemon->settings.device_memory },
                                                 ret_err);
        return status;
}

enum pw_status pw_child_boards(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_children *children = &daemon->children;
        void *memory = NULL;
        enum pw_status status = make("pathways-bells", sizeof *children->bells, &children->bells_fd, &memory, ret_err);

        children->bells = memory;
        if (status != PW_OK)
                return status;
        pw_boards_bells(daemon->boards, children->bells);
        for (uint32_t i = 0; status == PW_OK && i < daemon->settings.islands; i++)
                status = make_island(daemon, i, ret_err);
        for (uint32_t i = 0; status == PW_OK && i < daemon->device_count; i++)
                status = make_device(daemon, i, ret_err);
        return status;
}

void pw_child_boards_done(struct pw_daemon *daemon)
{
        struct pw_children *children = &daemon->children;

        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++) {
                if (children->islands[i].board)
                        munmap(children->islands[i].board, PW_ISLAND_BOARD_BYTES);
                pw_close_fd(&children->islands[i].fd);
                pw_close_fd(&children->islands[i].ro_fd);
        }
        for (uint32_t i = 0; children->all && i < daemon->device_count; i++) {
                if (children->all[i].board)
                        munmap(children->all[i].board, sizeof *children->all[i].board);
                pw_close_fd(&children->all[i].board_fd);
                pw_close_fd(&children->all[i].board_ro_fd);
                pw_child_arena_done(&children->all[i].arena);
        }
        if (children->bells)
                munmap(children->bells, sizeof *children->bells);
        pw_close_fd(&children->bells_fd);
}

/* It ended in a gang behind the one that the device did, or for one that is over: that one is not to blame, and is lost. */
static void blame(const struct pw_child *child, uint64_t running, enum pw_status *status, char how[200])
{
        uint64_t blamed = child->kill_seq ? child->kill_seq : child->ended_seq;

        if (!running || !blamed || blamed == running)
                return;
        snprintf(how, 200, "by what was %s it: %s", blamed > running ? "launched behind" : "ahead of",
                 child->ended_how); /* which may be another tenant's */
        *status = PW_DEVICE_LOST;
}

/* What its board says that it was in. */
struct place { uint64_t running, launching; };

/* Its process ended in the oldest gang of its device, `seq`; or in none. It is that gang where the board says so, or that it
 * launched its work, or has told others that it had come to it: they wait for its part. A function may write into its board that it
 * is in none: where the process was ended for that gang, or the one before ended there too, that is not believed. */
static bool was_in(struct pw_child *child, const struct place *place, uint64_t seq)
{
        uint64_t before = child->ended_before;

        child->ended_before = 0;
        if (place->running == seq || place->launching == seq || child->kill_seq == seq || before == seq ||
            atomic_load(&child->board->marks[seq % PW_ORDER_LOG].seq) == seq)
                return true;
        child->ended_before = child->was_ready ? seq : before;
        return false;
}

void pw_child_board_down(struct pw_child *child, enum pw_status status)
{
        struct pw_daemon *daemon = child->daemon;
        struct place place = { atomic_load(&child->board->running), atomic_load(&child->board->launching) };
        struct pw_gang_row oldest;
        uint64_t seq = 0;
        char how[200];

        atomic_store(&child->board->launching, 0);
        atomic_store(&child->board->loading, 0);
        pw_boards_poll(daemon->boards, daemon->scheduler, pw_now_us());
        pw_boards_settle(daemon->boards, daemon->scheduler, child->number);
        if (pw_boards_next_gang(daemon->boards, child->number, &oldest) && was_in(child, &place, oldest.seq))
                seq = oldest.seq;
        snprintf(how, sizeof how, "%s", child->ended_how);
        blame(child, seq, &status, how);
        pw_scheduler_device_down(daemon->scheduler, child->number, seq, status, how, pw_now_us());
        daemon->loop.settle(daemon, pw_now_us()); /* the boards say which gang failed before another executor looks at them */
        atomic_store(&child->board->spoilt_before,
                     0); /* LOST_BEFORE says it now, and a function may have written any number there */
}

void pw_child_boards_scan(struct pw_daemon *daemon)
{
        for (uint64_t rest = pw_boards_wrong(daemon->boards); rest; rest &= rest - 1)
                pw_child_kill(daemon, (uint32_t)__builtin_ctzll(rest), PW_CRASHED, "impossible counts in its board");
}

uint32_t pw_child_descriptors(const struct pw_daemon *daemon, uint32_t device, int *fds)
{
        uint32_t count = 0;

        fds[count++] = daemon->children.bells_fd;
        fds[count++] = daemon->children.all[device].board_fd;
        for (uint32_t i = 0; i < daemon->settings.islands; i++)
                fds[count++] = daemon->children.islands[i].ro_fd;
        for (uint32_t i = 0; i < daemon->device_count; i++)
                fds[count++] = daemon->children.all[i].board_ro_fd;
        return count + pw_child_arena_descriptors(&daemon->children.all[device].arena, fds + count);
}

/* NULL: it is not in the board. The record of an old gang may have made place for something else: what it says is
 * only looked up. */
static const struct pw_run_record *record_at(const struct pw_island_board *board, uint32_t line)
{
        uint64_t offset = (uint64_t)line * PW_LINE_BYTES;
        bool inside = offset >= offsetof(struct pw_island_board, arena) &&
                offset + sizeof(struct pw_run_record) <= PW_ISLAND_BOARD_BYTES;

        return inside ? (const void *)((const char *)board + offset) : NULL;
}

bool pw_child_order(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, struct pw_child_order *ret_order)
{
        const struct pw_island_board *board = daemon->children.islands[daemon->children.all[device].island].board;
        uint64_t head = atomic_load(&board->head);
        const struct pw_order *order = &board->log[seq % PW_ORDER_LOG];
        const struct pw_run_record *record;
        const struct pw_image *image;

        if (!seq || seq > head || head - seq >= PW_ORDER_LOG)
                return false;
        record = record_at(board, order->run);
        image = record ? pw_boards_image(daemon->boards, record->image_island, record->image, record->image_serial) : NULL;
        if (!image || order->node >= image->node_count)
                return false;
        *ret_order = (struct pw_child_order){ record, image, pw_image_node(image, order->node) };
        return true;
}

bool pw_child_gang(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, const struct pw_image_node **ret_node,
                   const char **ret_name, uint64_t *ret_run)
{
        struct pw_child_order order;

        if (!pw_child_order(daemon, device, seq, &order))
                return false;
        *ret_node = order.node;
        *ret_name = pw_image_text(order.image, order.node->name);
        *ret_run = order.record->run;
        return true;
}
