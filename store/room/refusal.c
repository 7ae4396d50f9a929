/* What a request for room is told that is not granted: how much there is, and who holds it. */
#include "store/parts.h"

#include "base/text.h"

#include <stdio.h>

/* Besides there is what was measured of the daemon's own, and what its own tenant makes it keep: what it keeps of others may go. Of
 * it at least its own table of entries with their records. */
uint64_t pw_room_usable(const struct pw_store *store, const struct segment *segment)
{
        uint64_t own = segment->entry_page_bytes + segment->record_bytes,
                least = PW_PAGE_BYTES + PW_CHUNK_SLOTS * sizeof(struct pw_object);
        int64_t bytes = (int64_t)(store->params.capacity_bytes - store->params.reserved_bytes) - store->overhead_bytes -
                        (int64_t)(segment->tenant->kept_bytes - own + pw_max_u64(own, least));

        return bytes > 0 ? pw_min_u64((uint64_t)bytes, segment->layout.bytes - segment->layout.room_offset) : 0;
}

static struct pw_room_lack lack_of(const struct pw_store *store, const struct request *request)
{
        const struct tenant *tenant = request->tenant;
        uint64_t need = pw_round_up(pw_store_room_bytes(&request->ask), PW_PAGE_BYTES), charged = pw_tenant_charged(tenant);
        int64_t most = pw_pages_most(store);

        if (request->extent)
                return (struct pw_room_lack){ PW_LACK_NOTHING, 0 };
        if (request->retry_us)
                return (struct pw_room_lack){ PW_LACK_SYSTEM, need };
        if (request->over && tenant->slots >= tenant->quota.objects)
                return (struct pw_room_lack){ PW_LACK_OBJECTS, 0 };
        if (request->over)
                return (struct pw_room_lack){ PW_LACK_QUOTA,
                                              charged + need - pw_min_u64(charged + need, tenant->quota.host_bytes) };
        if (most >= (int64_t)need)
                return (struct pw_room_lack){ PW_LACK_NOTHING, 0 };
        return (struct pw_room_lack){ PW_LACK_MEMORY, (uint64_t)((int64_t)need - most) };
}

struct pw_room_lack pw_store_room_lack(const struct pw_store *store, uint64_t token)
{
        const struct request *request = pw_table_get(&store->requests, token);

        return request ? lack_of(store, request) : (struct pw_room_lack){ PW_LACK_NOTHING, 0 };
}

/* Of many who are told the same, the first one has it looked at. */
static const char *holders(struct pw_store *store, struct told *told, const struct pw_holders_of *of)
{
        if (told->looks && told->of.tenant == of->tenant && told->of.reader == of->reader && told->of.slots == of->slots)
                return told->text;
        told->looks++;
        told->of = *of;
        return pw_store_holders_text(store, of, told->text, sizeof told->text);
}

/* How much its tenant has, and who of it. */
static void describe_over(struct pw_store *store, const struct request *request, struct told *told, char *text, size_t text_bytes)
{
        const struct tenant *tenant = request->tenant;
        bool bytes = pw_quota_of_bytes(tenant, pw_store_room_bytes(&request->ask));
        const char *who = holders(store, told, &(struct pw_holders_of){ tenant->name, tenant->name, store->now_us, !bytes });
        char used[16], quota[16];

        if (bytes)
                pw_text_format(text, text_bytes, "tenant %s has %s of its quota of %s: %s", tenant->name,
                         pw_size_format(pw_tenant_charged(tenant), used), pw_size_format(tenant->quota.host_bytes, quota), who);
        else
                pw_text_format(text, text_bytes, "tenant %s has %llu slots of its quota of %llu objects: %s", tenant->name,
                         (unsigned long long)tenant->slots, (unsigned long long)tenant->quota.objects, who);
}

