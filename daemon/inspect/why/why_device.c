/* Chains from a device or a gang: the member that the others wait for. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/child/blocked.h"
#include "daemon/child/stall.h"
#include "daemon/inspect/find.h"

#include <inttypes.h>
#include <stdio.h>

/* Runs that have ended are not looked for: their gangs are the operators' to see, as `pathways gangs` has it. */
static bool is_run_visible(const struct pw_chain *chain, uint64_t number)
{
        const struct pw_run *run = pw_scheduler_run(chain->lister->daemon->scheduler, number);

        return pw_list_visible(chain->lister, run ? run->row->tenant : NULL);
}

/* How its process ended the last time, and in what. */
static void last_end(const struct pw_chain *chain, const struct pw_child *child, char *text, size_t text_bytes)
{
        if (child->refused[0])
                pw_text_format(text, text_bytes, "as its device cannot be opened: %s", child->refused);
        else if (!child->ended_in[0])
                pw_text_format(text, text_bytes, "the last time, %s, in no function: the log of pathwaysd has what it said",
                               child->ended_how);
        else if (!is_run_visible(chain, child->ended_run))
                pw_text_format(text, text_bytes,
                               "the last time in a function of another tenant, or of a run that has ended: the log of pathwaysd "
                               "names it");
        else
                pw_text_format(text, text_bytes, "the last time, %s, in %s of run %" PRIu64 ": mend that", child->ended_how,
                               child->ended_in, child->ended_run);
}

static void why_down(struct pw_chain *chain, const struct pw_child *child, const char *what)
{
        uint64_t now_us = chain->lister->now_us;
        char remedy[PW_WHY_BYTES], end[700], wait[16], next[40] = "it is being started";

        if (!child->crashes) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "its executor to come up", 0,
                                                              "wait; the log of pathwaysd says what keeps it" });
                return;
        }
        last_end(chain, child, end, sizeof end);
        if (child->waits)
                snprintf(next, sizeof next, "next start in %s",
                         pw_duration_format(child->next_start_us > now_us ? child->next_start_us - now_us : 0, wait));
        pw_text_format(remedy, sizeof remedy, "its executor ended %s, %s; %s",
                       child->crashes == 1 ? "once" : "again and again", end, next);
        pw_chain_link(chain, &(struct pw_cause_link){ what, "its executor to be started again", 0, remedy });
}

/* A member of `gang` that has not come to it, other than those that the chain went through; PW_DEVICES_MAX: none. */
static uint32_t laggard(const struct pw_chain *chain, const struct pw_gang_row *gang)
{
        struct pw_daemon *daemon = chain->lister->daemon;

        for (uint64_t rest = gang->members & ~chain->devices; rest; rest &= rest - 1) {
                uint32_t device = (uint32_t)__builtin_ctzll(rest);
                struct pw_gang_row other;

                if (device < daemon->device_count && pw_boards_next_gang(daemon->boards, device, &other) &&
                    (other.seq < gang->seq || (other.seq == gang->seq && !other.running)))
                        return device;
        }
        return PW_DEVICES_MAX;
}

/* Who has not sent yet what a RECV in another island waits for: a device of the run that is at a node before it. */
static uint32_t sender(const struct pw_chain *chain, const struct pw_gang_row *gang)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_run_row run;
        uint64_t last;

        if (!pw_scheduler_run_row(daemon->scheduler, gang->run, &run, &last))
                return PW_DEVICES_MAX;
        for (uint64_t rest = run.devices & ~gang->members & ~chain->devices; rest; rest &= rest - 1) {
                uint32_t device = (uint32_t)__builtin_ctzll(rest);
                struct pw_gang_row other;

                if (device < daemon->device_count && pw_boards_next_gang(daemon->boards, device, &other) &&
                    (other.run != gang->run || other.node < gang->node))
                        return device;
        }
        return PW_DEVICES_MAX;
}

static void why_stopped(struct pw_chain *chain, const struct pw_child *child, const char *what)
{
        char waits[64], remedy[PW_WHY_KILL_BYTES];

        pw_text_format(waits, sizeof waits, "its executor, process %d, which is stopped", (int)child->pid);
        pw_why_kill(chain, "-CONT ", child->pid, remedy);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
}

bool pw_why_child(struct pw_chain *chain, const struct pw_child *child, const char *what)
{
        if (child->state != PW_CHILD_READY)
                why_down(chain, child, what);
        else if (pw_process_stopped(child->pid))
                why_stopped(chain, child, what);
        else
                return false;
        return true;
}

