/* The link between the cores: each message goes as bytes. In a world of slow messages it arrives later, behind those that were sent
 * before it. One that is lost is sent again, so it and what is behind it come later still; and what has arrived may come once more,
 * a long time after. */
#include "tests/world/world.h"

#include "base/memory.h"
#include "scheduler/state.h"

#define KEPT 64u /* of those that arrived: to come again */

struct world_frame {
        struct pw_core_frame frame;
        uint64_t run;
};

struct world_link {
        struct world_frame *frames; /* on their way */
        uint32_t count, capacity;
        struct pw_core_frame arrived[KEPT];
        uint64_t arrivals;
        bool overdue; /* OVERDUE has arrived */
};

struct world_link *world_link_new(void) { return calloc(1, sizeof(struct world_link)); }

void world_link_free(struct world_link *link)
{
        for (uint32_t i = 0; i < link->count; i++)
                free(link->frames[i].frame.bytes);
        for (uint32_t i = 0; i < KEPT; i++)
                free(link->arrived[i].bytes);
        free(link->frames);
        free(link);
}

bool world_link_empty(const struct world *world) { return !world->link->count; }

bool world_link_carries(const struct world *world, uint64_t run)
{
        for (uint32_t i = 0; i < world->link->count; i++)
                if (world->link->frames[i].run == run)
                        return true;
        return false;
}

void world_link_lose(struct world *world)
{
        for (uint32_t i = 0; i < world->link->count; i++)
                free(world->link->frames[i].frame.bytes);
        world->link->count = 0;
}

static void *alloc(struct world *world, size_t bytes)
{
        void *block = malloc(bytes);

        if (!block)
                world_fail(world, "out of memory");
        return block;
}

static void decode(struct world *world, const struct pw_core_frame *frame, struct pw_core_message *ret_message,
                   struct pw_core_body *ret_body, void **ret_space)
{
        uint8_t *again = alloc(world, frame->length);
        struct pw_error err;

        if (pw_core_decode(frame->bytes, frame->length, ret_message, ret_body, ret_space, &err) != PW_OK)
                world_fail(world, "%s", err.text);
        pw_core_encode(ret_message, ret_body, again);
        if (pw_core_bytes(ret_body) != frame->length || memcmp(again, frame->bytes, frame->length) != 0)
                world_fail(world, "a message of run %lu is not what was sent", (unsigned long)ret_message->run.number);
        free(again);
}

static enum pw_status take(struct world *world, const struct pw_core_frame *frame, struct pw_core_message *ret_message,
                           struct pw_error *ret_err)
{
        struct pw_core_body body;
        enum pw_status status;
        void *space;

        decode(world, frame, ret_message, &body, &space);
        status = world_hear(world, WORLD_HOST, ret_message, &body, ret_err);
        free(space);
        return status;
}

/* Its run was over there by then, or what it says was known; that a run has rooms is said again when it is overdue. */
static bool may_change_nothing(const struct world_link *link, enum pw_core_kind kind)
{
        switch (kind) {
        case PW_CORE_PLACED:
        case PW_CORE_RESERVED: return link->overdue;
        case PW_CORE_CANCEL:
        case PW_CORE_STOP:
        case PW_CORE_INPUT:
        case PW_CORE_EXPIRED:
        case PW_CORE_OVERDUE:
        case PW_CORE_FAILED:
        case PW_CORE_SPOILED:
        case PW_CORE_RESULT:
        case PW_CORE_LOST:
        case PW_CORE_REFUSED: return true;
        default: return false;
        }
}

/* Whom it is for has ended there. */
static bool is_over(struct world *world, const struct pw_core_message *message)
{
        switch (message->kind) {
        case PW_CORE_RESERVE: return false;
        case PW_CORE_LET_GO:
        case PW_CORE_RELEASE: /* its host does not have it, and says so */
                return !world_find_run(world, message->run.number)->placed && !pw_host_find(world->scheduler, message->run.number);
        case PW_CORE_PREPARE:
        case PW_CORE_START:
        case PW_CORE_NOTICE:
        case PW_CORE_CANCEL:
        case PW_CORE_STOP:
        case PW_CORE_INPUT:
        case PW_CORE_EXPIRED:
        case PW_CORE_OVERDUE: return !pw_host_find(world->scheduler, message->run.number);
        default: return !pw_scheduler_run(world->scheduler, message->run.number);
        }
}

/* Only the end of its run, which came before, or that it was stopped, may keep a message from being taken. */
static void arrive(struct world *world, const struct pw_core_frame *frame)
{
        struct world_link *link = world->link;
        struct pw_core_message message;
        struct pw_core_frame *kept = &link->arrived[link->arrivals++ % KEPT];
        struct pw_error err;
        enum pw_status status = take(world, frame, &message, &err);

        link->overdue |= message.kind == PW_CORE_OVERDUE;
        if (status != PW_OK && status != PW_CANCELLED && !(status == PW_EXISTS && may_change_nothing(link, message.kind)) &&
            !(status == PW_NOT_FOUND && is_over(world, &message)))
                world_fail(world, "message %d is refused: %s", (int)message.kind, err.text);
        free(kept->bytes);
        *kept = *frame;
}

/* It was taken once. Only what says nothing that is not known may be taken twice. */
static void arrive_again(struct world *world)
{
        struct world_link *link = world->link;
        uint64_t kept = pw_min_u64(link->arrivals, KEPT);
        struct pw_core_message message;
        struct pw_error err;
        enum pw_status status;

        if (!kept)
                return;
        status = take(world, &link->arrived[world_random(world, (uint32_t)kept)], &message, &err);
        if (status != PW_EXISTS && status != PW_NOT_FOUND && status != PW_CANCELLED &&
            !(status == PW_OK && (message.kind == PW_CORE_NOTICE || message.kind == PW_CORE_EXPECT)))
                world_fail(world, "message %d of run %lu came twice and was taken", (int)message.kind,
                           (unsigned long)message.run.number);
}

void world_send(struct world *world, const struct pw_core_message *message, const struct pw_core_frame *with)
{
        struct world_link *link = world->link;
        struct pw_core_frame frame = { .length = with->bytes ? with->length : pw_core_bytes(NULL) };

        frame.bytes = alloc(world, frame.length);
        if (with->bytes)
                memcpy(frame.bytes, with->bytes, frame.length);
        else
                pw_core_encode(message, NULL, frame.bytes);
        if (!world->options.slow_messages) {
                arrive(world, &frame);
                return;
        }
        if (message->kind == PW_CORE_PLACED)
                world_find_run(world, message->run.number)->placed = true;
        if (!pw_grow((void **)&link->frames, &link->capacity, link->count + 1, sizeof *link->frames))
                world_fail(world, "out of memory");
        link->frames[link->count++] = (struct world_frame){ .frame = frame, .run = message->run.number };
}

/* What comes of them may be sent, and move the others. */
void world_deliver(struct world *world, bool all)
{
        struct world_link *link = world->link;
        uint32_t count = all ? link->count : world_random(world, link->count + 1);

        for (uint32_t i = 0; i < count; i++) {
                struct pw_core_frame frame = link->frames[i].frame;
                arrive(world, &frame);
        }
        if (count)
                memmove(link->frames, link->frames + count, (link->count - count) * sizeof *link->frames);
        link->count -= count;
        if (world->options.slow_messages && !world_random(world, 4))
                arrive_again(world);
}
