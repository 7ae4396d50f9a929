/* The link between the cores: each message goes as bytes. In a world of slow messages it arrives later, behind those that were sent
 * before it. One that is lost is sent again, so it and what is behind it come later still; and what has arrived may come once more,
 * a long time after. */
#include "tests/world/world.h"

#include "base/memory.h"

#define KEPT 64u /* of those that arrived: to come again */

struct frame { size_t length; uint8_t bytes[PW_CORE_BYTES_MAX]; };

struct world_link {
        struct frame *frames; /* on their way */
        uint32_t count, capacity;
        struct frame arrived[KEPT];
        uint64_t arrivals;
};

struct world_link *world_link_new(void) { return calloc(1, sizeof(struct world_link)); }

void world_link_free(struct world_link *link)
{
        free(link->frames);
        free(link);
}

bool world_link_empty(const struct world *world) { return !world->link->count; }

void world_link_lose(struct world *world) { world->link->count = 0; }

static struct pw_core_message decode(struct world *world, const struct frame *frame, struct pw_error *ret_text)
{
        uint8_t bytes[PW_CORE_BYTES_MAX];
        struct pw_core_message message;
        struct pw_error err;

        if (pw_core_decode(frame->bytes, frame->length, &message, ret_text, &err) != PW_OK)
                world_fail(world, "%s", err.text);
        if (pw_core_encode(&message, ret_text->text, bytes) != frame->length || memcmp(bytes, frame->bytes, frame->length))
                world_fail(world, "a message of run %lu is not what was sent", (unsigned long)message.run.number);
        return message;
}

static enum pw_status take(struct world *world, const struct pw_core_message *message, const char *text, struct pw_error *ret_err)
{
        if (message->kind == PW_CORE_PREPARE)
                return world_prepare(world, message, ret_err);
        return pw_scheduler_deliver(world->scheduler, message, text, world->now_us, ret_err);
}

/* Its run was over there by then, or what it says was known. */
static bool may_change_nothing(enum pw_core_kind kind)
{
        return kind == PW_CORE_CANCEL || kind == PW_CORE_STOP || kind == PW_CORE_INPUT ||
               kind == PW_CORE_EXPIRED || kind == PW_CORE_FAILED;
}

/* Only the end of its run, which came before, or that it was stopped, may keep a message from being taken. */
static void arrive(struct world *world, const struct frame *frame)
{
        struct frame copy = *frame; /* what comes of it may be sent, and move the others */
        struct pw_error text, err;
        struct pw_core_message message = decode(world, &copy, &text);
        enum pw_status status = take(world, &message, text.text, &err);

        if (status != PW_OK && status != PW_CANCELLED && !(status == PW_EXISTS && may_change_nothing(message.kind)) &&
            (status != PW_NOT_FOUND || pw_scheduler_run(world->scheduler, message.run.number)))
                world_fail(world, "a message is refused: %s", err.text);
        world->link->arrived[world->link->arrivals++ % KEPT] = copy;
}

/* It was taken once. Only a notice may be taken twice: it says nothing that is not known. */
static void arrive_again(struct world *world)
{
        struct world_link *link = world->link;
        uint64_t kept = pw_min_u64(link->arrivals, KEPT);
        struct pw_error text, err;

        if (!kept)
                return;
        struct pw_core_message message = decode(world, &link->arrived[world_random(world, (uint32_t)kept)], &text);
        enum pw_status status = take(world, &message, text.text, &err);

        if (status != PW_EXISTS && status != PW_NOT_FOUND && status != PW_CANCELLED &&
            !(status == PW_OK && message.kind == PW_CORE_NOTICE))
                world_fail(world, "message %d of run %lu came twice and was taken", (int)message.kind,
                           (unsigned long)message.run.number);
}

void world_send(struct world *world, const struct pw_core_message *message, const char *text)
{
        struct world_link *link = world->link;
        struct frame frame;

        frame.length = pw_core_encode(message, text, frame.bytes);
        if (!world->options.slow_messages) {
                arrive(world, &frame);
                return;
        }
        if (!pw_grow((void **)&link->frames, &link->capacity, link->count + 1, sizeof *link->frames))
                world_fail(world, "out of memory");
        link->frames[link->count++] = frame;
}

void world_deliver(struct world *world, bool all)
{
        struct world_link *link = world->link;
        uint32_t count = all ? link->count : world_random(world, link->count + 1);

        for (uint32_t i = 0; i < count; i++)
                arrive(world, &link->frames[i]);
        if (count)
                memmove(link->frames, link->frames + count, (link->count - count) * sizeof *link->frames);
        link->count -= count;
        if (world->options.slow_messages && !world_random(world, 4))
                arrive_again(world);
}
