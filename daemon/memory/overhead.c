/* Measured memory. A client can make more of its memfd than it was granted: by writing there, or by reading where nothing is. */
#include "daemon/memory/overhead.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/child/child.h"
#include "daemon/session/session.h"
#include "daemon/session/kept.h"
#include "daemon/memory/freezer/freezer.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"
#include "daemon/module/module.h"

#include <stdio.h>

#define LOOKS 8u                          /* at memfds of others, with each reservation */
#define BEYOND_BYTES (32 * PW_MIB)        /* that a process may have beyond its grants */
#define BEYOND_PLACE_BYTES (8 * PW_MIB)   /* and for each of its sessions; besides, the rings of lanes that were used */
#define BEYOND_READ_BYTES (8 * PW_MIB)    /* that may be beyond the grants in what a tenant's processes only read */
/* that each process may have, though its tenant's have more than BEYOND_BYTES and it is over its quota */
#define QUOTA_BACKING_BYTES (2 * PW_MIB)

static uint64_t allocated(int fd)
{
        uint64_t bytes;

        return fd >= 0 && pw_memfd_allocated(fd, &bytes, NULL) == PW_OK ? bytes : 0;
}

void pw_overhead_grants(struct pw_daemon *daemon)
{
        struct pw_backing *backing;
        struct pw_segment *segment;

        pw_list_each(&daemon->memory.backings, backing, struct pw_backing, of_daemon)
                backing->granted_bytes = 0; /* also where no segment is left */
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->memory.segments, &i));)
                if (!segment->apart)
                        segment->backed.backing->granted_bytes = 0;
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->memory.segments, &i));)
                if (segment->layout.kind == PW_SEGMENT_CLIENT)
                        segment->backed.backing->granted_bytes += pw_store_segment_bytes(daemon->store, segment->number);
}

/* What the segments in it were granted, and what the worker was asked to give back. */
static uint64_t granted(const struct pw_backing *backing)
{
        uint64_t bytes = backing->leaving_bytes + backing->given_up_bytes;
        const struct pw_segment *segment;

        pw_list_each(&backing->segments_in, segment, struct pw_segment, of_backing)
                bytes += pw_store_segment_bytes(backing->daemon->store, segment->number);
        return bytes;
}

/* Frozen values stay when no session is left: what is there besides goes with the tenant. */
static void count(struct pw_backing *backing, uint64_t bytes)
{
        pw_kept_count(backing->daemon, backing->tenant, backing->frozen ? PW_KEPT_FUTURES : PW_KEPT_PAGES,
                      (int64_t)bytes - (int64_t)backing->overhead_bytes);
        backing->overhead_bytes = bytes;
}

/* Its tenant has more than its quota, and a good part of that in such pages, some of them here. */
static bool is_over(const struct pw_backing *backing)
{
        struct pw_use use;

        if (backing->overhead_bytes <= QUOTA_BACKING_BYTES || backing->tenant->quota.host_bytes == PW_QUOTA_NONE)
                return false;
        use = pw_store_use(backing->daemon->store, backing->tenant->name);
        return use.host_bytes > backing->tenant->quota.host_bytes && use.kept[PW_KEPT_PAGES] > BEYOND_BYTES;
}

/* Lanes and rings: what is there besides, which is its tenant's. Much more than those take is beyond the grant: it is about to be
 * taken back, and until then nobody has less for it. */
static void look(struct pw_backing *backing)
{
        uint64_t most = backing->frozen ? BEYOND_READ_BYTES :
                BEYOND_BYTES + (uint64_t)backing->taken * BEYOND_PLACE_BYTES + (uint64_t)backing->lanes * sizeof(struct pw_lane);
        uint64_t has = allocated(backing->fd), beyond = has - pw_min_u64(has, granted(backing));

        count(backing, pw_min_u64(beyond, most));
        backing->exceeds = beyond > most || is_over(backing);
        backing->daemon->memory.exceeding |= backing->exceeds;
}

