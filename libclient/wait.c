/* Waiting for futures. */
#include "libclient/session.h"

#define WATCH_MAX (PW_NOTES_MAX - 2) /* futures that one sleep can watch */

int64_t pw_deadline_ns(int64_t timeout_us)
{
        int64_t ns, deadline_ns;
        if (timeout_us < 0)
                timeout_us = 0;
        if (__builtin_mul_overflow(timeout_us, 1000, &ns) || __builtin_add_overflow(pw_now_ns(), ns, &deadline_ns))
                return INT64_MAX;
        return deadline_ns;
}

static struct pw_wait_item item_of(const struct pw_future *future, uint64_t word)
{
        return (struct pw_wait_item){ .entry = future->entry, .generation = future->generation, .segment = future->segment,
                                      .slot = future->slot, .closing = pw_word_state(word) == PW_ENTRY_CLOSING };
}

/* Sleep until one of the items has changed. Errors: PW_DEADLINE, without a text; PW_DAEMON_GONE, PW_LIMIT. */
static enum pw_status sleep_on(struct pw_session *session, const struct pw_wait_item *items, uint32_t count, int64_t deadline_ns,
                               struct pw_error *ret_err)
{
        struct pw_client_lane *lane;
        enum pw_status status = pw_lane_get(session, &lane, ret_err);
        if (status != PW_OK)
                return status;
        for (uint32_t i = 0; i < count; i++)
                if (items[i].closing) /* the daemon is about to reopen it: it has to read a ring for that */
                        pw_lane_publish(lane, true);
        struct pw_wait_place place = { session->hints, lane->shared->notes, session->life, PW_LIFE_ALIVE };
        status = pw_wait_any(&place, items, count, deadline_ns);
        return status == PW_DAEMON_GONE ? pw_session_check(session, ret_err) : status;
}

enum pw_status pw_future_await(struct pw_future *future, int64_t timeout_us, uint64_t *ret_word, struct pw_error *ret_err)
{
        struct pw_session *session = pw_future_session(future);
        int64_t deadline_ns = timeout_us > 0 ? pw_deadline_ns(timeout_us) : 0;
        char id[PW_ID_TEXT_BYTES];
        uint64_t word;
        while (pw_future_status(word = pw_future_word(future)) == PW_NOT_READY) {
                if (timeout_us <= 0)
                        return pw_error_set(ret_err, PW_NOT_READY, "%s: not ready yet", pw_id_format(pw_future_id(future), id));
                struct pw_wait_item item = item_of(future, word);
                enum pw_status status = sleep_on(session, &item, 1, deadline_ns, ret_err);
                if (status == PW_DEADLINE)
                        return pw_error_set(ret_err, status, "%s: not ready until the deadline; `pathways why %s` says why",
                                            pw_id_format(pw_future_id(future), id), id);
                if (status != PW_OK)
                        return status;
        }
        *ret_word = word;
        return PW_OK;
}

/* --- many ---------------------------------------------------------------------------------------------------------------- */

struct wait {
        struct pw_session *session;
        struct pw_future *const *futures;
        size_t count, need;
        size_t ready; /* found so by the last look */
        struct pw_wait_item items[WATCH_MAX];
        uint32_t item_count;
};

/* Count what is ready, and note what to watch. All of them wanted: one that is not ready is enough to watch. */
static void look(struct wait *wait)
{
        uint32_t watch = wait->need == wait->count ? 1 : WATCH_MAX;
        wait->ready = 0;
        wait->item_count = 0;
        for (size_t i = 0; i < wait->count; i++) {
                uint64_t word = pw_future_word(wait->futures[i]);
                if (pw_future_status(word) != PW_NOT_READY)
                        wait->ready++;
                else if (wait->item_count < watch)
                        wait->items[wait->item_count++] = item_of(wait->futures[i], word);
        }
}

/* When the next look is due at the latest: futures beyond WATCH_MAX may be ready in number without any watched one. */
static int64_t next_look_ns(const struct wait *wait, int64_t deadline_ns)
{
        size_t unwatched = wait->count - wait->ready - wait->item_count;
        if (wait->need == wait->count || unwatched < wait->need - wait->ready)
                return deadline_ns;
        int64_t second_look_ns = pw_now_ns() + INT64_C(1000) * PW_SECOND_LOOK_US;
        return deadline_ns < second_look_ns ? deadline_ns : second_look_ns;
}

static enum pw_status wait_for(struct wait *wait, int64_t timeout_us, struct pw_error *ret_err)
{
        int64_t deadline_ns = pw_deadline_ns(timeout_us);
        for (look(wait); wait->ready < wait->need; look(wait)) {
                if (timeout_us <= 0 || (deadline_ns != INT64_MAX && pw_now_ns() >= deadline_ns))
                        return pw_error_set(ret_err, PW_DEADLINE, "%zu of %zu futures are ready, %zu are needed", wait->ready, wait->count,
                                            wait->need);
                int64_t until_ns = next_look_ns(wait, deadline_ns);
                enum pw_status status = sleep_on(wait->session, wait->items, wait->item_count, until_ns, ret_err);
                if (status != PW_OK && status != PW_DEADLINE)
                        return status;
        }
        return PW_OK;
}

static enum pw_status wait_check(struct wait *wait, struct pw_error *ret_err)
{
        if (wait->need > wait->count)
                return pw_error_set(ret_err, PW_INVALID, "need %zu of %zu futures", wait->need, wait->count);
        for (size_t i = 0; i < wait->count; i++) {
                if (!wait->futures[i])
                        return pw_error_set(ret_err, PW_INVALID, "future %zu is NULL", i);
                if (!wait->session)
                        wait->session = pw_future_session(wait->futures[i]);
                if (pw_future_session(wait->futures[i]) != wait->session)
                        return pw_error_set(ret_err, PW_INVALID, "future %zu is of another session than future 0", i);
        }
        return wait->count ? pw_session_check(wait->session, ret_err) : PW_OK;
}

enum pw_status pw_wait(struct pw_future *const *futures, size_t count, size_t need, int64_t timeout_us, size_t *ret_ready_count,
                       struct pw_error *ret_err)
{
        struct wait wait;
        wait.session = NULL;
        wait.futures = futures;
        wait.count = count;
        wait.need = need;
        wait.ready = 0;
        enum pw_status status = wait_check(&wait, ret_err);
        if (status == PW_OK)
                status = wait_for(&wait, timeout_us, ret_err);
        if (ret_ready_count)
                *ret_ready_count = wait.ready;
        return status;
}
