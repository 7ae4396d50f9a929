/* Chains from a run: an input, memory, or the devices that it runs on. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/child/child.h"
#include "store/object.h"

#include <inttypes.h>
#include <stdio.h>

#define RUNS_MAX 16u     /* of one chain */
#define INPUTS_MAX 8192u /* runs that one answer passes by */

static void why_ended(struct pw_chain *chain, const struct pw_run_row *row, const char *what)
{
        char waits[PW_WHY_BYTES], ago[16];
        bool failed = row->outcome != PW_OK;

        pw_duration_format(chain->lister->now_us - row->ended_us, ago);
        pw_text_format(waits, sizeof waits, "nothing: it ended %s ago, %s", ago,
                 failed && *row->error ? row->error : pw_status_text(row->outcome));
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, failed ? "mend that; then run it again" : "nothing" });
}

/* --- memory ------------------------------------------------------------------------------------------------------------------ */

/* The oldest other run in `state` that has one of `devices`. */
struct oldest { uint64_t devices, not_number, number; enum pw_run_state state; bool lacking; const char *tenant; /* NULL: any */ };

static void match_oldest(void *context, const struct pw_run *run)
{
        struct oldest *oldest = context;
        struct pw_run_row row;

        if (run->state != oldest->state || run->number == oldest->not_number || (oldest->number && run->number > oldest->number))
                return;
        pw_scheduler_run_brief(run, &row);
        if (row.devices & oldest->devices && (!oldest->lacking || row.lack_bytes) &&
            (!oldest->tenant || !strcmp(oldest->tenant, row.tenant)))
                oldest->number = run->number;
}

static uint64_t oldest_run(struct pw_chain *chain, struct oldest oldest)
{
        pw_scheduler_each_live(chain->lister->daemon->scheduler, match_oldest, &oldest);
        return oldest.number;
}

/* There may be room enough: its tenant may not have it. */
static void why_quota(struct pw_chain *chain, const struct pw_run_row *row)
{
        uint64_t other = row->deferred ? 0 : oldest_run(chain, (struct oldest){ UINT64_MAX, row->number, 0, PW_RUN_ADMITTED, false,
                                                                                row->tenant });
        char what[PW_WHY_BYTES], waits[120], lack[16];

        pw_text_format(what, sizeof what, "the quota of device memory of tenant %s", row->tenant);
        if (other) {
                pw_text_format(waits, sizeof waits, "run %" PRIu64 " to give back its room", other);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
                pw_why_run(chain, other);
                return;
        }
        pw_text_format(waits, sizeof waits, "results of the tenant to be freed: %s", pw_size_format(row->lack_bytes, lack));
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0,
                                                      "free some (`pathways owners` shows who holds how much), or raise --quota" });
}

static void why_queued(struct pw_chain *chain, const struct pw_run_row *row)
{
        uint64_t other;
        char what[64], waits[64];

        if (!row->lack_bytes) {
                other = oldest_run(chain, (struct oldest){ row->devices, row->number, 0, PW_RUN_QUEUED, true, NULL });
                if (other)
                        pw_why_run(chain, other);
                return;
        }
        if (row->over_quota) {
                why_quota(chain, row);
                return;
        }
        other = row->deferred ? 0 : oldest_run(chain, (struct oldest){ UINT64_C(1) << row->lack_device, row->number, 0,
                                                                       PW_RUN_ADMITTED, false, NULL });
        if (!other) {
                pw_why_device_memory(chain, row->lack_device, row->lack_bytes);
                return;
        }
        pw_text_format(what, sizeof what, "memory of device h%u:%u", chain->lister->daemon->host, row->lack_device);
        pw_text_format(waits, sizeof waits, "run %" PRIu64 " to give back its room", other);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
        pw_why_run(chain, other);
}

/* --- devices ----------------------------------------------------------------------------------------------------------------- */

struct left { uint64_t run; bool found; };