void pw_overhead_forget(struct pw_backing *backing)
{
        if (backing->daemon->phase == PW_STOPPING)
                return; /* the store may be gone */
        count(backing, 0);
}

static void look_next(struct pw_backing *backing)
{
        pw_list_remove(&backing->of_daemon);
        pw_list_prepend(&backing->daemon->memory.backings, &backing->of_daemon);
        backing->daemon->memory.overhead_looks++;
}

/* A session may have left, and with it who read its tenant's frozen values. */
void pw_overhead_returned(struct pw_backing *backing)
{
        if (!backing->daemon)
                return;
        for (uint32_t kind = 0; kind < PW_FREEZERS && !backing->frozen; kind++)
                if (backing->tenant->freezers[kind])
                        look_next(pw_freezer_backing(backing->tenant->freezers[kind]));
        look_next(backing);
}

void pw_overhead_reserved(struct pw_backing *backing)
{
        pw_overhead_returned(backing);
        if (backing->daemon)
                backing->daemon->memory.overhead_looks += LOOKS;
}

/* Of the rooms that it has on devices. */
static uint64_t heads_allocated(const struct pw_tenant *tenant)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++)
                bytes += tenant->devices[i] ? allocated(tenant->devices[i]->heads.backing->fd) : 0;
        return bytes;
}

/* Clients map its futures to read; what they make of them so is given back. */
static void look_at_tenant(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        struct pw_backing *backing = tenant->futures->backed.backing;
        uint64_t has = allocated(backing->fd),
                most = pw_store_segment_bytes(daemon->store, tenant->futures->number) + BEYOND_READ_BYTES;
        uint64_t bytes = allocated(tenant->hints_fd) + heads_allocated(tenant) + pw_min_u64(has, most);

        backing->exceeds = has > most;
        daemon->memory.exceeding |= backing->exceeds;
        pw_kept_count(daemon, tenant, PW_KEPT_FUTURES, (int64_t)bytes - (int64_t)tenant->measured_bytes);
        tenant->measured_bytes = bytes;
}

void pw_overhead_forget_tenant(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        pw_kept_count(daemon, tenant, PW_KEPT_FUTURES, -(int64_t)tenant->measured_bytes);
        tenant->measured_bytes = 0;
}

/* Of what no session and no tenant makes. */
static uint64_t measure_rest(struct pw_daemon *daemon)
{
        uint64_t sum = allocated(daemon->children.bells_fd), boards = 0;

        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                boards += allocated(daemon->children.islands[i].fd);
        sum += boards - pw_min_u64(boards, daemon->memory.placed_bytes); /* programs there are charged */
        for (uint32_t i = 0; i < daemon->device_count; i++)
                sum += allocated(daemon->children.all[i].board_fd);
        return sum;
}

/* Pages that the store has given up in this turn are there until the worker is asked. */
static void give_up(struct pw_daemon *daemon, bool counts)
{
        const struct pw_store_actions *actions = pw_store_actions(daemon->store);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_segment *segment = actions->items[i].kind == PW_STORE_PUNCH ?
                        pw_segment_get(&daemon->memory, actions->items[i].segment) : NULL;

                if (segment)
                        segment->backed.backing->given_up_bytes += counts ? actions->items[i].bytes : -actions->items[i].bytes;
        }
}

void pw_overhead_refresh(struct pw_daemon *daemon)
{
        uint64_t rest = measure_rest(daemon);
        struct pw_backing *backing;
        struct pw_tenant *tenant;

        pw_store_overhead(daemon->store, (int64_t)rest - (int64_t)daemon->memory.overhead_bytes);
        daemon->memory.overhead_bytes = rest;
        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                look_at_tenant(daemon, tenant);
        give_up(daemon, true);
        pw_list_each(&daemon->memory.backings, backing, struct pw_backing, of_daemon)
                look(backing);
        give_up(daemon, false);
}

