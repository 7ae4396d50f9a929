/* Ends of sessions and lanes, in parts: who held a million objects holds nobody else up.
 *
 * An ended session is found no more, and what it was granted serves no lane any more; that is so at once. What stays to be done
 * is to let its claims go, and to look at each slot that it was granted, where those who wait for its values are told. Until then
 * those are as they were, but that no memory is granted to it, and none of it is given back to it. Its segment stays until all is
 * looked at. */
#include "store/parts.h"

#define PART 4096u /* claims and slots */

static void free_rows(struct session *session)
{
        struct row *row;

        for (uint32_t i = 0; (row = pw_table_next(&session->rows, &i));)
                free(row);
        pw_table_done(&session->rows);
}

static void leave_ending(struct session *session)
{
        session->tenant->on_way -= !pw_list_empty(&session->of_ending);
        pw_list_remove(&session->of_ending);
}

void pw_session_free(struct session *session)
{
        free_rows(session);
        leave_ending(session);
        pw_scan_session_end(session);
        pw_table_done(&session->held);
        pw_range_free(session->rings);
        free(session->watched);
        free(session->client);
        free(session);
}

void pw_session_forget(struct pw_store *store, struct session *session)
{
        pw_table_remove(&store->sessions, session->number);
        pw_session_free(session);
}

/* --- parts -------------------------------------------------------------------------------------------------------------------- */

bool pw_ending_more(const struct pw_store *store)
{
        return !pw_list_empty(&store->ending_sessions) || !pw_list_empty(&store->ending_extents);
}

/* Each removal may move another claim to where it was. */
static void release_held(struct pw_store *store, struct session *session, uint32_t *budget)
{
        while (*budget && session->held.count) {
                struct pw_ref *ref = pw_table_next(&session->held, &session->held_at);

                if (ref) {
                        session->held_at--;
                        pw_ref_remove(store, ref);
                        --*budget;
                } else {
                        session->held_at = 0; /* the table shrank */
                }
        }
}

/* From now on it serves no lane. */
static void begin_extent(struct extent *extent)
{
        extent->leaving = true;
        pw_list_remove(&extent->of_row);
        pw_list_remove(&extent->of_touched);
        pw_ending_extent_leave(extent);
        extent->row = NULL;
        extent->ended_slots = 0;
}

void pw_ending_extent(struct pw_store *store, struct extent *extent)
{
        begin_extent(extent);
        extent->segment->tenant->on_way++;
        pw_list_append(&store->ending_extents, &extent->of_ending);
}

/* Nothing of it is left. */
static void settle(struct pw_store *store, struct session *session)
{
        leave_ending(session);
        free_rows(session);
        if (session->segment)
                pw_segment_settle(store, session->segment);
        else
                pw_session_forget(store, session);
}

/* What was granted to it, one extent after the other. */
static void end_extents(struct pw_store *store, struct session *session, uint32_t *budget)
{
        while (*budget && !pw_list_empty(&session->extents)) {
                struct extent *extent = pw_list_first(&session->extents, struct extent, of_session);

                if (session->ending_extent != extent->number)
                        begin_extent(extent);
                session->ending_extent = extent->number;
                if (!pw_extent_end(store, extent, budget))
                        return;
                *budget -= *budget > 0;
        }
}

/* Of lanes that ended; whose session has ended since is looked at with that. */
static void end_lanes_extents(struct pw_store *store, uint32_t *budget)
{
        struct extent *extent;

        pw_list_each(&store->ending_extents, extent, struct extent, of_ending) {
                if (!*budget)
                        return;
                if (extent->session && extent->session->ended) {
                        pw_ending_extent_leave(extent);
                        --*budget;
                } else if (!pw_extent_end(store, extent, budget)) {
                        return;
                }
        }
}

bool pw_ending_step(struct pw_store *store)
{
        uint32_t budget = PART;
        struct session *session;

        if (!pw_ending_more(store))
                return false;
        end_lanes_extents(store, &budget);
        pw_list_each(&store->ending_sessions, session, struct session, of_ending) {
                end_extents(store, session, &budget);
                release_held(store, session, &budget);
                if (!session->held.count && pw_list_empty(&session->extents))
                        settle(store, session);
        }
        pw_room_came(store);
        return pw_ending_more(store);
}

/* --- sessions ----------------------------------------------------------------------------------------------------------------- */

static void end_segment(struct pw_store *store, struct segment *segment, bool dead)
{
        if (!dead) { /* still writable by its process: nothing to be had from it */
                store->idle_bytes -= segment->idle.bytes;
                segment->tenant->host_bytes += segment->idle.bytes;
        }
        segment->ended = true;
        segment->dead = dead;
        pw_segment_settle(store, segment);
}

void pw_store_session_misbehaved(struct pw_store *store, uint32_t number)
{
        struct session *session = pw_session_of(store, number);

        if (session)
                session->broke = true;
}

void pw_store_session_end(struct pw_store *store, uint32_t number, bool dead, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);

        if (!session)
                return;
        store->now_us = now_us;
        store->last_session = NULL;
        session->ended = true;
        pw_watch_session_end(session);
        pw_list_append(&store->ending_sessions, &session->of_ending);
        session->tenant->on_way++;
        pw_room_session_end(store, session);
        pw_wanted_session_end(store, session);
        pw_scan_session_end(session);
        session->control = NULL;
        if (session->segment)
                end_segment(store, session->segment, dead);
        pw_ending_step(store);
        pw_room_came(store);
}

void pw_store_session_dead(struct pw_store *store, uint32_t number, uint64_t now_us)
{
        struct session *session = pw_table_get(&store->sessions, number);
        struct segment *segment = session && session->ended ? session->segment : NULL;

        if (!segment || segment->dead)
                return;
        store->now_us = now_us;
        store->idle_bytes += segment->idle.bytes;
        segment->tenant->host_bytes -= segment->idle.bytes;
        segment->dead = true;
        pw_segment_settle(store, segment);
        pw_room_came(store);
}

/* --- lanes -------------------------------------------------------------------------------------------------------------------- */

/* What is populated for it yet goes as it would be granted. */
static void end_extents_in(struct pw_store *store, struct pw_list *extents)
{
        struct extent *extent;

        pw_list_each(extents, extent, struct extent, of_row)
                if (!extent->populating)
                        pw_ending_extent(store, extent);
}

void pw_store_lane_end(struct pw_store *store, uint32_t number, uint32_t lane, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);

        store->now_us = now_us;
        if (!session)
                return;
        for (uint32_t kind = 0; kind <= PW_KIND_FUTURES; kind++) {
                struct row *row = pw_row_known(session, lane, kind);

                if (!row)
                        continue;
                end_extents_in(store, &row->extents);
                end_extents_in(store, &row->dormant);
        }
        pw_ending_step(store);
        pw_room_came(store);
}

void pw_store_extent_end(struct pw_store *store, const struct pw_store_grant *grant, uint64_t now_us)
{
        struct extent *extent = pw_handles_get(&store->extents, grant->extent);

        store->now_us = now_us;
        if (!extent || !pw_extent_serves(extent) || extent->grant != grant->serial)
                return;
        pw_ending_extent(store, extent);
        pw_ending_step(store);
        pw_room_came(store);
}
