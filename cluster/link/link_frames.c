/* Links: frames, their numbers, acknowledgements and credits. */
#include "cluster/link/link_private.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct pw_link_frame *pw_link_frame_new(const void *data, uint32_t bytes, bool work)
{
        struct pw_link_frame *frame = malloc(sizeof *frame + bytes);

        if (!frame)
                return NULL;
        *frame = (struct pw_link_frame){ .work = work, .bytes = bytes };
        pw_list_init(&frame->link);
        memcpy(frame->data, data, bytes);
        return frame;
}

void pw_link_frame_free(struct pw_link_frame *frame) { free(frame); }

static struct pw_link_frame *frame_of(struct pw_list *node) { return pw_list_item(node, struct pw_link_frame, link); }

static void drop(struct pw_link *link, struct pw_list *node)
{
        struct pw_link_frame *frame = frame_of(node);

        if (link->cursor == node)
                link->cursor = &link->kept;
        if (frame->number)
                link->kept_bytes -= frame->bytes;
        pw_list_remove(node);
        free(frame);
}

void pw_link_forget(struct pw_link *link)
{
        while (!pw_list_empty(&link->kept))
                drop(link, link->kept.next);
        while (!pw_list_empty(&link->waiting))
                drop(link, link->waiting.next);
        link->sent = link->acked = link->received = 0;
        link->works_sent = link->works_came = link->works_done = 0;
        link->granted = 0; /* until the other side says */
        link->said = 0;
        link->owed = 0;
        link->due_us = UINT64_MAX;
        link->pressed = false;
        link->timed = 0;
}

void pw_link_acknowledge(struct pw_link *link, uint64_t number)
{
        for (; link->acked < number; link->acked++)
                drop(link, link->kept.next);
}

/* Smoothed by an eighth, as in RFC 6298, 2.3. Less what the last frame that the other side has was held there (RFC 9002, 5.3);
 * where that is a later one, it is a bound, which says something only if it is lower than what is known. */
static void time_round(struct pw_link *link, const struct pw_link_head *head, uint64_t now_us)
{
        uint64_t took_us = now_us - pw_min_u64(now_us, link->timed_us);
        bool exact = head->received == link->timed;

        if (!link->timed || link->acked < link->timed)
                return;
        link->timed = 0;
        took_us = pw_max_u64(1, took_us - pw_min_u64(took_us, head->held_us));
        if (!link->round_us)
                link->round_us = took_us;
        else if (exact || took_us < link->round_us)
                link->round_us = (7 * link->round_us + took_us + 4) / 8;
}

/* --- out -------------------------------------------------------------------------------------------------------------------- */

/* Something is written then. */
static void owe(struct pw_link *link, uint64_t at_us) { link->due_us = pw_min_u64(link->due_us, at_us); }

static void number(struct pw_link *link, struct pw_link_frame *frame)
{
        frame->number = ++link->sent;
        link->kept_bytes += frame->bytes;
        link->works_sent += frame->work;
        pw_list_append(&link->kept, &frame->link);
}

/* Works go on for which there are credits now. */
static void admit(struct pw_link *link)
{
        while (!pw_list_empty(&link->waiting) && link->works_sent < link->granted) {
                struct pw_link_frame *frame = frame_of(link->waiting.next);

                pw_list_remove(&frame->link);
                number(link, frame);
                link->pressed = true;
        }
}

enum pw_status pw_link_send(struct pw_link *link, struct pw_link_frame *frame_take, uint64_t now_us, struct pw_error *ret_err)
{
        if (link->state == PW_LINK_AWAY)
                return pw_error_set(ret_err, PW_HOST_LOST, "host %u was given up", link->params.host);
        pw_link_want(link, now_us);
        if (frame_take->may_wait)
                owe(link, now_us + PW_LINK_COMPANY_US);
        else
                link->pressed = true;
        if (frame_take->work && (!pw_list_empty(&link->waiting) || link->works_sent >= link->granted))
                pw_list_append(&link->waiting, &frame_take->link);
        else
                number(link, frame_take);
        return PW_OK;
}

const struct pw_link_frame *pw_link_next(const struct pw_link *link)
{
        if (link->state != PW_LINK_UP || !link->pressed || link->cursor->next == &link->kept)
                return NULL;
        return frame_of(link->cursor->next);
}

struct pw_link_head pw_link_head(const struct pw_link *link, const struct pw_link_frame *frame, uint64_t now_us)
{
        return (struct pw_link_head){ .number = frame ? frame->number : 0, .received = link->received,
                                      .granted = link->works_done + link->params.window, .work = frame && frame->work,
                                      .stamps = pw_link_clock_stamps(&link->clock, now_us),
                                      .held_us = now_us - pw_min_u64(now_us, link->came_us) };
}

void pw_link_wrote(struct pw_link *link, const struct pw_link_frame *frame, const struct pw_link_head *head, uint64_t now_us)
{
        pw_link_clock_wrote(&link->clock, &head->stamps);
        link->wrote_us = now_us;
        link->due_us = UINT64_MAX;
        link->owed = 0;
        link->said = link->works_done + link->params.window;
        if (frame)
                link->cursor = link->cursor->next;
        link->pressed = link->cursor->next != &link->kept;
        if (!frame || link->timed)
                return;
        link->timed = frame->number;
        link->timed_us = now_us;
}

/* --- in --------------------------------------------------------------------------------------------------------------------- */

static enum pw_status broken(const struct pw_link *link, const char *what, uint64_t number, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_PROTOCOL, "host %u %s %lu", link->params.host, what, (unsigned long)number);
}

enum pw_status pw_link_receive(struct pw_link *link, uint64_t connection, const struct pw_link_head *head, uint64_t now_us,
                               struct pw_error *ret_err)
{
        if (link->state != PW_LINK_UP || connection != link->connection)
                return pw_error_set(ret_err, PW_GONE, "that connection with host %u is over", link->params.host);
        if (head->received > link->sent)
                return broken(link, "has a frame that was never sent,", head->received, ret_err);
        if (head->granted > link->works_sent + UINT32_MAX)
                return broken(link, "has a window of", head->granted, ret_err);
        if (head->number > link->received + 1)
                return broken(link, "left frames out before", head->number, ret_err);
        if (head->number > link->received && head->work && link->works_came >= link->works_done + link->params.window)
                return broken(link, "has no credit for the work in frame", head->number, ret_err);
        link->heard_us = now_us;
        pw_link_clock_hear(&link->clock, &head->stamps, now_us);
        if (head->received > link->acked)
                pw_link_acknowledge(link, head->received);
        time_round(link, head, now_us);
        link->granted = pw_max_u64(link->granted, head->granted);
        admit(link);
        if (!head->number)
                return PW_OK;
        if (head->number <= link->received) {
                owe(link, now_us);
                return pw_error_set(ret_err, PW_EXISTS, "frame %lu came before", (unsigned long)head->number);
        }
        link->owed++;
        owe(link, link->owed < PW_LINK_ACK_FRAMES ? now_us + pw_min_u64(PW_LINK_ACK_US, link->params.beat_us / 2) : now_us);
        link->came_us = now_us;
        link->received = head->number;
        link->works_came += head->work;
        return PW_OK;
}

void pw_link_work_done(struct pw_link *link)
{
        link->works_done++;
        if (link->works_done + link->params.window - link->said >= (link->params.window + 1) / 2)
                owe(link, 0);
}
