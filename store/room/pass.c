/* Which requests pass which in the queue for room.
 *
 * A request for memory that others hold would keep all behind it waiting for as long as they hold it. So those pass for which there
 * is enough; and lest a large request waits for ever, one that lacks memory gets turns: what is freed meanwhile is for it alone.
 * One has a turn at a time, the tenant that had none for the longest; after it the others pass for REST times as long as it
 * lasted. A turn in vain is followed by a longer one. */
#include "store/parts.h"

#define TURN_US 25000u  /* the first one of a request */
#define DOUBLINGS 4u    /* of it: 400 ms at most */
#define REST 8u

bool pw_pass_may(const struct pw_store *store, const struct request *request)
{
        return !store->turn || store->turn == request || !pw_store_room_bytes(&request->ask);
}

static void end_turn(struct pw_store *store, uint64_t took_us)
{
        store->turn = NULL;
        store->next_turn_us = store->now_us + REST * took_us;
}

void pw_pass_gone(struct pw_store *store, const struct request *request)
{
        uint64_t left_us = store->turn_until_us - pw_min_u64(store->turn_until_us, store->now_us);

        if (store->turn == request)
                end_turn(store, (TURN_US << (request->turns - 1)) - left_us);
}

static bool is_before(const struct request *request, const struct request *other)
{
        if (request->tenant != other->tenant)
                return request->tenant->turn < other->tenant->turn;
        return request->turns < other->turns;
}

/* NULL: nobody lacks memory that pages of the store would help. */
static struct request *find_next(const struct pw_store *store)
{
        struct request *request, *next = NULL;

        pw_list_each(&store->queue, request, struct request, link)
                if (!request->over && pw_store_room_bytes(&request->ask) && request->retry_us <= store->now_us &&
                    (!next || is_before(request, next)))
                        next = request;
        return next;
}

void pw_pass_turn(struct pw_store *store)
{
        struct request *next;

        if (store->turn && store->now_us >= store->turn_until_us)
                end_turn(store, TURN_US << (store->turn->turns - 1));
        if (store->turn || !store->lacking_count || store->now_us < store->next_turn_us)
                return;
        next = find_next(store);
        if (!next)
                return;
        next->turns += next->turns <= DOUBLINGS;
        next->tenant->turn = ++store->turns;
        store->turn = next;
        store->turn_until_us = store->now_us + (TURN_US << (next->turns - 1));
}

uint64_t pw_pass_next_us(const struct pw_store *store)
{
        if (store->turn)
                return store->turn_until_us;
        /* else when something is freed */
        return store->lacking_count && store->next_turn_us > store->now_us ? store->next_turn_us : UINT64_MAX;
}
