/* Who asked about a name, until it is told; and what is a name. */
#include "store/name/name_private.h"

#include <ctype.h>
#include <stdio.h>

#define ASKER_BYTES 144 /* its record, its places in lists and the heap of ends */

enum pw_status pw_store_name_check(const char *name, struct pw_error *ret_err)
{
        size_t length = strlen(name);

        if (length < 1 || length > PW_NAME_MAX_BYTES)
                return pw_error_set(ret_err, PW_INVALID, "name: %zu bytes, it has 1 to %d", length, PW_NAME_MAX_BYTES);
        for (const char *c = name; *c; c++)
                if (!isgraph((unsigned char)*c))
                        return pw_error_set(ret_err, PW_INVALID, "name: byte %zu, 0x%02x, is not a printable ASCII character",
                                            (size_t)(c - name), (unsigned char)*c);
        return PW_OK;
}

static int64_t asker_bytes(const struct pw_asker *asker) { return ASKER_BYTES + (int64_t)strlen(asker->name); }

struct pw_asker *pw_name_asker_new(struct pw_store *store, const struct pw_name_request *request, struct pw_error *ret_err)
{
        struct tenant *tenant = pw_tenant_of(store, request->tenant);
        size_t bytes = strlen(request->name) + 1;
        struct pw_asker *asker = tenant ? calloc(1, sizeof *asker + bytes) : NULL;

        if (!asker) {
                pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for name %s", request->name);
                return NULL;
        }
        pw_list_init(&asker->link);
        pw_list_init(&asker->of_session);
        asker->tenant = tenant;
        asker->session = request->session;
        asker->request = request->request;
        asker->to_remove = request->to_remove;
        asker->since_us = request->now_us;
        memcpy(asker->name, request->name, bytes);
        pw_keep_count(store, tenant, PW_KEPT_REQUESTS, asker_bytes(asker));
        return asker;
}

void pw_name_asker_free(struct pw_store *store, struct pw_asker *asker)
{
        pw_list_remove(&asker->link);
        pw_keep_count(store, asker->tenant, PW_KEPT_REQUESTS, -asker_bytes(asker));
        pw_room_came(store);
        free(asker);
}

void pw_name_asker_add(struct pw_naming *naming, struct pw_asker *asker)
{
        pw_list_append(&naming->askers, &asker->link);
        naming->asker_count++;
}

void pw_name_tell(struct pw_store *store, struct pw_asker *asker, enum pw_tell tell, struct pw_id object)
{
        asker->tell = (uint8_t)tell;
        asker->object = object;
        pw_list_remove(&asker->link);
        pw_list_append(&store->name_told, &asker->link);
}

void pw_name_tell_all(struct pw_store *store, struct pw_naming *naming, enum pw_tell tell, struct pw_id found)
{
        struct pw_asker *asker;

        pw_list_each(&naming->askers, asker, struct pw_asker, link)
                pw_name_tell(store, asker, tell, found);
        naming->asker_count = 0;
}

void pw_name_askers_done(struct pw_store *store)
{
        struct pw_asker *asker;

        pw_list_each(&store->name_told, asker, struct pw_asker, link)
                pw_name_asker_free(store, asker);
}

/* --- in words ----------------------------------------------------------------------------------------------------------------- */

static const struct { enum pw_status status; const char *text; } words[] = {
        [PW_TELL_DONE] = { PW_OK, "" },
        [PW_TELL_FOUND] = { PW_OK, "" },
        [PW_TELL_ELSEWHERE] = { PW_OK, "" },
        [PW_TELL_NOT_FOUND] = { PW_NOT_FOUND, "not bound" },
        [PW_TELL_UNREACHED] = { PW_NOT_READY, "not bound on this host; metadata is away, and whether another host has bound it is "
                                              "not known: try again when it is back" },
        [PW_TELL_TAKEN] = { PW_EXISTS, "another host bound it" },
        [PW_TELL_REMOVED] = { PW_CANCELLED, "it was removed before it was bound" },
        [PW_TELL_LOST] = { PW_NOT_READY, "metadata was away meanwhile, and it is not bound: try again" },
        [PW_TELL_AWAY] = { PW_NOT_READY, "metadata is away, and it is not bound: try again when it is back" },
        [PW_TELL_UNSURE] = { PW_NOT_READY, "metadata went away, and whether it is bound is known when it is back: ask again then" },
        [PW_TELL_ENDS] = { PW_NOT_READY, "it is removed on this host; metadata is away, and is told when it is back" },
        [PW_TELL_LATE] = { PW_DEADLINE, "nobody bound it before the deadline" },
};

static void say(const struct pw_asker *asker, struct pw_name_told *ret_told)
{
        char id[PW_ID_TEXT_BYTES];

        if (asker->tell == PW_TELL_NOT_GIVEN) {
                ret_told->status = asker->status;
                snprintf(ret_told->text, sizeof ret_told->text,
                         "the name was bound to %s, and the session could not be given a reference to it: %s",
                         pw_id_format(asker->object, id),
                         asker->status == PW_NO_MEMORY ? "pathwaysd is out of memory" : pw_status_text(asker->status));
                return;
        }
        ret_told->status = words[asker->tell].status;
        if (asker->tell == PW_TELL_TAKEN)
                snprintf(ret_told->text, sizeof ret_told->text, "name %s: %s to %s", asker->name, words[asker->tell].text,
                         pw_id_format(asker->object, id));
        else if (ret_told->status != PW_OK)
                snprintf(ret_told->text, sizeof ret_told->text, "name %s: %s", asker->name, words[asker->tell].text);
}

bool pw_store_name_told(struct pw_store *store, struct pw_name_told *ret_told)
{
        struct pw_asker *asker;

        if (pw_list_empty(&store->name_told))
                return false;
        asker = pw_list_first(&store->name_told, struct pw_asker, link);
        ret_told->session = asker->session;
        ret_told->request = asker->request;
        ret_told->found = asker->tell == PW_TELL_FOUND;
        ret_told->elsewhere = asker->tell == PW_TELL_ELSEWHERE;
        ret_told->object = asker->object;
        ret_told->keeper = asker->tell == PW_TELL_ELSEWHERE ? asker->keeper : 0;
        ret_told->cell = asker->cell;
        ret_told->to_remove = asker->to_remove;
        strcpy(ret_told->name, asker->name);
        ret_told->until_us = asker->once ? 0 : asker->end.key;
        ret_told->text[0] = 0;
        say(asker, ret_told);
        pw_name_asker_free(store, asker);
        return true;
}

bool pw_store_names_tell(const struct pw_store *store)
{
        return !pw_list_empty(&store->name_told);
}
