/* Listing of owners: objects summed by the label {tenant, client, program} that they are charged to, beside the tenant's quota. */
#include "base/memory.h"
#include "base/size.h"
#include "daemon/inspect/list.h"
#include "daemon/memory/overhead.h"
#include "daemon/session/kept.h"
#include "store/object.h"

#include <stdio.h>

struct owner {
        const char *tenant;
        char *label;
        uint32_t program;
        uint64_t host_bytes, device_bytes, objects, since_us;
};

struct pw_owners {
        struct pw_lister *lister;
        struct pw_table by_label;
        struct owner *last; /* and whose it was */
        const char *last_tenant;
        struct pw_charge last_charge;
        uint32_t last_program;
        bool failed;
};

static uint64_t label_key(const struct pw_daemon *daemon, const char *tenant, const char *label, uint32_t program)
{
        return pw_hash_pair(&daemon->hash_secret, tenant, label) + program * UINT64_C(0xd1342543de82ef95);
}

/* What a run alone holds is its client's: a row per run would be no label, and too many. */
static void label_of(struct pw_daemon *daemon, const struct pw_charge *charge, char *label, size_t bytes)
{
        const struct pw_run *run = charge->kind == PW_OWNER_RUN ? pw_scheduler_run(daemon->scheduler, charge->number) : NULL;

        if (run && run->client)
                snprintf(label, bytes, "%s", run->client);
        else
                pw_store_charge_text(daemon->store, charge, label, bytes);
}

static struct owner *owner_of(struct pw_owners *owners, const struct pw_object_row *row, uint32_t program)
{
        char label[300];
        uint64_t key;
        struct owner *owner;

        if (owners->last && owners->last_tenant == row->tenant && owners->last_charge.kind == row->charge.kind &&
            owners->last_charge.number == row->charge.number && owners->last_program == program)
                return owners->last;
        label_of(owners->lister->daemon, &row->charge, label, sizeof label);
        key = label_key(owners->lister->daemon, row->tenant, label, program);
        while ((owner = pw_table_get(&owners->by_label, key)) &&
               (strcmp(owner->tenant, row->tenant) || strcmp(owner->label, label) || owner->program != program))
                key++; /* another label with this key: people choose labels */
        if (!owner && pw_lister_may_keep(owners->lister, sizeof label) && (owner = calloc(1, sizeof *owner))) {
                *owner =
                        (struct owner){ .tenant = row->tenant, .label = strdup(label), .program = program, .since_us = UINT64_MAX };
                if (!owner->label || !pw_table_put(&owners->by_label, key, owner)) {
                        free(owner->label);
                        free(owner);
                        return NULL;
                }
                pw_lister_keep(owners->lister,
                               pw_kept_heap_bytes(owner) + pw_kept_heap_bytes(owner->label) + 4 * sizeof(struct pw_table_cell));
        }
        owners->last = owner;
        owners->last_tenant = row->tenant;
        owners->last_charge = row->charge;
        owners->last_program = program;
        return owner;
}

static uint64_t device_bytes(const struct pw_object *object)
{
        const struct pw_result *result = object ? pw_object_result(object) : NULL;
        uint64_t bytes = 0;

        /* The rooms of a failed one are let go. */
        if (result && result->status != PW_OK && result->status != PW_NOT_READY)
                return 0;
        for (uint32_t i = 0; result && !result->donated && i < result->room_count; i++)
                bytes += result->rooms[i].bytes;
        return bytes;
}

static struct pw_owners *owners_of(struct pw_lister *lister)
{
        if (!lister->owners && (lister->owners = calloc(1, sizeof *lister->owners)))
                lister->owners->lister = lister;
        return lister->owners;
}

bool pw_list_owners_object(void *context, const struct pw_object_row *row)
{
        struct pw_lister *lister = context;
        struct pw_owners *owners = owners_of(lister);
        struct owner *owner;

        if (!owners)
                return false;
        if (!pw_list_visible(lister, row->tenant))
                return true;
        owner = owner_of(owners, row, row->object ? row->object->program : 0);
        owners->failed |= !owner;
        if (!owner)
                return false;
        owner->objects++;
        owner->host_bytes += row->room_bytes;
        owner->device_bytes += device_bytes(row->object);
        owner->since_us = pw_min_u64(owner->since_us, row->charge.since_us);
        return true;
}

/* By tenant, then the largest first. */
static int by_size(const void *a, const void *b)
{
        const struct owner *left = *(struct owner *const *)a, *right = *(struct owner *const *)b;
        uint64_t left_bytes = left->host_bytes + left->device_bytes, right_bytes = right->host_bytes + right->device_bytes;
        int tenants = strcmp(left->tenant, right->tenant);

        if (tenants)
                return tenants;
        if (left_bytes != right_bytes)
                return left_bytes < right_bytes ? 1 : -1;
        return left->objects != right->objects ? (left->objects < right->objects ? 1 : -1) : strcmp(left->label, right->label);
}