static void match_left(void *context, const struct pw_gang_row *row)
{
        struct left *left = context;

        left->found |= !row->done && row->run == left->run;
}

/* How much a device is to be blamed: first one that has gangs of the run to do, as others are past it; of those one without
 * executor, then one in a function. 0: it has nothing to do. */
static uint32_t rank_of(struct pw_daemon *daemon, uint32_t device, uint64_t run)
{
        struct left left = { .run = run };
        struct pw_child_order order;
        struct pw_gang_row gang;
        uint32_t rank;

        if (device >= daemon->device_count || !pw_boards_next_gang(daemon->boards, device, &gang))
                return 0;
        pw_boards_each_gang(daemon->boards, device, match_left, &left);
        rank = 1 + (gang.run == run) + (left.found ? 8 : 0);
        if (gang.running && pw_child_order(daemon, device, gang.seq, &order) && order.node->kind == PW_NODE_CALL)
                rank += 2;
        if (daemon->children.all[device].state != PW_CHILD_READY || pw_process_stopped(daemon->children.all[device].pid))
                rank += 4;
        return rank;
}

static void why_admitted(struct pw_chain *chain, const struct pw_run_row *row)
{
        uint32_t best = PW_DEVICES_MAX, best_rank = 0;

        if (row->notice[0])
                pw_chain_link(chain, &(struct pw_cause_link){ "its gangs in one island", row->notice, 0, "" });
        for (uint64_t rest = row->devices & ~chain->devices; rest; rest &= rest - 1) {
                uint32_t device = (uint32_t)__builtin_ctzll(rest), rank = rank_of(chain->lister->daemon, device, row->number);

                if (rank > best_rank) {
                        best_rank = rank;
                        best = device;
                }
        }
        if (best < PW_DEVICES_MAX)
                pw_why_device(chain, best);
}

/* The input that it waits for; NULL: it waits for something else. */
static struct pw_object *missing_input(const struct pw_run_row *row)
{
        return row->blocking_input && row->blocking_input->object ? row->blocking_input->object : row->blocking_object;
}

/* The run that makes the input which it waits for; 0: it waits for something else. */
static uint64_t run_before(struct pw_chain *chain, const struct pw_run_row *row)
{
        const struct pw_object *input = missing_input(row);
        struct pw_object_row object;

        if (!input)
                return row->blocking_input && row->blocking_run != row->number ? row->blocking_run : 0;
        pw_object_row(chain->lister->daemon->store, input, &object);
        return pw_word_state(object.word) == PW_ENTRY_PENDING && pw_list_visible(chain->lister, object.tenant) ? input->run : 0;
}

/* A loop submits runs that each wait for the one before. One link stands for all of them but the first, which waits for something
 * else, and this is where the chain goes on. */
static void why_loop(struct pw_chain *chain, const struct pw_run_row *row, uint64_t number)
{
        struct pw_scheduler *scheduler = chain->lister->daemon->scheduler;
        struct pw_run_row before;
        uint64_t next, last, count = 0;
        char what[PW_WHY_BYTES], waits[80];

        while (chain->inputs++ < INPUTS_MAX && pw_scheduler_run_row(scheduler, number, &before, &last) &&
               !strcmp(before.program, row->program) && (next = run_before(chain, &before)) && next < number) {
                number = next;
                count++;
        }
        pw_text_format(what, sizeof what, "%" PRIu64 " run%s of %s before it", count, count == 1 ? "" : "s", row->program);
        pw_text_format(waits, sizeof waits, "%s the one before, and so for run %" PRIu64,
                       count == 1 ? "its input of" : "inputs, each of",
                 number);
        if (count)
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
        pw_why_run(chain, number);
}

static void why_found(struct pw_chain *chain, const struct pw_run_row *row)
{
        uint64_t before = run_before(chain, row);

        if (before)
                why_loop(chain, row, before);
        else if (missing_input(row))
                pw_why_object(chain, missing_input(row));
        else if (row->state == PW_RUN_QUEUED)
                why_queued(chain, row);
        else if (row->state == PW_RUN_ADMITTED)
                why_admitted(chain, row);
}

