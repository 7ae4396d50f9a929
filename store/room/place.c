/* How many slots a request for room gets now. */
#include "store/parts.h"

#define PATIENCE_US 20000u

/* How many of `count` slots the tenant may have. */
static uint32_t within_quota(struct pw_store *store, const struct row *row, struct request *request, uint32_t count)
{
        uint64_t room = pw_store_room_bytes(&request->ask);

        if (!pw_quota_fits(request->tenant, room, count))
                pw_search(store, row, request, 0, &request->own_search);
        return pw_quota_fits(request->tenant, room, count);
}

/* Are fewer slots better than none? If the memory for all of them is about to be given back, only once that takes long. */
static bool is_short(const struct pw_store *store, const struct request *request, enum pw_status status)
{
        return status == PW_NOT_READY || status == PW_LIMIT ||
                (status == PW_BUSY && store->now_us >= request->ask.now_us + PATIENCE_US);
}

enum pw_status pw_room_place(struct pw_store *store, struct row *row, struct request *request, bool *ret_fresh)
{
        struct session *session = request->session;
        uint64_t room = pw_store_room_bytes(&request->ask);
        uint32_t least = room ? (uint32_t)pw_max_u64(1, PW_PAGE_BYTES / room) : 1;
        uint64_t most = room ? pw_max_u64(pw_room_usable(store, session->segment) / room, 1) : UINT32_MAX;
        uint32_t count = within_quota(store, row, request, (uint32_t)pw_min_u64(request->ask.count, most));
        enum pw_status status;

        request->over = !count;
        if (!count)
                return PW_NOT_READY;
        status = pw_extent_new(store, session, row, count, &request->extent, ret_fresh);
        while (is_short(store, request, status) && count > least) {
                count = count / 2 > least ? count / 2 : least;
                status = pw_extent_new(store, session, row, count, &request->extent, ret_fresh);
        }
        if (status == PW_NOT_READY && pw_search_may(store, request, &request->search)) {
                pw_search(store, row, request, pw_round_up(count * room, PW_PAGE_BYTES) + 2 * PW_PAGE_BYTES, &request->search);
                status = pw_extent_new(store, session, row, count, &request->extent, ret_fresh);
        }
        if (status == PW_OK)
                request->extent->at_once = request->ask.at_once;
        return status == PW_BUSY ? PW_NOT_READY : status;
}
