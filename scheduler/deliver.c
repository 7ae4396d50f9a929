/* Messages of the cores: whom they are for, and whether they may be believed. */
#include "scheduler/state.h"

#include "base/error.h"

/* NULL: it is over, or was never here. */
static struct pw_live *find(struct pw_scheduler *scheduler, const struct pw_run_id *run, struct pw_error *ret_err)
{
        bool is_ours = run->coordinator == scheduler->host && run->epoch == scheduler->epoch;
        struct pw_live *live = is_ours ? pw_live_find(scheduler, run->number) : NULL;

        if (!live)
                pw_error_set(ret_err, PW_NOT_FOUND, "run %lu of host %u in epoch %x is over", (unsigned long)run->number,
                             run->coordinator, run->epoch);
        return live;
}

static enum pw_status find_part(const struct pw_live *live, const struct pw_core_message *message, struct pw_part **ret_part,
                                struct pw_error *ret_err)
{
        *ret_part = pw_host_run_part(live->here, message->island);
        if (!*ret_part)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has nothing in island %u", (unsigned long)message->run.number,
                                    message->island);
        return PW_OK;
}

enum pw_status pw_scheduler_part(struct pw_scheduler *scheduler, const struct pw_core_message *message, struct pw_part **ret_part,
                                 struct pw_error *ret_err)
{
        struct pw_live *live = find(scheduler, &message->run, ret_err);

        return live ? find_part(live, message, ret_part, ret_err) : PW_NOT_FOUND;
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

/* About a part of a run, in an island. */
static enum pw_status hear_of_part(struct pw_live *live, const struct pw_core_message *message, const char *text,
                                   struct pw_error *ret_err)
{
        struct pw_part *part;
        enum pw_status status = find_part(live, message, &part, ret_err);

        if (status != PW_OK)
                return status;
        switch (message->kind) {
        case PW_CORE_PREPARED: return prepared(part, message, text, ret_err);
        case PW_CORE_START: return start(part, ret_err);
        case PW_CORE_NOTICE: return notice(part, message, ret_err);
        default: return pw_error_set(ret_err, PW_PROTOCOL, "a message of kind %d is not delivered", (int)message->kind);
        }
}

static enum pw_status hear_of_input(struct pw_host_run *run, const struct pw_core_message *message, struct pw_error *ret_err)
{
        if (message->node >= run->program->row.input_count || message->status == PW_OK)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu has no input %u, or it is no error",
                                    (unsigned long)run->id.number, message->node);
        return pw_host_input(run, message->node, message->status);
}

static enum pw_status done(struct pw_live *live, const struct pw_core_message *message, struct pw_error *ret_err)
{
        if (!live->asked)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu was not asked for", (unsigned long)live->run.number);
        pw_live_done(live, message->node, message->from);
        return PW_OK;
}

static enum pw_status failed(struct pw_live *live, const struct pw_core_message *message, const char *text,
                             struct pw_error *ret_err)
{
        if (message->status == PW_OK)
                return pw_error_set(ret_err, PW_PROTOCOL, "node %u of run %lu failed with no error", message->node,
                                    (unsigned long)live->run.number);
        return pw_live_cause(live, message->node, message->device, message->status, text ? text : "");
}

/* PW_EXISTS: it changes nothing. */
static enum pw_status hear(struct pw_live *live, const struct pw_core_message *message, const char *text, struct pw_error *ret_err)
{
        switch (message->kind) {
        case PW_CORE_CANCEL: return pw_host_cancel(live->here, message->node);
        case PW_CORE_STOP: return pw_host_stop(live->here);
        case PW_CORE_INPUT: return hear_of_input(live->here, message, ret_err);
        case PW_CORE_EXPIRED: return pw_host_expire(live->here, message->node, text ? text : "");
        case PW_CORE_RESERVED: return pw_live_reserved(live);
        case PW_CORE_DONE: return done(live, message, ret_err);
        case PW_CORE_FAILED: return failed(live, message, text, ret_err);
        default: return hear_of_part(live, message, text, ret_err);
        }
}

void pw_core_tell(struct pw_scheduler *scheduler, const struct pw_core_message *message, const char *text)
{
        struct pw_live *live;
        struct pw_action *action;
        struct pw_error err;

        if (!scheduler->linked) {
                live = pw_live_find(scheduler, message->run.number);
                if (live)
                        hear(live, message, text, &err);
                return;
        }
        action = pw_action_add(scheduler, PW_ACT_CORE);
        action->core = *message;
        action->text = text ? strdup(text) : NULL;
}

enum pw_status pw_scheduler_deliver(struct pw_scheduler *scheduler, const struct pw_core_message *message, const char *text,
                                    uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_live *live = find(scheduler, &message->run, ret_err);
        enum pw_status status;

        scheduler->now_us = now_us;
        if (!live)
                return PW_NOT_FOUND;
        status = hear(live, message, text, ret_err);
        if (status == PW_EXISTS)
                pw_error_set(ret_err, PW_EXISTS, "message %d of run %lu changes nothing", (int)message->kind,
                             (unsigned long)message->run.number);
        return status;
}