/* "run 41 (digits/step of digits[4411]), to end within 3s" */
static void describe_run(const struct pw_run_row *row, uint64_t now_us, char *text, size_t text_bytes)
{
        size_t used = pw_text_format(text, text_bytes, "run %" PRIu64 " (%s%s%s)", row->number, row->program,
                                       row->client ? " of " : "", row->client ? row->client : "");
        char left[16];

        if (row->deadline_us && used < text_bytes)
                pw_text_format(text + used, text_bytes - used, ", to %s within %s", row->deadline_kept ? "end" : "be admitted",
                         pw_duration_format(row->deadline_us > now_us ? row->deadline_us - now_us : 0, left));
}

void pw_why_run(struct pw_chain *chain, uint64_t number)
{
        struct pw_run_row row;
        uint64_t last;
        char what[PW_WHY_BYTES], remedy[64];

        pw_text_format(what, sizeof what, "run %" PRIu64, number);
        if (!pw_chain_full(chain) && !pw_chain_visit(chain, PW_VISIT_RUN, number)) {
                pw_text_format(remedy, sizeof remedy, "see run %" PRIu64 " above", number);
                pw_chain_link(chain, &(struct pw_cause_link){ what, "what stands above", 0, remedy });
                return;
        }
        if (pw_chain_full(chain) || chain->inputs > INPUTS_MAX || chain->runs++ >= RUNS_MAX) {
                pw_text_format(remedy, sizeof remedy, "`pathways why run %" PRIu64 "` goes on from here", number);
                pw_chain_link(chain, &(struct pw_cause_link){ what, "more than is shown at once", 0, remedy });
                return;
        }
        if (!pw_scheduler_run_row(chain->lister->daemon->scheduler, number, &row, &last)) {
                pw_chain_link(chain,
                              &(struct pw_cause_link){ what, "nothing: it has ended, and is no longer among the last that did", 0,
                                                       "nothing" });
        } else if (!pw_list_visible(chain->lister, row.tenant)) {
                pw_chain_link(chain,
                              &(struct pw_cause_link){ what, "something of another tenant, whose run it is", 0,
                                                              "ask an operator: `pathways why` shows them all" });
        } else if (row.state == PW_RUN_ENDED) {
                why_ended(chain, &row, what);
        } else {
                describe_run(&row, chain->lister->now_us, what, sizeof what);
                pw_chain_link(chain, &(struct pw_cause_link){ what, !row.submitted_us ?
                                                              "what its tenant's clients had told before to be read" :
                                                              row.waiting_for[0] ? row.waiting_for : "its gangs to be done",
                                                              row.submitted_us, "" });
                why_found(chain, &row);
        }
}

/* Runs of other tenants are not there, except for operators; so neither is any other number. */
enum pw_status pw_why_run_asked(struct pw_chain *chain, uint64_t number)
{
        struct pw_run_row row;
        uint64_t last;
        bool known = pw_scheduler_run_row(chain->lister->daemon->scheduler, number, &row, &last);
        const struct pw_dsession *asker = chain->lister->session;

        if (!asker->operator_ && !(known && pw_list_visible(chain->lister, row.tenant)))
                return pw_error_set(chain->lister->err, PW_NOT_FOUND,
                                    "run %" PRIu64 ": tenant %s has none of that number that is under way, or among the last that "
                                    "ended; `pid N` names a process", number, asker->tenant->name);
        if (!known && (!number || number > last))
                return pw_error_set(chain->lister->err, PW_NOT_FOUND,
                                    last ? "run %" PRIu64 ": there is none yet, the last is run %" PRIu64
                                    "; `pid N` names a process" :
                                           "run %" PRIu64 ": there was no run yet; `pid N` names a process",
                                    number, last);
        pw_why_run(chain, number);
        return PW_OK;
}