/* It has taken the gang up, and its function has not begun: killing its executor would help nobody. */
static void why_blocked(struct pw_chain *chain, const struct pw_gang_row *gang, const struct pw_child_order *order,
                        const struct pw_blocked *blocked)
{
        const char *name = pw_image_text(order->image, order->node->name);
        char what[40], node[300] = "what makes its input", credit[360] = "", waits[PW_WHY_BYTES], above[64];

        pw_text_format(what, sizeof what, "device h%u:%u", chain->lister->daemon->host, gang->device);
        if (blocked->node)
                pw_text_format(node, sizeof node, "%s%s", pw_image_text(order->image, blocked->node->name),
                         blocked->before ? " of a run before" : "");
        if (blocked->stage)
                pw_text_format(credit, sizeof credit, "a credit of stage %s (quota %u), and so for ",
                         pw_image_text(order->image, blocked->stage->name), blocked->stage->quota);
        pw_text_format(waits, sizeof waits, "%sdevice h%u:%u to be done with %s, before %s of run %" PRIu64 " can begin", credit,
                 chain->lister->daemon->host, blocked->device, node, name, gang->run);
        snprintf(above, sizeof above, "see device h%u:%u above", chain->lister->daemon->host, blocked->device);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, gang->start_ns / 1000, chain->devices >> blocked->device & 1 ?
                                                      above : "" });
        pw_why_device(chain, blocked->device);
}

/* The run of the function that the device does, where `gang` is launched behind that; NULL: it is not. */
static const struct pw_run *run_ahead(const struct pw_chain *chain, const struct pw_gang_row *gang)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        uint64_t number, seq = atomic_load(&daemon->children.all[gang->device].board->running);
        const struct pw_image_node *node;
        const char *name;

        if (seq >= gang->seq || !pw_child_gang(daemon, gang->device, seq, &node, &name, &number) || node->kind == PW_NODE_TRANSFER)
                return NULL;
        return pw_scheduler_run(daemon->scheduler, number);
}

/* When the daemon ends it by itself, and why; UINT64_MAX: never. */
static uint64_t ends_us(const struct pw_chain *chain, const struct pw_gang_row *gang, const struct pw_run *run, char why[80])
{
        const struct pw_run *ahead = run_ahead(chain, gang);
        uint64_t limit_us = 0, over_us = pw_child_over_us(chain->lister->daemon, gang->device, &limit_us), own_us = UINT64_MAX;
        char limit[16];

        snprintf(why, 80, "at its time limit of %s", pw_duration_format(limit_us, limit));
        if (run && run->deadline_kept)
                own_us = pw_child_ends_us(chain->lister->daemon, gang->device, gang->seq, run->deadline_us);
        if (own_us < over_us)
                snprintf(why, 80, "%s", run->deadline_cut ? "as its run was cancelled" : "at the deadline of its run");
        over_us = pw_min_u64(over_us, own_us);
        if (!ahead || !ahead->deadline_kept || ahead->deadline_us >= over_us)
                return over_us;
        snprintf(why, 80, "%s", ahead->deadline_cut ? "as the run ahead of it was cancelled" :
                                                      "at the deadline of the run ahead of it");
        return ahead->deadline_us;
}

/* What is cancelled, has a deadline or a limit nobody needs to end by hand. */
static void endless_remedy(const struct pw_chain *chain, const struct pw_gang_row *gang, const struct pw_child *child, char *text,
                           size_t text_bytes)
{
        const struct pw_run *run = pw_scheduler_run(chain->lister->daemon->scheduler, gang->run);
        char why[80], ending[PW_WHY_KILL_BYTES], cancel[100] = "", left[16];
        uint64_t now_us = chain->lister->now_us, over_us = ends_us(chain, gang, run, why);
        struct pw_child_order order;
        bool is_joint = pw_child_order(chain->lister->daemon, gang->device, gang->seq, &order) &&
                        order.node->kind == PW_NODE_TRANSFER;

        if (run && !run->cancelled)
                snprintf(cancel, sizeof cancel, "`pathways cancel run %" PRIu64 "` ends it 10 s later; ", gang->run);
        if (over_us < UINT64_MAX)
                pw_text_format(text, text_bytes, "%swait: if it has not returned in %s, pathwaysd %s, %s", cancel,
                               pw_duration_format(over_us > now_us ? over_us - now_us : 0, left),
                               is_joint ? "has it given up" : "ends its executor", why);
        else if (*cancel)
                pw_text_format(text, text_bytes, "%sor wait, it has no time limit", cancel);
        else
                pw_text_format(text, text_bytes, "wait, it has no time limit%s; or end its executor: %s",
                               run && !run->cancelled ? "" : " and its run has ended",
                               pw_why_kill(chain, "", child->pid, ending));
}

