/* Listings of the store: objects, memory, check. */
#include "base/layout.h"
#include "base/memory.h"
#include "base/size.h"
#include "daemon/client/tally.h"
#include "daemon/device/gpus.h"
#include "daemon/inspect/find.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/term.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/overhead.h"
#include "daemon/peer/peers.h"
#include "store/fetched.h"
#include "store/object.h"
#include "store/proxy.h"

#include <inttypes.h>
#include <stdio.h>

static const char *state_text(uint64_t word)
{
        static const char *const texts[] = { "free", "taken", "pending", "ready", "error", "lost", "closing" };

        return pw_word_state(word) < pw_array_count(texts) ? texts[pw_word_state(word)] : "?";
}

struct names { char text[128]; size_t used; };

static void add_name(void *context, const struct pw_ref_row *row)
{
        struct names *names = context;

        if (row->owner_kind == PW_OWNER_NAME && row->name && names->used < sizeof names->text)
                names->used += (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s%s",
                                                names->used ? "," : "", row->name);
}

static bool is_elsewhere(const struct pw_lister *lister, const struct pw_object_row *row)
{
        return row->object && row->object->proxied && pw_store_proxy_elsewhere(lister->daemon->store, row->object);
}

/* Of another host: where its bytes are, or, not decided, who has it. */
static void describe_place(struct pw_lister *lister, const struct pw_object_row *row)
{
        struct pw_borrowing_seen seen = { .lender = 0 };
        uint32_t lender = pw_borrowing_see(lister->daemon, row->tenant, row->id, &seen) ? seen.lender : 0;

        if (pw_word_state(row->word) == PW_ENTRY_READY && !is_elsewhere(lister, row))
                pw_rows_text(lister->rows, "where", "h%u, of h%u", lister->daemon->host, pw_id_host(row->id));
        else
                pw_rows_text(lister->rows, "where", "h%u, not here", lender ? lender : pw_id_host(row->id));
        pw_rows_text(lister->rows, "home", "h%u", pw_id_host(row->id));
        if (lender)
                pw_rows_text(lister->rows, "lender", "h%u", lender);
        if (seen.pulls && is_elsewhere(lister, row))
                pw_rows_number(lister->rows, "pulled_bytes", seen.pull.here_bytes);
}

static void describe_value(struct pw_lister *lister, const struct pw_object_row *row)
{
        const struct pw_shard_list *list = pw_find_shards(lister->daemon, row);
        struct pw_rows *rows = lister->rows;
        struct pw_described described;
        char dims[128], sharding[80];

        if (list) {
                pw_rows_text(rows, "dtype", "%s", pw_dtype_text(list->dtype));
                pw_rows_text(rows, "dims", "%s", pw_dims_format(&list->dims, dims, sizeof dims));
                pw_rows_number(rows, "shards", list->shard_count);
                if (row->object && row->object->proxied) {
                        describe_place(lister, row);
                        return;
                }
                if (list->shards[0].device.device == PW_SHARD_IN_HOST) {
                        pw_rows_text(rows, "where", "h%u, moved there", list->shards[0].device.host);
                        return;
                }
                pw_rows_text(rows, "where", "%s on h%u:%u%s",
                             pw_sharding_format(&list->sharding, list->mesh, sharding, sizeof sharding),
                             list->shards[0].device.host, list->shards[0].device.device,
                             list->shard_count > 1 ? " and others" : "");
                return;
        }
        if (pw_word_state(row->word) == PW_ENTRY_READY && pw_entry_describe(row->entry, NULL, UINT64_MAX, &described) == PW_OK) {
                pw_rows_text(rows, "dtype", "%s", pw_dtype_text(described.dtype));
                pw_rows_text(rows, "dims", "%s", pw_dims_format(&described.dims, dims, sizeof dims));
        }
        if (row->object && row->object->proxied)
                describe_place(lister, row);
        else
                pw_rows_text(rows, "where", "h%u", lister->daemon->host);
}

/* What else a holder has to know of it. */
static const char *mark_text(const struct pw_lister *lister, const struct pw_object_row *row)
{
        uint64_t word = row->word;
        uint32_t flags = pw_word_flags(word);
        bool ready = pw_word_state(word) == PW_ENTRY_READY;

        if (is_elsewhere(lister, row))
                return "elsewhere";
        if (row->object && pw_store_is_apart(lister->daemon->store, row->object))
                return "apart";
        if (ready && flags & PW_ENTRY_SHARDED && flags & PW_ENTRY_MOVING)
                return "moving";
        if (flags & PW_ENTRY_DONATED)
                return "donated";
        return flags & PW_ENTRY_FROZEN ? "frozen" : "";
}

