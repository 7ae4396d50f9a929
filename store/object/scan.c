/* Whose rings are read in the next scan, when words were swapped to CLOSING or flagged DONATED.
 *
 * Who may refer to an object by a record that is not read yet is its grantee, or a session that asked for the segment's descriptor:
 * a client asks for it before it names an object there (for the futures segment too, which it maps from the start), and its
 * records come after the answer. So a scan costs what those are, however many others there are. */
#include "store/parts.h"

/* Each session comes into a scan once; those that have ended since are still in it. */
bool pw_scan_reserve(struct pw_store *store)
{
        for (uint32_t i = 0; i < 2; i++) {
                struct scans *scans = &store->scans[i];

                if (!pw_grow((void **)&scans->sessions, &scans->capacity, scans->count + store->sessions.count + 1,
                             sizeof *scans->sessions))
                        return false;
        }
        return true;
}

static void scan_session(struct pw_store *store, struct session *session)
{
        struct scans *scans = &store->scans[store->scan_serial & 1];

        if (session->scan_serial == store->scan_serial || session->ended)
                return;
        session->scan_serial = store->scan_serial;
        scans->sessions[scans->count++] = session->number;
}

void pw_scan_for(struct pw_store *store, struct segment *segment, const struct pw_object *object)
{
        struct session *session = object->grantee ? pw_session_of(store, object->grantee) : NULL;

        if (session)
                scan_session(store, session);
        if (segment->scan_serial == store->scan_serial)
                return;
        segment->scan_serial = store->scan_serial;
        for (uint32_t i = 0; (session = pw_table_next(&segment->readers, &i));)
                scan_session(store, session);
}

const uint32_t *pw_store_scan(struct pw_store *store, uint32_t *ret_count)
{
        struct scans *scans = &store->scans[store->scan_serial & 1];

        *ret_count = scans->count;
        store->scan_serial++;
        store->scans[store->scan_serial & 1].count = 0;
        return scans->sessions;
}

enum pw_status pw_store_reader_add(struct pw_store *store, uint32_t place, uint32_t number, struct pw_error *ret_err)
{
        struct segment *segment = pw_segment_of(store, place);
        struct session *session = pw_session_of(store, number);

        if (!segment || !session || !pw_session_sees(session, segment)) /* nothing that it can refer to */
                return PW_OK;
        if (!pw_table_put(&session->reads, place, segment))
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reader of segment %x", place);
        if (!pw_table_put(&segment->readers, number, session)) {
                pw_table_remove(&session->reads, place);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reader of segment %x", place);
        }
        if (segment->scan_serial == store->scan_serial) /* a scan is due, and not taken yet */
                scan_session(store, session);
        return PW_OK;
}

void pw_scan_session_end(struct session *session)
{
        struct segment *segment;

        for (uint32_t i = 0; (segment = pw_table_next(&session->reads, &i));)
                pw_table_remove(&segment->readers, session->number);
        pw_table_done(&session->reads);
}

void pw_scan_segment_end(struct segment *segment)
{
        struct session *session;

        for (uint32_t i = 0; (session = pw_table_next(&segment->readers, &i));)
                pw_table_remove(&session->reads, segment->number);
        pw_table_done(&segment->readers);
}
