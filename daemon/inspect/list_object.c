/* The listing of one object: what it is, where its shards are, its holders and waiters. */
#include "base/memory.h"
#include "daemon/inspect/find.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/waits.h"
#include "scheduler/coordinator/awaited.h"

#include <inttypes.h>

struct listed { struct pw_lister *lister; struct pw_object *object; struct pw_object_row row; };

static void begin_part(struct pw_rows *rows, const char *part)
{
        if (pw_rows_begin(rows))
                pw_rows_text(rows, "part", "%s", part);
}

/* --- shards --------------------------------------------------------------------------------------------------------------- */

static void list_shards(struct pw_lister *lister, const struct pw_shard_list *list)
{
        struct pw_rows *rows = lister->rows;

        for (uint32_t i = 0; i < list->shard_count; i++) {
                begin_part(rows, "shard");
                pw_rows_number(rows, "shard", i);
                if (list->shards[i].device.device == PW_SHARD_IN_HOST)
                        pw_rows_text(rows, "where", "h%u", list->shards[i].device.host);
                else
                        pw_rows_text(rows, "where", "h%u:%u%s", list->shards[i].device.host, list->shards[i].device.device,
                                     pw_bits_has(pw_shard_list_lost(list), i) ? ", lost" : "");
                pw_rows_number(rows, "bytes", list->shards[i].bytes);
                pw_rows_number(rows, "segment", list->shards[i].segment);
                pw_rows_number(rows, "offset", list->shards[i].offset);
        }
}

/* A value that is not sharded is one shard in host memory. */
static void list_host_shard(struct pw_lister *lister, const struct pw_object_row *row)
{
        struct pw_rows *rows = lister->rows;

        begin_part(rows, "shard");
        pw_rows_number(rows, "shard", 0);
        pw_rows_text(rows, "where", "h%u%s", lister->daemon->host, row->entry->is_inline ? ", in the entry" : "");
        pw_rows_number(rows, "bytes", row->bytes);
        pw_rows_number(rows, "segment", row->segment);
        pw_rows_number(rows, "offset", row->entry->is_inline ? 0 : row->entry->room_offset);
}

/* --- holders -------------------------------------------------------------------------------------------------------------- */

static void list_holder(void *context, const struct pw_ref_row *ref)
{
        static const char *const kinds[] = { "?", "session", "run", "name", "lease", "object" };
        struct pw_lister *lister = ((struct listed *)context)->lister;
        struct pw_rows *rows = lister->rows;
        const struct pw_dsession *session =
                ref->owner_kind == PW_OWNER_SESSION ? pw_session_get(&lister->daemon->registry, (uint32_t)ref->owner_number) : NULL;
        const struct pw_object *owner = ref->owner_kind == PW_OWNER_OBJECT ? pw_object_of_place(lister->daemon->store,
                                                                                                ref->owner_number) : NULL;
        char id[PW_ID_TEXT_BYTES];

        begin_part(rows, "holder");
        pw_rows_text(rows, "kind", "%s", ref->owner_kind < pw_array_count(kinds) ? kinds[ref->owner_kind] : "?");
        if (session)
                pw_rows_text(rows, "holder", "%s", session->client);
        else if (ref->owner_kind == PW_OWNER_NAME)
                pw_rows_text(rows, "holder", "%s", ref->name ? ref->name : "?");
        else if (ref->owner_kind == PW_OWNER_LEASE)
                pw_rows_text(rows, "holder", "-");
        else if (owner)
                pw_rows_text(rows, "holder", "%s", pw_id_format(pw_object_id(lister->daemon->store, owner), id));
        else
                pw_rows_text(rows, "holder", "%" PRIu64, ref->owner_number);
        pw_rows_number(rows, "refs", ref->count);
        if (ref->since_us)
                pw_rows_number(rows, "since_us", lister->now_us - ref->since_us);
        if (ref->until_us)
                pw_rows_number(rows, "left_us", ref->until_us > lister->now_us ? ref->until_us - lister->now_us : 0);
}

/* Its first reference has no record of its own. */
static void list_grantee(struct pw_lister *lister, const struct pw_object *object)
{
        const struct pw_dsession *session = pw_session_get(&lister->daemon->registry, object->grantee);
        struct pw_rows *rows = lister->rows;

        if (!session || !(object->first_ref || !object->known))
                return;
        begin_part(rows, "holder");
        pw_rows_text(rows, "kind", "session");
        pw_rows_text(rows, "holder", "%s", session->client);
        pw_rows_number(rows, "refs", 1);
}

/* --- waiters -------------------------------------------------------------------------------------------------------------- */

static void list_sleeper(void *context, const struct pw_wait_row *wait)
{
        struct listed *listed = context;
        struct pw_rows *rows = listed->lister->rows;

        if ((wait->kind != PW_WAIT_KIND_OBJECT && wait->kind != PW_WAIT_KIND_BYTES) ||
            wait->segment != listed->object->segment || wait->slot != listed->object->slot ||
            wait->session->tenant != listed->lister->session->tenant)
                return;
        begin_part(rows, "waiter");
        pw_rows_text(rows, "kind", wait->kind == PW_WAIT_KIND_BYTES ? "bytes" : "thread");
        pw_rows_text(rows, "waiter", "%s", wait->session->client);
        if (wait->thread)
                pw_rows_number(rows, "thread", wait->thread);
}

static void list_waiting_run(void *context, const struct pw_run *run, uint32_t input)
{
        struct pw_rows *rows = ((struct listed *)context)->lister->rows;

        begin_part(rows, "waiter");
        pw_rows_text(rows, "kind", "run");
        pw_rows_text(rows, "waiter", "%" PRIu64 " of %s", run->number, run->row ? run->row->name : "?");
        pw_rows_number(rows, "input", input);
}