/* What the tenant has, all its owners together, and what it may have. */
static void quota_cells(struct pw_lister *lister, const struct pw_tenant *tenant)
{
        const struct pw_use use = pw_store_use(lister->daemon->store, tenant->name);
        const struct { const char *name, *used_key, *quota_key; uint64_t used, quota; bool bytes;
        } items[] = {
                { "host", "tenant_host_bytes", "quota_host_bytes", use.host_bytes, tenant->quota.host_bytes, true },
                { "device", "tenant_device_bytes", "quota_device_bytes",
                  pw_scheduler_quota_used(lister->daemon->scheduler, tenant->name), tenant->quota.device_bytes, true },
                { "objects", "tenant_slots", "quota_objects", use.objects, tenant->quota.objects, false },
                { "sessions", "tenant_sessions", "quota_sessions", tenant->sessions, tenant->quota.sessions, false },
        };
        char text[200] = "", used[16], quota[16];
        size_t at = 0;

        for (uint32_t i = 0; i < pw_array_count(items); i++) {
                pw_rows_number(lister->rows, items[i].used_key, items[i].used);
                if (items[i].quota == PW_QUOTA_NONE)
                        continue;
                pw_rows_number(lister->rows, items[i].quota_key, items[i].quota);
                if (items[i].bytes)
                        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s of %s", at ? ", " : "", items[i].name,
                                               pw_size_format(items[i].used, used), pw_size_format(items[i].quota, quota));
                else
                        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %llu of %llu", at ? ", " : "", items[i].name,
                                               (unsigned long long)items[i].used, (unsigned long long)items[i].quota);
        }
        if (at)
                pw_rows_text(lister->rows, "quota", "%s", text);
        pw_rows_number(lister->rows, "kept_bytes", use.kept_bytes);
        if (use.kept_bytes)
                pw_rows_text(lister->rows, "kept", "%s", pw_kept_text(&use, text, sizeof text));
}

static bool owner_row(struct pw_lister *lister, const struct owner *owner)
{
        struct pw_rows *rows = lister->rows;
        struct pw_program_row *program = owner->program ? pw_scheduler_program(lister->daemon->scheduler, owner->program) : NULL;

        if (!pw_rows_begin(rows))
                return false;
        pw_rows_text(rows, "tenant", "%s", owner->tenant);
        pw_rows_text(rows, "client", "%s", owner->label);
        pw_rows_text(rows, "program", "%s", program ? program->name : "-");
        pw_rows_number(rows, "host_bytes", owner->host_bytes);
        pw_rows_number(rows, "device_bytes", owner->device_bytes);
        pw_rows_number(rows, "objects", owner->objects);
        if (owner->objects)
                pw_rows_number(rows, "since_us", lister->now_us - pw_min_u64(lister->now_us, owner->since_us));
        return true;
}

/* The owners of one tenant, its quota beside the first; a row without objects if it has none. */
static void tenant_rows(struct pw_lister *lister, const struct pw_tenant *tenant, struct owner *const *owners, uint32_t count)
{
        const struct owner nobody = { .tenant = tenant->name, .label = (char *)(uintptr_t)"-" };
        const struct pw_use use = pw_store_use(lister->daemon->store, tenant->name);
        uint32_t shown = 0;

        for (uint32_t i = 0; i < count; i++) {
                if (strcmp(owners[i]->tenant, tenant->name))
                        continue;
                if (!owner_row(lister, owners[i]))
                        return;
                if (!shown++)
                        quota_cells(lister, tenant);
        }
        if (!shown && (tenant->sessions || use.kept_bytes > use.lasting_bytes) && owner_row(lister, &nobody))
                quota_cells(lister, tenant);
}

void pw_owners_free(struct pw_owners *owners)
{
        struct owner *owner;

        if (!owners)
                return;
        for (uint32_t i = 0; (owner = pw_table_next(&owners->by_label, &i));) {
                free(owner->label);
                free(owner);
        }
        pw_table_done(&owners->by_label);
        free(owners);
}

enum pw_status pw_list_owners(struct pw_lister *lister)
{
        struct pw_owners *owners = owners_of(lister);
        struct owner *owner, **sorted = owners ? calloc((size_t)owners->by_label.count + 1, sizeof *sorted) : NULL;
        struct pw_tenant *tenant;
        uint32_t count = 0;

        pw_overhead_refresh(lister->daemon);
        for (uint32_t i = 0; sorted && (owner = pw_table_next(&owners->by_label, &i));)
                sorted[count++] = owner;
        if (sorted)
                qsort(sorted, count, sizeof *sorted, by_size);
        lister->rows->failed |= !sorted || owners->failed;
        for (uint32_t i = 0; sorted && (tenant = pw_table_next(&lister->daemon->registry.tenants, &i));)
                if (pw_list_visible(lister, tenant->name))
                        tenant_rows(lister, tenant, sorted, count);
        free(sorted);
        return PW_OK;
}
