/* Chains from a run: an input, memory, or the devices that it runs on. */
#include "daemon/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/child.h"

#include <inttypes.h>
#include <stdio.h>

#define RUNS_MAX 16u /* of one chain */

struct wanted { uint64_t number; struct pw_run_row row; bool found; };

static void match_run(void *context, const struct pw_run_row *row)
{
        struct wanted *wanted = context;

        if (row->number == wanted->number) {
                wanted->row = *row;
                wanted->found = true;
        }
}

static void why_ended(struct pw_chain *chain, struct wanted *wanted, const char *what)
{
        char waits[160], ago[16];

        pw_scheduler_list_runs(chain->lister->daemon->scheduler, match_run, wanted);
        if (!wanted->found || !pw_list_visible(chain->lister, wanted->row.tenant)) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "nothing: it has ended", 0, "nothing" });
                return;
        }
        pw_duration_format(chain->lister->now_us - wanted->row.ended_us, ago);
        snprintf(waits, sizeof waits, "nothing: it ended %s ago, %s", ago, pw_status_text(wanted->row.outcome));
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0,
                                                      wanted->row.outcome == PW_OK ? "nothing" : "`pathways get` of a result says why" });
}

/* --- memory ------------------------------------------------------------------------------------------------------------------ */

/* The oldest other run in `state` that has one of `devices`. */
struct oldest { uint64_t devices, not_number, number; enum pw_run_state state; bool lacking; };

static void match_oldest(void *context, const struct pw_run_row *row)
{
        struct oldest *oldest = context;

        if (row->state == oldest->state && row->devices & oldest->devices && row->number != oldest->not_number &&
            (!oldest->lacking || row->lack_bytes) && (!oldest->number || row->number < oldest->number))
                oldest->number = row->number;
}

static uint64_t oldest_run(struct pw_chain *chain, struct oldest oldest)
{
        pw_scheduler_each_run(chain->lister->daemon->scheduler, match_oldest, &oldest, chain->lister->now_us);
        return oldest.number;
}

static void why_queued(struct pw_chain *chain, const struct pw_run_row *row)
{
        uint64_t other;
        char what[64], waits[64];

        if (!row->lack_bytes) {
                other = oldest_run(chain, (struct oldest){ row->devices, row->number, 0, PW_RUN_QUEUED, true });
                if (other)
                        pw_why_run(chain, other);
                return;
        }
        other = row->aside ? 0 : oldest_run(chain, (struct oldest){ UINT64_C(1) << row->lack_device, row->number, 0, PW_RUN_ADMITTED, false });
        if (!other) {
                pw_why_device_memory(chain, row->lack_device, row->lack_bytes);
                return;
        }
        snprintf(what, sizeof what, "memory of device h%u:%u", chain->lister->daemon->host, row->lack_device);
        snprintf(waits, sizeof waits, "run %" PRIu64 " to give back its room", other);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
        pw_why_run(chain, other);
}

/* --- devices ----------------------------------------------------------------------------------------------------------------- */

/* The device to blame: one without executor, then one in a function, then one that has anything left of the run. */
static void why_admitted(struct pw_chain *chain, const struct pw_run_row *row)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        uint32_t best = PW_DEVICES_MAX, best_rank = 0;

        if (row->notice[0])
                pw_chain_link(chain, &(struct pw_cause_link){ "its gangs in one island", row->notice, 0, "" });
        for (uint64_t rest = row->devices & ~chain->devices; rest; rest &= rest - 1) {
                uint32_t device = (uint32_t)__builtin_ctzll(rest), rank = 0;
                struct pw_child_order order;
                struct pw_gang_row gang;

                if (device >= daemon->device_count || !pw_host_next_gang(daemon->boards, device, &gang))
                        continue;
                rank = 1 + (gang.run == row->number);
                if (gang.running && pw_child_order(daemon, device, gang.seq, &order) && order.node->kind == PW_NODE_CALL)
                        rank += 2;
                if (daemon->children[device].state != PW_CHILD_READY || pw_process_stopped(daemon->children[device].pid))
                        rank += 4;
                if (rank > best_rank) {
                        best_rank = rank;
                        best = device;
                }
        }
        if (best < PW_DEVICES_MAX)
                pw_why_device(chain, best);
}

static void why_found(struct pw_chain *chain, const struct pw_run_row *row)
{
        if (row->blocking_input && row->blocking_input->object)
                pw_why_object(chain, row->blocking_input->object);
        else if (row->blocking_object)
                pw_why_object(chain, row->blocking_object);
        else if (row->blocking_input && row->blocking_run && row->blocking_run != row->number)
                pw_why_run(chain, row->blocking_run);
        else if (row->state == PW_RUN_QUEUED)
                why_queued(chain, row);
        else if (row->state == PW_RUN_ADMITTED)
                why_admitted(chain, row);
}

/* "run 41 (digits/step of digits[4411]), to end within 3s" */
static void describe_run(const struct pw_run_row *row, uint64_t now_us, char *text, size_t text_bytes)
{
        size_t used = (size_t)snprintf(text, text_bytes, "run %" PRIu64 " (%.100s%s%s)", row->number, row->program, row->client ? " of " : "",
                                       row->client ? row->client : "");
        char left[16];

        if (row->deadline_us && used < text_bytes)
                snprintf(text + used, text_bytes - used, ", to %s within %s", row->deadline_kept ? "end" : "be admitted",
                         pw_duration_format(row->deadline_us > now_us ? row->deadline_us - now_us : 0, left));
}

void pw_why_run(struct pw_chain *chain, uint64_t number)
{
        struct wanted wanted = { .number = number };
        char what[240];

        if (pw_chain_full(chain) || chain->runs++ >= RUNS_MAX)
                return;
        pw_scheduler_each_run(chain->lister->daemon->scheduler, match_run, &wanted, chain->lister->now_us);
        snprintf(what, sizeof what, "run %" PRIu64, number);
        if (!wanted.found) {
                why_ended(chain, &wanted, what);
                return;
        }
        if (!pw_list_visible(chain->lister, wanted.row.tenant)) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "something of another tenant, whose run it is", wanted.row.submitted_us,
                                                              "ask an operator: `pathways why` shows them all" });
                return;
        }
        describe_run(&wanted.row, chain->lister->now_us, what, sizeof what);
        pw_chain_link(chain, &(struct pw_cause_link){ what, wanted.row.waiting_for[0] ? wanted.row.waiting_for : "its gangs to be done",
                                                      wanted.row.submitted_us, "" });
        why_found(chain, &wanted.row);
}