static void match_run(void *context, const struct pw_run *run)
{
        struct listed *listed = context;
        struct pw_rows *rows = listed->lister->rows;
        const void *result = pw_object_result(listed->object);

        if (pw_scheduler_blocking_input(run) != result)
                return;
        begin_part(rows, "waiter");
        pw_rows_text(rows, "kind", "run");
        pw_rows_text(rows, "waiter", "%" PRIu64 " of %s", run->number, run->row->name);
}

/* --- the object ------------------------------------------------------------------------------------------------------------ */

/* The node that writes the result, by the program's image. */
static void describe_maker(struct pw_rows *rows, const struct pw_object *object, const struct pw_program_row *program)
{
        const struct pw_result *result = pw_object_result(object);
        const struct pw_image *image = program ? program->image : NULL;
        uint32_t node;

        if (pw_object_run(object))
                pw_rows_number(rows, "run", object->run);
        if (program)
                pw_rows_text(rows, "program", "%s", program->name);
        if (!image || !result || result->program != object->program || result->index >= image->result_count)
                return;
        node = (PW_IMAGE_AT(image, struct pw_image_result, image->results) + result->index)->writer;
        pw_rows_number(rows, "result", result->index);
        pw_rows_text(rows, "node", "%u %s", node, pw_image_text(image, pw_image_node(image, node)->name));
}

/* Its room in host memory. One that was moved there, or is a copy of another host's, lies in the room of what backs it. */
static uint64_t host_bytes(const struct pw_daemon *daemon, const struct pw_object_row *row, const struct pw_shard_list *list)
{
        if (row->object && row->object->backed)
                return pw_object_room(daemon->store, row->object->backing).bytes;
        return list ? 0 : row->room_bytes;
}

static void describe_charge(struct pw_lister *lister, const struct pw_object_row *row, const struct pw_shard_list *list)
{
        struct pw_rows *rows = lister->rows;
        uint64_t device_bytes = 0;
        char owner[300];

        for (uint32_t i = 0; list && i < list->shard_count; i++)
                device_bytes += list->shards[i].device.device == PW_SHARD_IN_HOST ? 0 : list->shards[i].bytes;
        pw_rows_text(rows, "tenant", "%s", row->tenant ? row->tenant : "-");
        pw_rows_text(rows, "charged", "%s", pw_store_charge_text(lister->daemon->store, &row->charge, owner, sizeof owner));
        pw_rows_number(rows, "host_bytes", host_bytes(lister->daemon, row, list));
        pw_rows_number(rows, "device_bytes", device_bytes);
}

static void describe_error(struct pw_lister *lister, const struct pw_object_row *row)
{
        char text[300];

        if (pw_word_status(row->word) == PW_OK && pw_word_state(row->word) != PW_ENTRY_ERROR &&
            pw_word_state(row->word) != PW_ENTRY_LOST)
                return;
        pw_rows_text(lister->rows, "status", "%s", pw_status_name(pw_word_error(row->word)));
        pw_rows_text(lister->rows, "error", "%s", pw_find_error_text(lister->daemon, row, text, sizeof text));
}

/* Of a proxy: where it stands on this host. */
static struct pw_id local_id(const struct pw_daemon *daemon, const struct pw_object *object)
{
        return pw_id_make(daemon->host, daemon->epoch, object->segment, object->slot, object->generation);
}

static void list_it(struct listed *listed, const struct pw_shard_list *list)
{
        struct pw_lister *lister = listed->lister;
        struct pw_rows *rows = lister->rows;
        const struct pw_dsession *producer = pw_session_get(&lister->daemon->registry, listed->object->grantee);
        char id[PW_ID_TEXT_BYTES];

        begin_part(rows, "object");
        pw_rows_text(rows, "id", "%s", pw_id_format(listed->row.id, id));
        if (listed->object->proxied)
                pw_rows_text(rows, "local", "%s", pw_id_format(local_id(lister->daemon, listed->object), id));
        pw_list_value(lister, &listed->row);
        pw_rows_number(rows, "refs", listed->row.refs);
        describe_charge(lister, &listed->row, list);
        pw_rows_text(rows, "producer", "%s", producer ? producer->client : "-");
        describe_maker(rows, listed->object,
                       listed->object->program ? pw_scheduler_program(lister->daemon->scheduler, listed->object->program) : NULL);
        describe_error(lister, &listed->row);
}

enum pw_status pw_list_object(struct pw_lister *lister)
{
        struct listed listed = { .lister = lister };
        enum pw_status status = pw_find_object(lister->session, lister->filter, &listed.object, lister->err);
        const struct pw_shard_list *list;

        if (status != PW_OK)
                return status;
        pw_object_row(lister->daemon->store, listed.object, &listed.row);
        list = pw_find_shards(lister->daemon, &listed.row);
        list_it(&listed, list);
        if (list)
                list_shards(lister, list);
        else if (pw_word_state(listed.row.word) == PW_ENTRY_READY)
                list_host_shard(lister, &listed.row);
        list_grantee(lister, listed.object);
        pw_object_each_ref(listed.object, list_holder, &listed);
        lister->rows->truncated |= !pw_waits_each(lister->daemon, NULL, list_sleeper, &listed);
        pw_scheduler_each_waiting(lister->daemon->scheduler, listed.object, list_waiting_run, &listed);
        if (pw_object_result(listed.object))
                pw_scheduler_each_live(lister->daemon->scheduler, match_run, &listed);
        return PW_OK;
}
