/* Which runs took over blocks of which, among those of several hosts that are not admitted. */
#include "scheduler/coordinator/ahead.h"

#include "scheduler/state.h"

/* NULL: it has no rooms there, or is no run of the program. */
static struct pw_live *reserved_run(const struct pw_live *live, uint32_t host, uint32_t slot)
{
        struct pw_live *ahead = pw_handles_get(&live->program->scheduler->run_slots, slot);

        return ahead && ahead->program == live->program && ahead->run.state != PW_RUN_ENDED &&
               ahead->hosts[host].state >= PW_LIVE_HOST_RESERVED ? ahead : NULL;
}

bool pw_ahead_note(struct pw_live *live, uint32_t host, const struct pw_core_body *body, enum pw_status *ret_status)
{
        struct pw_live_host *at = &live->hosts[host];

        *ret_status = PW_OK;
        if (!body->slot_count)
                return true;
        at->ahead = calloc(body->slot_count, sizeof *at->ahead);
        if (!at->ahead) {
                *ret_status = PW_NO_MEMORY;
                return true;
        }
        for (uint32_t i = 0; i < body->slot_count; i++) {
                struct pw_live *ahead = reserved_run(live, host, body->slots[i]);
                struct pw_taken *taken;

                if (!ahead) {
                        pw_ahead_forget(live, host);
                        return false;
                }
                if (ahead->run.state != PW_RUN_QUEUED)
                        continue;
                taken = &at->ahead[at->ahead_count++];
                taken->by = live;
                taken->from = ahead;
                pw_list_append(&ahead->behind, &taken->link);
        }
        return true;
}

void pw_ahead_forget(struct pw_live *live, uint32_t host)
{
        struct pw_live_host *at = &live->hosts[host];

        for (uint32_t i = 0; i < at->ahead_count; i++)
                pw_list_remove(&at->ahead[i].link);
        free(at->ahead);
        at->ahead = NULL;
        at->ahead_count = 0;
}

bool pw_ahead_is(const struct pw_live_host *host, const struct pw_live *from)
{
        for (uint32_t i = 0; i < host->ahead_count; i++)
                if (host->ahead[i].from == from)
                        return true;
        return false;
}

const struct pw_live *pw_ahead_first(const struct pw_live *live, uint32_t host)
{
        for (uint32_t h = 0; h < live->host_count; h++)
                for (uint32_t i = 0; i < live->hosts[h].ahead_count; i++) {
                        const struct pw_live *from = live->hosts[h].ahead[i].from;

                        if (from && (host == PW_NODE_NONE || from->hosts[host].state != PW_LIVE_HOST_RESERVED))
                                return from;
                }
        return NULL;
}

void pw_ahead_wake(struct pw_live *live)
{
        if (pw_list_empty(&live->gathering))
                pw_list_append(&live->program->scheduler->gathering, &live->gathering);
}

void pw_ahead_leave(struct pw_live *live)
{
        struct pw_taken *taken;

        pw_list_each(&live->behind, taken, struct pw_taken, link) {
                pw_list_remove(&taken->link);
                taken->from = NULL;
                pw_ahead_wake(taken->by);
        }
}

void pw_ahead_wake_behind(struct pw_live *live)
{
        struct pw_taken *taken;

        pw_list_each(&live->behind, taken, struct pw_taken, link)
                pw_ahead_wake(taken->by);
}