void pw_list_value(struct pw_lister *lister, const struct pw_object_row *row)
{
        struct pw_rows *rows = lister->rows;
        struct names names = { .used = 0 };

        if (row->object)
                pw_object_each_ref(row->object, add_name, &names);
        pw_rows_text(rows, "state", "%s", state_text(row->word));
        pw_rows_number(rows, "bytes", pw_word_state(row->word) == PW_ENTRY_READY ? row->bytes : 0);
        pw_rows_text(rows, "names", "%s", names.text);
        pw_rows_text(rows, "mark", "%s", mark_text(lister, row));
        pw_rows_number(rows, "age_us", lister->now_us - pw_min_u64(lister->now_us, row->charge.since_us));
        describe_value(lister, row);
}

bool pw_list_objects_object(void *context, const struct pw_object_row *row)
{
        struct pw_lister *lister = context;
        struct pw_rows *rows = lister->rows;
        char id[PW_ID_TEXT_BYTES], owner[300];
        struct pw_program_row *program = row->object &&
                row->object->program ? pw_scheduler_program(lister->daemon->scheduler, row->object->program)
                                                                             : NULL;

        pw_id_format(row->id, id);
        if (!pw_list_visible(lister, row->tenant) || (lister->filter[0] && strcmp(lister->filter, id)))
                return true;
        if (!pw_rows_begin(rows))
                return false;
        pw_rows_text(rows, "id", "%s", id);
        pw_rows_number(rows, "refs", row->refs);
        pw_rows_text(rows, "tenant", "%s", row->tenant ? row->tenant : "-");
        pw_rows_text(rows, "owner", "%s", pw_store_charge_text(lister->daemon->store, &row->charge, owner, sizeof owner));
        pw_rows_text(rows, "program", "%s", program ? program->name : "-");
        pw_list_value(lister, row);
        return true;
}

static void term_row(void *context, const struct pw_term *term)
{
        struct pw_rows *rows = ((struct pw_lister *)context)->rows;

        if (!pw_rows_begin(rows))
                return;
        pw_rows_text(rows, "memory", "%s", term->memory);
        pw_rows_text(rows, "term", "%s", term->name);
        if (term->bytes < 0)
                pw_rows_text(rows, "bytes", "%" PRId64, term->bytes);
        else
                pw_rows_number(rows, "bytes", (uint64_t)term->bytes);
        pw_rows_text(rows, "about", "%s", term->about);
}

static void quota_term(struct pw_lister *lister, const struct pw_tenant *tenant, const char *name, uint64_t used, uint64_t quota)
{
        char memory[80], about[80], size[16];

        if (quota == PW_QUOTA_NONE)
                return;
        snprintf(memory, sizeof memory, "tenant %s", tenant->name);
        snprintf(about, sizeof about, "of %s, its quota", pw_size_format(quota, size));
        term_row(lister, &(struct pw_term){ memory, name, (int64_t)used, about });
}

/* Of tenants that have one. */
static void quota_terms(struct pw_lister *lister)
{
        struct pw_daemon *daemon = lister->daemon;
        struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->registry.tenants, &i));) {
                if (!pw_list_visible(lister, tenant->name))
                        continue;
                quota_term(lister, tenant, "host", pw_store_use(daemon->store, tenant->name).host_bytes, tenant->quota.host_bytes);
                quota_term(lister, tenant, "device", pw_scheduler_quota_used(daemon->scheduler, tenant->name),
                           tenant->quota.device_bytes);
        }
}

bool pw_list_memory_step(struct pw_lister *lister, uint32_t slots)
{
        return pw_store_census(lister->daemon->store, &lister->census, slots);
}

enum pw_status pw_list_memory(struct pw_lister *lister)
{
        pw_gpus_ask(lister->daemon->gpus, lister->now_us);
        quota_terms(lister);
        pw_terms_each(lister->daemon, term_row, lister);
        return PW_OK;
}

/* It may speak of any tenant's objects. */
static void problem(void *context, const char *where, const char *text)
{
        struct pw_lister *lister = context;
        struct pw_rows *rows = lister->rows;
        bool told = lister->operator_;

        if (!pw_rows_begin(rows))
                return;
        pw_rows_text(rows, "problem", "%s", told ? text : "one that an operator is told: `pathways check` as root");
        pw_rows_text(rows, "where", "%s", told ? where : "-");
}

bool pw_list_check_step(struct pw_lister *lister, uint32_t slots)
{
        lister->checked.found = problem;
        lister->checked.context = lister;
        return pw_store_check_step(lister->daemon->store, &lister->checked, slots);
}

void pw_list_check(struct pw_lister *lister)
{
        pw_overhead_refresh(lister->daemon);
        pw_scheduler_check(lister->daemon->scheduler, problem, lister);
        pw_tally_each(lister->daemon, problem, lister);
        pw_audit_each(lister->audit, problem, lister);
}