/* Of what GPUs reduce together by NCCL, where all have come to it: what NCCL does. False: it is none, or has not begun. */
static bool joint_text(const struct pw_chain *chain, const struct pw_gang_row *gang, const char *name, char *text,
                       size_t text_bytes)
{
        const struct pw_daemon *daemon = chain->lister->daemon;
        int count = __builtin_popcountll(gang->members);

        if (atomic_load(&daemon->children.all[gang->device].board->joint.began) != gang->seq)
                return false;
        for (uint64_t rest = gang->members; rest; rest &= rest - 1) {
                uint32_t device = (uint32_t)__builtin_ctzll(rest);

                if (device >= daemon->device_count ||
                    atomic_load(&daemon->children.all[device].board->joint.launched) >= gang->seq)
                        continue;
                pw_text_format(text, text_bytes, "NCCL to connect the %d devices of %s of run %" PRIu64 ": h%u:%u is not yet",
                               count, name, gang->run, daemon->host, device);
                return true;
        }
        pw_text_format(text, text_bytes, "NCCL to do %s of run %" PRIu64 ", which all %d devices have launched", name,
                       gang->run, count);
        return true;
}

/* What has no limit of its own, and nobody else to wait for. */
static void still_remedy(const struct pw_chain *chain, const struct pw_gang_row *gang, char *text, size_t text_bytes)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        uint64_t ends_us = pw_stall_ends_us(daemon, gang->device, gang->seq), now_us = chain->lister->now_us;
        char left[16], ending[PW_WHY_KILL_BYTES];

        if (ends_us < UINT64_MAX)
                pw_text_format(text, text_bytes, "wait: if it is not done in %s, pathwaysd ends its executor",
                               pw_duration_format(ends_us > now_us ? ends_us - now_us : 0, left));
        else
                pw_text_format(text, text_bytes, "wait; or end its executor: %s",
                               pw_why_kill(chain, "", daemon->children.all[gang->device].pid, ending));
}

static void why_moving(struct pw_chain *chain, const struct pw_gang_row *gang, const char *what, const char *name)
{
        char waits[PW_WHY_BYTES], remedy[PW_WHY_BYTES];

        if (joint_text(chain, gang, name, waits, sizeof waits)) {
                endless_remedy(chain, gang, &chain->lister->daemon->children.all[gang->device], remedy, sizeof remedy);
        } else {
                pw_text_format(waits, sizeof waits, "%s of run %" PRIu64 " to move its bytes", name, gang->run);
                still_remedy(chain, gang, remedy, sizeof remedy);
        }
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, gang->start_ns / 1000, remedy });
}

/* Another member that is in code of a library for it; PW_DEVICES_MAX: none is. */
static uint32_t launching(const struct pw_chain *chain, const struct pw_gang_row *gang)
{
        const struct pw_daemon *daemon = chain->lister->daemon;

        for (uint64_t rest = gang->members; rest; rest &= rest - 1) {
                uint32_t device = (uint32_t)__builtin_ctzll(rest);

                if (device < daemon->device_count && device != gang->device &&
                    atomic_load(&daemon->children.all[device].board->launching) == gang->seq)
                        return device;
        }
        return PW_DEVICES_MAX;
}

static void why_transfer(struct pw_chain *chain, const struct pw_gang_row *gang, const char *what, const char *name)
{
        uint32_t other = launching(chain, gang);
        char waits[PW_WHY_BYTES];

        if (other == PW_DEVICES_MAX)
                other = laggard(chain, gang);
        if (other == PW_DEVICES_MAX)
                other = sender(chain, gang);
        if (other == PW_DEVICES_MAX) {
                why_moving(chain, gang, what, name);
                return;
        }
        pw_text_format(waits, sizeof waits, "device h%u:%u to come to %s of run %" PRIu64, chain->lister->daemon->host, other, name,
                       gang->run);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, gang->start_ns / 1000, "" });
        pw_why_device(chain, other);
}

static void why_running(struct pw_chain *chain, const struct pw_gang_row *gang, const char *what)
{
        const struct pw_child *child = &chain->lister->daemon->children.all[gang->device];
        struct pw_child_order order;
        struct pw_blocked blocked;
        const char *name = "a gang";
        char waits[PW_WHY_BYTES], remedy[PW_WHY_BYTES];
        bool found = pw_child_order(chain->lister->daemon, gang->device, gang->seq, &order);

        if (!is_run_visible(chain, gang->run)) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "a gang of another tenant, or of a run that has ended", 0,
                                                              "ask an operator: `pathways why` shows them all" });
                return;
        }
        if (found)
                name = pw_image_text(order.image, order.node->name);
        if (!gang->running) {
                pw_text_format(waits, sizeof waits, "%s of run %" PRIu64 ", which is the next", name, gang->run);
                snprintf(remedy, sizeof remedy, "wait; `pathways gangs` shows how it goes on");
                if (pw_stall_ends_us(chain->lister->daemon, gang->device, gang->seq) < UINT64_MAX)
                        still_remedy(chain, gang, remedy, sizeof remedy);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, remedy });
        } else if (found && pw_blocked_find(chain->lister->daemon, gang->device, &order, &blocked)) {
                why_blocked(chain, gang, &order, &blocked);
        } else if (found && order.node->kind == PW_NODE_TRANSFER && atomic_load(&child->board->launching) != gang->seq) {
                why_transfer(chain, gang, what, name);
        } else if (found && order.node->kind == PW_NODE_LOAD) {
                pw_text_format(waits, sizeof waits, "%s of run %" PRIu64 " to be there (process %d)", name, gang->run,
                               (int)child->pid);
                still_remedy(chain, gang, remedy, sizeof remedy);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, gang->start_ns / 1000, remedy });
        } else {
                pw_text_format(waits, sizeof waits, "%s%s of run %" PRIu64 " to return (%s, process %d)",
                         found && order.node->kind == PW_NODE_TRANSFER ? "NCCL, called for " : "", name, gang->run,
                         found ? pw_image_text(order.image, order.image->name) : "?", (int)child->pid);
                endless_remedy(chain, gang, child, remedy, sizeof remedy);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, gang->start_ns / 1000, remedy });
        }
}

