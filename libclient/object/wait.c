/* Waiting for futures. */
#include "libclient/session.h"
#include "plane/wide.h"

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

static struct pw_wait_place place_of(const struct pw_client_lane *lane)
{
        const struct pw_session *session = lane->session;
        return (struct pw_wait_place){ session->hints, lane->shared->notes, session->life, PW_LIFE_ALIVE };
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
        struct pw_wait_place place = place_of(lane);
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

/* --- many ----------------------------------------------------------------------------------------------------------------
 *
 * Who needs `need` of `count` futures has to watch count - need + 1 of those that are not ready, whichever: as long as none of
 * them is, too few are. So waiting for all watches one. It is drawn by lot: in whatever order they come, about half of those that
 * are left come before it, so that the sleeps are as few as the logarithm of the count. More than one sleep can watch: bells.
 */

struct wait {
        struct pw_session *session;
        struct pw_future *const *futures;
        size_t count, need, watch;
        size_t first; /* those before it are ready */
        size_t ready; /* found so by the last look */
        uint64_t lot;
        uint64_t bells; /* of the segments of all, where bells are slept on */
        bool closing;   /* one of them is */
        bool failed;    /* one that is ready is so with an error, as the end of a session makes them */
        struct pw_wait_item items[WATCH_MAX];
        uint32_t item_count; /* as many as there are to watch, or WATCH_MAX */
};

/* A number below `bound`, by xorshift. */
static size_t draw(struct wait *wait, size_t bound)
{
        wait->lot ^= wait->lot << 13;
        wait->lot ^= wait->lot >> 7;
        wait->lot ^= wait->lot << 17;
        return (size_t)(wait->lot % bound);
}

/* The one that was found not ready as number `number`, counted from 0, is watched, or takes the place of another one, or neither:
 * each with the same chance (Vitter's algorithm R). */
static void watch(struct wait *wait, const struct pw_future *future, uint64_t word, size_t number)
{
        size_t place = number;
        wait->closing |= pw_word_state(word) == PW_ENTRY_CLOSING;
        if (wait->watch <= WATCH_MAX && number >= wait->watch)
                place = draw(wait, number + 1);
        if (place >= wait->watch || place >= WATCH_MAX)
                return;
        wait->items[place] = item_of(future, word);
        if (wait->item_count <= place)
                wait->item_count = (uint32_t)place + 1;
}

/* Count what is ready, and choose what to watch. */
static void look(struct wait *wait)
{
        size_t missing = 0;
        wait->item_count = 0;
        wait->closing = false;
        for (size_t i = wait->first; i < wait->count; i++) {
                uint64_t word = pw_future_word(wait->futures[i]);
                enum pw_status status = pw_future_status(word);
                if (status == PW_NOT_READY)
                        watch(wait, wait->futures[i], word, missing++);
                else if (!missing)
                        wait->first = i + 1;
                wait->failed |= status != PW_NOT_READY && status != PW_OK;
        }
        wait->ready = wait->count - missing;
}

/* Sleep, and look, until enough are ready. Errors: PW_DEADLINE, without a text; PW_DAEMON_GONE, PW_LIMIT. */
static enum pw_status wait_narrow(struct wait *wait, int64_t deadline_ns, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        while (status == PW_OK && wait->ready < wait->need) {
                status = sleep_on(wait->session, wait->items, wait->item_count, deadline_ns, ret_err);
                look(wait);
        }
        return wait->ready < wait->need ? status : PW_OK;
}

/* The same by bells. Errors: besides, PW_DAEMON_GONE where the word that `place` has for life changed. */
static enum pw_status sleep_wide(struct wait *wait, struct pw_client_lane *lane, const struct pw_wait_place *place,
                                 int64_t deadline_ns)
{
        enum pw_status status = PW_OK;
        struct pw_wide wide;
        pw_wide_begin(&wide, place, wait->bells, &wait->items[0]);
        for (;;) {
                size_t before = wait->ready;
                pw_wide_arm(&wide);
                look(wait);
                if (wide.unwoken && wait->ready > before)
                        atomic_fetch_add(&place->page->second_looks, 1);
                if (wait->ready >= wait->need || status != PW_OK)
                        break;
                if (wait->closing)
                        pw_lane_publish(lane, true);
                status = pw_wide_sleep(&wide, deadline_ns);
        }
        pw_wide_end(&wide);
        return wait->ready >= wait->need ? PW_OK : status;
}

static enum pw_status wait_wide(struct wait *wait, int64_t deadline_ns, struct pw_error *ret_err)
{
        struct pw_client_lane *lane;
        enum pw_status status = pw_lane_get(wait->session, &lane, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_wait_place place = place_of(lane);
        status = sleep_wide(wait, lane, &place, deadline_ns);
        return status == PW_DAEMON_GONE ? pw_session_check(wait->session, ret_err) : status;
}

enum pw_status pw_future_await_any(struct pw_future *const *futures, size_t count, const _Atomic uint32_t *word, uint32_t value)
{
        struct wait wait;
        struct pw_client_lane *lane;
        memset(&wait, 0, offsetof(struct wait, items));
        wait.futures = futures;
        wait.count = wait.watch = count;
        wait.need = wait.lot = 1;
        for (size_t i = 0; i < count; i++)
                wait.bells |= pw_wide_bell(futures[i]->segment);
        look(&wait);
        if (wait.ready)
                return PW_OK;
        enum pw_status status = pw_lane_get(pw_future_session(futures[0]), &lane, NULL);
        if (status != PW_OK)
                return status;
        struct pw_wait_place place = place_of(lane);
        place.life = word;
        place.life_alive = value;
        if (wait.closing)
                pw_lane_publish(lane, true);
        if (count > WATCH_MAX)
                (void)!sleep_wide(&wait, lane, &place, INT64_MAX);
        else
                pw_wait_any(&place, wait.items, wait.item_count, INT64_MAX);
        return PW_OK;
}

static enum pw_status wait_check(struct wait *wait, struct pw_error *ret_err)
{
        if (wait->need > wait->count)
                return pw_error_set(ret_err, PW_INVALID, "need %zu of %zu futures", wait->need, wait->count);
        if (wait->count && !wait->futures)
                return pw_given_check(wait->futures, "futures", ret_err);
        for (size_t i = 0; i < wait->count; i++) {
                if (!wait->futures[i])
                        return pw_error_set(ret_err, PW_INVALID, "future %zu is NULL", i);
                if (pw_future_is_given(wait->futures[i]))
                        return pw_error_set(ret_err, PW_INVALID, "future %zu is what pw_donate() returns, for pw_run() alone", i);
                if (!wait->futures[i]->lane)
                        return pw_future_check(wait->futures[i], ret_err);
                if (!wait->session)
                        wait->session = pw_future_session(wait->futures[i]);
                if (pw_future_session(wait->futures[i]) != wait->session)
                        return pw_error_set(ret_err, PW_INVALID, "future %zu is of another session than future 0", i);
                wait->bells |= pw_wide_bell(wait->futures[i]->segment);
        }
        return wait->count ? pw_session_check(wait->session, ret_err) : PW_OK;
}

/* Enough are ready, unless by the end of the session, which makes ready what it was to make ready, before the library hears of
 * it. */
static enum pw_status check_end(const struct wait *wait, struct pw_error *ret_err)
{
        enum pw_status status = wait->session ? pw_session_check(wait->session, ret_err) : PW_OK;
        if (status == PW_OK && wait->failed && pw_connection_hung_up(wait->session->connection))
                status = pw_session_check(wait->session, ret_err);
        return status;
}

static enum pw_status wait_for(struct wait *wait, int64_t timeout_us, struct pw_error *ret_err)
{
        enum pw_status status = PW_DEADLINE;
        wait->watch = wait->count - wait->need + 1;
        wait->lot = (uintptr_t)wait->session | 1; /* any start will do: nobody who makes futures knows it */
        look(wait);
        if (wait->ready >= wait->need)
                return check_end(wait, ret_err);
        int64_t deadline_ns = pw_deadline_ns(timeout_us);
        if (timeout_us > 0)
                status = wait->watch > WATCH_MAX ? wait_wide(wait, deadline_ns, ret_err) : wait_narrow(wait, deadline_ns, ret_err);
        if (status == PW_OK)
                return check_end(wait, ret_err);
        if (status != PW_DEADLINE)
                return status;
        return pw_error_set(ret_err, status, "%zu of %zu futures are ready, %zu are needed", wait->ready, wait->count, wait->need);
}

enum pw_status pw_wait(struct pw_future *const *futures, size_t count, size_t need, int64_t timeout_us, size_t *ret_ready_count,
                       struct pw_error *ret_err)
{
        struct wait wait;
        memset(&wait, 0, offsetof(struct wait, items));
        wait.futures = futures;
        wait.count = count;
        wait.need = need;
        enum pw_status status = wait_check(&wait, ret_err);
        if (status == PW_OK)
                status = wait_for(&wait, timeout_us, ret_err);
        if (ret_ready_count)
                *ret_ready_count = wait.ready;
        return status;
}
