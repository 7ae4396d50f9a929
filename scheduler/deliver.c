/* Messages of the cores: whom they are for, and whether they may be believed. */
#include "scheduler/state.h"

#include "base/error.h"

enum pw_status pw_scheduler_part(struct pw_scheduler *scheduler, const struct pw_core_message *message, struct pw_part **ret_part,
                                 struct pw_error *ret_err)
{
        const struct pw_run_id *run = &message->run;
        bool is_ours = run->coordinator == scheduler->host && run->epoch == scheduler->epoch;
        struct pw_live *live = is_ours ? pw_live_find(scheduler, run->number) : NULL;

        if (!live)
                return pw_error_set(ret_err, PW_NOT_FOUND, "run %lu of host %u in epoch %x is over", (unsigned long)run->number,
                                    run->coordinator, run->epoch);
        *ret_part = pw_host_run_part(live->here, message->island);
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
                            (unsigned long)part->run->id.number, part->plan->island,
                            part->state > state ? "beyond that" : "not so far");
}

static enum pw_status prepared(struct pw_part *part, const struct pw_core_message *message, const char *text,
                               struct pw_error *ret_err)
{
        enum pw_status status = expect(part, PW_PART_RECORDED, ret_err);

        if (status != PW_OK)
                return status;
        part->state = PW_PART_PREPARED;
        pw_live_prepared(pw_live_find(part->run->program->scheduler, message->run.number), message->status, text);
        pw_host_run_maybe_end(part->run);
        return PW_OK;
}

/* Its run may have been cancelled meanwhile. */
static enum pw_status start(struct pw_part *part, struct pw_error *ret_err)
{
        enum pw_status status = expect(part, PW_PART_PREPARED, ret_err);
        bool all = true;

        for (uint32_t c = 0; status == PW_OK && c < part->run->program->plan.column_count; c++)
                all &= part->run->parts[c].state >= PW_PART_PREPARED;
        if (!all)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is not prepared everywhere",
                                    (unsigned long)part->run->id.number);
        if (status != PW_OK)
                return status;
        if (part->run->stopped)
                return pw_error_set(ret_err, PW_CANCELLED, "run %lu was stopped", (unsigned long)part->run->id.number);
        pw_host_start(part->run, part->island->number);
        return PW_OK;
}

/* Notices only count up: an old one changes nothing. */
static enum pw_status notice(struct pw_part *part, const struct pw_core_message *message, struct pw_error *ret_err)
{
        const struct pw_part *from = pw_host_run_part(part->run, message->from);

        if (!from || message->node >= part->run->program->row.image->node_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no node %u in island %u",
                                    (unsigned long)part->run->id.number, message->node, message->from);
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
