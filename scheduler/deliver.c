/* Messages of the cores: whom they are for, and whether they may be believed. */
#include "scheduler/state.h"

#include "base/error.h"

static struct pw_part *part_in(struct pw_live *live, uint32_t island)
{
        for (uint32_t c = 0; c < live->program->plan.column_count; c++)
                if (live->parts[c].plan->island == island)
                        return &live->parts[c];
        return NULL;
}

enum pw_status pw_scheduler_part(struct pw_scheduler *scheduler, const struct pw_core_message *message, struct pw_part **ret_part,
                                 struct pw_error *ret_err)
{
        const struct pw_run_id *run = &message->run;
        bool is_ours = run->coordinator == scheduler->host && run->epoch == scheduler->epoch;
        struct pw_live *live = is_ours ? pw_live_find(scheduler, run->number) : NULL;

        if (!live)
                return pw_error_set(ret_err, PW_NOT_FOUND, "run %lu of host %u in epoch %x is over", (unsigned long)run->number,
                                    run->coordinator, run->epoch);
        *ret_part = part_in(live, message->island);
        if (!*ret_part)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has nothing in island %u", (unsigned long)run->number,
                                    message->island);
        return PW_OK;
}

static enum pw_status expect(const struct pw_part *part, enum pw_part_state state, struct pw_error *ret_err)
{
        if (part->state == state)
                return PW_OK;
        return pw_error_set(ret_err, part->state > state ? PW_EXISTS : PW_PROTOCOL, "run %lu in island %u is %s",
                            (unsigned long)part->live->run.number, part->plan->island,
                            part->state > state ? "beyond that" : "not so far");
}

static enum pw_status prepared(struct pw_part *part, const struct pw_core_message *message, const char *text,
                               struct pw_error *ret_err)
{
        enum pw_status status = expect(part, PW_PART_RECORDED, ret_err);

        if (status == PW_OK)
                pw_part_prepared(part, message->status, text);
        return status;
}

/* Its run may have been cancelled meanwhile. */
static enum pw_status start(struct pw_part *part, struct pw_error *ret_err)
{
        enum pw_status status = expect(part, PW_PART_PREPARED, ret_err);

        if (status == PW_OK && part->live->unprepared)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is not prepared everywhere",
                                    (unsigned long)part->live->run.number);
        if (status != PW_OK)
                return status;
        if (part->live->stopped)
                return pw_error_set(ret_err, PW_CANCELLED, "run %lu was stopped", (unsigned long)part->live->run.number);
        pw_island_enter(part->island, part);
        return PW_OK;
}

/* Notices only count up: an old one changes nothing. */
static enum pw_status notice(struct pw_part *part, const struct pw_core_message *message, struct pw_error *ret_err)
{
        const struct pw_part *from = part_in(part->live, message->from);

        if (!from || message->node >= part->live->program->row.image->node_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no node %u in island %u",
                                    (unsigned long)part->live->run.number, message->node, message->from);
        pw_island_notice(part, from->column, message->node);
        return PW_OK;
}

enum pw_status pw_scheduler_deliver(struct pw_scheduler *scheduler, const struct pw_core_message *message, const char *text,
                                    uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_part *part;
        enum pw_status status = pw_scheduler_part(scheduler, message, &part, ret_err);

        scheduler->now_us = now_us;
        if (status != PW_OK)
                return status;
        switch (message->kind) {
        case PW_CORE_PREPARED: return prepared(part, message, text, ret_err);
        case PW_CORE_START: return start(part, ret_err);
        case PW_CORE_NOTICE: return notice(part, message, ret_err);
        case PW_CORE_PREPARE: break;
        }
        return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %d is not delivered", (int)message->kind);
}