static void describe_wait(struct pw_store *store, const struct request *request, struct told *told, char *text, size_t text_bytes)
{
        const struct pw_room_request *ask = &request->ask;
        const struct session *session = pw_session_of(store, ask->session);
        struct pw_holders_of of = { .reader = session && session->any_tenant ? NULL : request->tenant->name,
                                    .now_us = store->now_us };
        char who[360], need[16], waited[16], size[16], leaving[80] = "";

        pw_size_format(pw_max_u64(ask->need_bytes, pw_store_room_bytes(ask)), need);
        pw_duration_format(store->now_us - pw_min_u64(store->now_us, ask->now_us), waited);
        if (request->retry_us) {
                snprintf(text, text_bytes,
                         "waited %s for %s of host memory on h%u: pathwaysd has it to give, but its memory cgroup or the system "
                         "has too little left; "
                         "end other programs, or lower --host-memory",
                         waited, need, store->params.host);
                return;
        }
        if (request->over) {
                describe_over(store, request, told, who, sizeof who);
                snprintf(text, text_bytes, "waited %s for %s: %s; `pathways free`, end a holder, or raise --quota", waited,
                         pw_store_room_bytes(ask) ? need : "an object", who);
                return;
        }
        if (store->leaving_bytes)
                snprintf(leaving, sizeof leaving, "; %s were given up and are not the system's yet",
                         pw_size_format(store->leaving_bytes, size));
        snprintf(text, text_bytes,
                 "waited %s for %s of host memory on h%u: %s; `pathways free`, end a holder, or raise --host-memory%s", waited,
                 need, store->params.host, holders(store, told, &of), leaving);
}

static void describe_too_large(struct pw_store *store, const struct pw_room_request *ask, char *text, size_t text_bytes)
{
        const struct session *session = pw_session_of(store, ask->session);
        bool over = pw_quota_never(session->tenant, pw_store_room_bytes(ask));
        char need[24], has[24];

        pw_size_format_two(pw_max_u64(ask->need_bytes, pw_store_room_bytes(ask)),
                           over ? session->tenant->quota.host_bytes : pw_room_usable(store, session->segment), need, has);
        if (over)
                snprintf(text, text_bytes, "%s do not fit into the quota of tenant %s, %s of host memory; raise --quota", need,
                         session->tenant->name, has);
        else
                snprintf(text, text_bytes,
                         "%s do not fit into the %s of host memory on h%u that are neither reserved for devices nor overhead; "
                         "raise --host-memory",
                         need, has, store->params.host);
}

bool pw_store_room_lacks(struct pw_store *store, uint64_t token, uint64_t now_us, struct pw_error *ret_err)
{
        const struct request *request = pw_table_get(&store->requests, token);
        struct told told = { .looks = 0 };
        char text[480];

        store->now_us = now_us;
        if (!request || lack_of(store, request).kind == PW_LACK_NOTHING)
                return false;
        describe_wait(store, request, &told, text, sizeof text);
        (void)!pw_error_set(ret_err, PW_NO_SPACE, "%s", text);
        return true;
}

void pw_room_refuse(struct pw_store *store, const struct pw_room_request *ask, enum pw_status status)
{
        char text[480], need[16];

        if (status == PW_TOO_LARGE)
                describe_too_large(store, ask, text, sizeof text);
        else if (status == PW_LIMIT)
                snprintf(text, sizeof text,
                         ask->futures ? "the tenant has no more slots for futures; give back what is not needed"
                                      : "the segment of the session has no more slots; connect once more for more");
        else
                snprintf(text, sizeof text, "a room of %s: %s",
                         pw_size_format(pw_max_u64(ask->need_bytes, pw_store_room_bytes(ask)), need), pw_status_text(status));
        pw_store_answer(store, ask->token, status, text);
}

void pw_room_give_up(struct pw_store *store, const struct request *request, struct told *told)
{
        char text[480];

        told->count++;
        describe_wait(store, request, told, text, sizeof text);
        pw_store_answer(store, request->ask.token, PW_NO_SPACE, text);
}
