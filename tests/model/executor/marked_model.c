/* A sender's mark, and the receiver that reads its room: a function of the sender's device writes past its own room meanwhile, and
 * what that device had is said to be lost. Who looks once it was said takes nothing for a value that was read after that function
 * wrote there. On a late device the function may be one that was launched ahead of the gang of the mark. */
#include "tests/model/models.h"

#include "executor/gang/gang_private.h"
#include "executor/report.h"

#define SENDER 0u
#define RECEIVER 1u
#define MADE 1u   /* the gang that made the shard, */
#define AHEAD 2u  /* one that was launched behind it, */
#define MARKED 3u /* the transfer, */
#define BEHIND 4u /* and what comes behind that */
#define VALUE 7u
#define SPOILT 13u

static struct {
        struct pw_device_board boards[2];
        struct pw_bells bells;
        struct pw_launch launches[2];
        struct pw_run_view view;
        struct pw_room_head head;
        _Atomic uint64_t bytes; /* of the room */
        uint64_t function;      /* the gang whose function writes there */
        struct pw_island_board island;
} at;

/* --- what stands beside -------------------------------------------------------------------------------------------------- */

static uint64_t ended_ns(struct pw_exec_device *device, uint64_t now_ns)
{
        (void)device;
        return now_ns;
}
static const struct pw_device_kind kind = { .name = "model", .ended_ns = ended_ns };

uint64_t pw_launch_clock_ns(void) { return 1; }
void pw_report_cause(struct pw_launch *launch, const struct pw_report_about *about, const char *text)
{
        (void)launch, (void)about, (void)text;
}

/* --- the model ----------------------------------------------------------------------------------------------------------- */

static struct pw_exec_gang gang_of(uint32_t device)
{
        return (struct pw_exec_gang){ .launch = &at.launches[device], .view = &at.view, .seq = MARKED };
}

static struct pw_mark *mark(void) { return &at.boards[SENDER].marks[MARKED % PW_ORDER_LOG]; }

static void send_mark(void *context)
{
        struct pw_exec_gang gang = gang_of(SENDER);
        struct pw_room_head outcome = pw_gang_fault(&gang, PW_OK);

        (void)context;
        pw_gang_mark(&gang, mark(), &outcome);
}

static bool is_marked(void *context)
{
        (void)context;
        model_see(&mark()->seq);
        return mark()->seq == MARKED;
}

/* One behind the mark begins when it was said. */
static void spoil(void *context)
{
        (void)context;
        if (at.function > MARKED)
                model_wait(is_marked, NULL);
        atomic_store(&at.bytes, SPOILT);
        atomic_store(&at.island.lost_before[SENDER], at.function);
}

static void receive(void *context)
{
        struct pw_exec_gang gang = gang_of(RECEIVER);
        struct pw_source_head source = { &at.head, SENDER };
        struct pw_room_head fault;
        uint64_t copied;

        (void)context;
        model_wait(is_marked, NULL);
        (void)atomic_load(&mark()->seq);
        model_must(pw_gang_mark_read(&gang, mark(), &fault), "a mark that was said says nothing");
        copied = atomic_load(&at.bytes);
        fault = pw_gang_look_again(&gang, &source, 1);
        model_see(&at.island.lost_before[SENDER]);
        model_must(fault.status != PW_OK || copied == VALUE || !at.island.lost_before[SENDER],
                   "what was lost while it was copied is taken for a value");
}

static void begin(uint64_t function)
{
        memset(&at, 0, sizeof at);
        at.function = function;
        at.bytes = VALUE;
        at.head = (struct pw_room_head){ .seq = MADE, .status = PW_OK };
        at.head.seal = pw_room_seal(&at.head);
        for (uint32_t d = 0; d < 2; d++) {
                at.launches[d].given = (struct pw_launch_params){ .device = d, .device_count = 2, .island_count = 1, .kind = &kind,
                                                                  .bells = &at.bells, .boards = { &at.boards[0], &at.boards[1] },
                                                                  .islands = { &at.island } };
                at.launches[d].own = &at.boards[d];
                at.launches[d].board = &at.island;
        }
        model_share(&mark()->seq, sizeof mark()->seq);
        model_share(&at.bytes, sizeof at.bytes);
        model_share(&at.island.lost_before[SENDER], sizeof at.island.lost_before[SENDER]);
        model_thread("sender", -1, false, send_mark, NULL);
        model_thread("function", -1, false, spoil, NULL);
        model_thread("receiver", -1, false, receive, NULL);
}

static void nothing(void) { }

static void behind(void) { begin(BEHIND); }
const struct model marked_model = { "marked", "a shard that is lost with a gang behind its mark", behind, nothing, nothing, 0,
                                    NULL };

static void ahead(void) { begin(AHEAD); }
const struct model marked_ahead_model = { "ahead", "a shard that is lost with a gang launched ahead of its mark", ahead, nothing,
                                          nothing, 0, NULL };
