/* Names that are waited for: each waits until it is bound, or its end comes. */
#include "store/name/name_private.h"

#define WAITS_OF_SESSION 1024u /* a thread each */
#define WAITS_OF_TENANT 32768u
#define WANTED_BYTES 96        /* of a name, besides its letters */
#define LATE_PART 128u         /* that end at once: others in the next part */

/* Who waits for one name of one tenant. In store->wanted, by the hash of both; chained, where that is one. */
struct wanted {
        struct wanted *same_key;
        uint64_t key;
        struct tenant *tenant;
        struct pw_list askers;
        char name[];
};

static struct wanted *find_wanted(const struct pw_store *store, const char *tenant, const char *name)
{
        struct wanted *wanted = pw_table_get(&store->wanted, pw_hash_pair(&store->params.secret, tenant, name));

        while (wanted && (strcmp(wanted->tenant->name, tenant) || strcmp(wanted->name, name)))
                wanted = wanted->same_key;
        return wanted;
}

static int64_t wanted_bytes(const struct wanted *wanted) { return WANTED_BYTES + (int64_t)strlen(wanted->name); }

/* NULL: out of memory. */
static struct wanted *make_wanted(struct pw_store *store, struct tenant *tenant, const char *name)
{
        struct wanted *wanted = malloc(sizeof *wanted + strlen(name) + 1);

        if (!wanted)
                return NULL;
        wanted->tenant = tenant;
        wanted->key = pw_hash_pair(&store->params.secret, tenant->name, name);
        wanted->same_key = pw_table_get(&store->wanted, wanted->key);
        pw_list_init(&wanted->askers);
        strcpy(wanted->name, name);
        if (!pw_table_put(&store->wanted, wanted->key, wanted)) {
                free(wanted);
                return NULL;
        }
        pw_keep_count(store, tenant, PW_KEPT_REQUESTS, wanted_bytes(wanted));
        return wanted;
}

/* Unless somebody still waits for it. */
static void forget_wanted(struct pw_store *store, struct wanted *wanted)
{
        struct wanted *first = pw_table_get(&store->wanted, wanted->key), **at = &first;

        if (!pw_list_empty(&wanted->askers))
                return;
        while (*at != wanted)
                at = &(*at)->same_key;
        *at = wanted->same_key;
        if (first)
                (void)!pw_table_put(&store->wanted, wanted->key, first); /* its cell is there */
        else
                pw_table_remove(&store->wanted, wanted->key);
        pw_keep_count(store, wanted->tenant, PW_KEPT_REQUESTS, -wanted_bytes(wanted));
        free(wanted);
}

/* It waits no more. */
static void leave(struct pw_store *store, struct pw_asker *asker)
{
        struct session *session = pw_table_get(&store->sessions, asker->session);

        pw_list_remove(&asker->link);
        pw_list_remove(&asker->of_session);
        pw_heap_remove(&store->waits, &asker->end);
        session->wait_count--;
        asker->tenant->wait_count--;
}

/* Errors: PW_LIMIT. */
static enum pw_status check_count(const struct session *session, struct pw_error *ret_err)
{
        const struct tenant *tenant = session->tenant;

        if (session->wait_count >= WAITS_OF_SESSION)
                return pw_error_set(ret_err, PW_LIMIT, "%u lookups of the session wait, as many as may", session->wait_count);
        if (tenant->wait_count >= WAITS_OF_TENANT)
                return pw_error_set(ret_err, PW_LIMIT, "%u lookups of tenant %s wait, as many as may", tenant->wait_count,
                                    tenant->name);
        return PW_OK;
}

enum pw_status pw_store_name_wait(struct pw_store *store, const struct pw_name_request *request, uint64_t until_us,
                                  struct pw_error *ret_err)
{
        struct session *session = pw_session_of(store, request->session);
        enum pw_status status = session ? check_count(session, ret_err) : PW_INVALID;
        struct pw_asker *asker = status == PW_OK ? pw_name_asker_new(store, request, ret_err) : NULL;
        struct wanted *wanted = asker ? find_wanted(store, session->tenant->name, request->name) : NULL;

        if (asker && !wanted)
                wanted = make_wanted(store, session->tenant, request->name);
        if (!wanted || !pw_heap_add(&store->waits, &asker->end, until_us)) {
                if (wanted)
                        forget_wanted(store, wanted);
                if (asker)
                        pw_name_asker_free(store, asker);
                return status != PW_OK ? status : pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lookup");
        }
        asker->wanted = wanted;
        pw_list_append(&wanted->askers, &asker->link);
        pw_list_append(&session->waits, &asker->of_session);
        session->wait_count++;
        session->tenant->wait_count++;
        return PW_OK;
}

/* Whoever waits for the name has a reference from now on, before it can go again, or is told why not: nobody binds the name
 * once more for it. */
void pw_wanted_found(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object)
{
        struct wanted *wanted = find_wanted(store, tenant, name);
        struct pw_asker *asker;

        if (!wanted)
                return;
        pw_list_each(&wanted->askers, asker, struct pw_asker, link) {
                leave(store, asker);
                asker->wanted = NULL;
                asker->status = pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_SESSION, asker->session }, NULL);
                pw_name_tell(store, asker, asker->status == PW_OK ? PW_TELL_FOUND : PW_TELL_NOT_GIVEN, pw_object_id(store, object));
        }
        forget_wanted(store, wanted);
}

void pw_wanted_session_end(struct pw_store *store, struct session *session)
{
        struct pw_asker *asker;

        pw_list_each(&session->waits, asker, struct pw_asker, of_session) {
                struct wanted *wanted = asker->wanted;

                leave(store, asker);
                pw_name_asker_free(store, asker);
                forget_wanted(store, wanted);
        }
}

void pw_wanted_tick(struct pw_store *store)
{
        for (uint32_t i = 0; i < LATE_PART && pw_heap_first_key(&store->waits) <= store->now_us; i++) {
                struct pw_asker *asker = pw_container_of(pw_heap_first(&store->waits), struct pw_asker, end);
                struct wanted *wanted = asker->wanted;

                leave(store, asker);
                asker->wanted = NULL;
                pw_name_tell(store, asker, PW_TELL_LATE, (struct pw_id){ 0 });
                forget_wanted(store, wanted);
        }
}

/* --- for listings ------------------------------------------------------------------------------------------------------------- */

static void each_of(const struct pw_asker *asker, void (*row)(void *, const struct pw_name_wait_row *), void *context)
{
        row(context, &(struct pw_name_wait_row){ asker->session, false, asker->name, asker->since_us, asker->end.key });
}

void pw_store_each_name_wait(struct pw_store *store, uint32_t session, void (*row)(void *, const struct pw_name_wait_row *),
                             void *context)
{
        const struct session *one = session ? pw_session_of(store, session) : NULL;
        struct pw_asker *asker;

        for (uint32_t i = 0; !session && i < store->waits.count; i++)
                each_of(pw_container_of(store->waits.items[i], struct pw_asker, end), row, context);
        if (one)
                pw_list_each(&one->waits, asker, struct pw_asker, of_session)
                        each_of(asker, row, context);
        pw_name_each_asker(store, session, row, context);
}

void pw_store_each_wait_for_name(struct pw_store *store, const char *tenant, const char *name,
                                 void (*row)(void *, const struct pw_name_wait_row *), void *context)
{
        const struct wanted *wanted = find_wanted(store, tenant, name);
        struct pw_asker *asker;

        if (wanted)
                pw_list_each(&wanted->askers, asker, struct pw_asker, link)
                        each_of(asker, row, context);
}