/* Where its executor launches the work of a gang it does nothing else meanwhile, so that is what is waited for. */
static void prefer_launching(const struct pw_daemon *daemon, uint32_t device, struct pw_gang_row *gang)
{
        const struct pw_device_board *board = daemon->children.all[device].board;
        const struct pw_image_node *node;
        const char *name;
        uint64_t run, seq = atomic_load(&board->launching), since_ns = atomic_load(&board->launching_since_ns);

        if (seq <= gang->seq || !pw_child_gang(daemon, device, seq, &node, &name, &run))
                return;
        gang->seq = seq;
        gang->run = run;
        gang->start_ns = since_ns;
        gang->running = true;
}

void pw_why_device(struct pw_chain *chain, uint32_t device)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_gang_row gang;
        char what[40];

        if (pw_chain_full(chain) || chain->devices >> device & 1)
                return;
        chain->devices |= UINT64_C(1) << device;
        pw_text_format(what, sizeof what, "device h%u:%u", daemon->host, device);
        if (pw_why_child(chain, &daemon->children.all[device], what) || !pw_boards_next_gang(daemon->boards, device, &gang))
                return;
        prefer_launching(daemon, device, &gang);
        why_running(chain, &gang, what);
}

enum pw_status pw_why_device_asked(struct pw_chain *chain, const char *text)
{
        uint32_t device;
        enum pw_status status = pw_find_device(chain->lister->daemon, text, &device, chain->lister->err);
        char what[40];

        if (status != PW_OK)
                return status;
        pw_why_device(chain, device);
        pw_text_format(what, sizeof what, "device h%u:%u", chain->lister->daemon->host, device);
        if (!chain->depth)
                pw_chain_link(chain, &(struct pw_cause_link){ what, "nothing: no gang is ordered on it", 0,
                                                              "`pathways runs` shows what waits to be" });
        return PW_OK;
}

/* --- a gang ------------------------------------------------------------------------------------------------------------------- */

struct wanted { uint64_t seq; struct pw_gang_row row; bool found; };

static void match_gang(void *context, const struct pw_gang_row *row)
{
        struct wanted *wanted = context;

        if (row->seq == wanted->seq) {
                wanted->row = *row;
                wanted->found = true;
        }
}

enum pw_status pw_why_gang(struct pw_chain *chain, const char *text, uint64_t seq)
{
        struct pw_lister *lister = chain->lister;
        struct wanted wanted = { .seq = seq };
        uint32_t device;
        enum pw_status status = pw_find_device(lister->daemon, text, &device, lister->err);
        char what[80], waits[120], took[16];

        if (status != PW_OK)
                return status;
        pw_boards_each_gang(lister->daemon->boards, device, match_gang, &wanted);
        if (!wanted.found || !is_run_visible(chain, wanted.row.run))
                return pw_error_set(lister->err, PW_NOT_FOUND,
                                    "gang %" PRIu64 " of device h%u:%u: not ordered, or forgotten; `pathways gangs` lists them, "
                                                    "`why run N` says why a run is not",
                                    seq, lister->daemon->host, device);
        pw_text_format(what, sizeof what, "gang %" PRIu64 " of run %" PRIu64, seq, wanted.row.run);
        if (wanted.row.done) {
                pw_text_format(waits, sizeof waits, "nothing: it took %s, %s",
                         pw_duration_format((wanted.row.end_ns - wanted.row.start_ns) / 1000, took),
                                 pw_status_text((enum pw_status)wanted.row.status));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "nothing" });
                return PW_OK;
        }
        pw_text_format(waits, sizeof waits, wanted.row.running ? "its part on device h%u:%u" : "gangs before it on device h%u:%u",
                 lister->daemon->host, device);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, wanted.row.start_ns / 1000, "" });
        pw_why_device(chain, device);
        return PW_OK;
}