/* --- who takes more than was granted ------------------------------------------------------------------------------------------ */

static void end_sessions(const struct pw_backing *backing)
{
        char why[160], bytes[16];
        const struct pw_segment *segment;

        snprintf(why, sizeof why, "its process took more than %s of memory beyond what it was granted%s",
                 pw_size_format(backing->overhead_bytes, bytes),
                 is_over(backing) ? ", and its tenant has more than its quota" : "");
        pw_list_each(&backing->segments_in, segment, struct pw_segment, of_backing) {
                struct pw_dsession *session = pw_session_get(&backing->daemon->registry, segment->session);

                if (session)
                        pw_session_end(session, why);
        }
}

struct hole { struct pw_daemon *daemon; const struct pw_segment *segment; };

static void punch(void *context, uint64_t offset, uint64_t bytes)
{
        const struct hole *hole = context;

        pw_worker_ask(hole->daemon->memory.worker, &(struct pw_memory_work){ .punch = true,
                                                               .backing = hole->segment->backed.backing,
                                                               .offset = hole->segment->backed.offset + offset,
                                                               .bytes = bytes });
}

static void punch_futures(struct pw_daemon *daemon)
{
        struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.tenants, &i));) {
                struct pw_backing *backing = tenant->futures->backed.backing;

                if (backing->exceeds && !backing->works)
                        pw_store_each_hole(daemon->store, tenant->futures->number, punch,
                                           &(struct hole){ daemon, tenant->futures });
                backing->exceeds = false;
        }
}

/* Of its ended sessions, and of freezers: where objects lie stays, with what else was granted. Places whose segments are gone serve
 * nobody. */
static void punch_holes(struct pw_backing *backing)
{
        struct pw_segment *segment;
        bool used[PW_BACKING_PLACES] = { false };

        pw_list_each(&backing->segments_in, segment, struct pw_segment, of_backing) {
                uint64_t place = segment->backed.offset / backing->place_bytes;

                used[place] = true;
                if (!backing->frozen && !pw_session_get(&backing->daemon->registry, segment->session)) /* nobody reads its lanes */
                        pw_worker_ask(backing->daemon->memory.worker,
                                      &(struct pw_memory_work){ .punch = true, .backing = backing,
                                                                .offset = place * backing->place_bytes,
                                                                .bytes = segment->backed.offset % backing->place_bytes });
                pw_store_each_hole(backing->daemon->store, segment->number, punch, &(struct hole){ backing->daemon, segment });
        }
        for (uint32_t i = 0; i < backing->taken; i++)
                if (!used[i])
                        pw_worker_ask(backing->daemon->memory.worker, &(struct pw_memory_work){ .punch = true,
                                                                                  .backing = backing,
                                                                                  .offset = i * backing->place_bytes,
                                                                                  .bytes = backing->place_bytes });
}

static void look_in_turn(struct pw_daemon *daemon)
{
        for (; daemon->memory.overhead_looks && !pw_list_empty(&daemon->memory.backings); daemon->memory.overhead_looks--) {
                struct pw_backing *backing = pw_list_first(&daemon->memory.backings, struct pw_backing, of_daemon);

                pw_list_remove(&backing->of_daemon);
                pw_list_append(&daemon->memory.backings, &backing->of_daemon);
                look(backing);
        }
}

void pw_overhead_turn(struct pw_daemon *daemon)
{
        struct pw_backing *backing;

        look_in_turn(daemon);
        if (!daemon->memory.exceeding)
                return;
        daemon->memory.exceeding = false;
        punch_futures(daemon);
        pw_list_each(&daemon->memory.backings, backing, struct pw_backing, of_daemon) {
                if (!backing->exceeds)
                        continue;
                backing->exceeds = false;
                end_sessions(backing);
                if (!backing->works) /* else once they are done, if it is still so */
                        punch_holes(backing);
        }
}
