/* Names that are looked up and not bound here: each is waited for until it is bound, or its end comes. Where other hosts have names
 * too, metadata is asked whether one of them bound it, once for all who look it up meanwhile. */
#include "store/name/name_private.h"

#define WAITS_OF_SESSION 1024u /* a thread each */
#define WAITS_OF_TENANT 32768u
#define WANTED_BYTES 160        /* of a name, besides its letters */
#define LATE_PART 128u         /* that end at once: others in the next part */

/* Who looks up one name of one tenant. In store->wanted, by the hash of both; chained, where that is one. */
struct wanted {
        struct wanted *same_key;
        uint64_t key;
        struct tenant *tenant;
        struct pw_list askers;
        struct pw_list link;   /* in wanted_asks while it is to be asked; else alone */
        uint64_t serial, token; /* token: of the question that is to be asked or open, serial 48 | its number 16; 0: none is */
        uint32_t questions;    /* counts up */
        bool again;            /* it may have been bound since the open question was asked */
        char name[];
};

static bool is_to_be_asked(const struct wanted *wanted) { return !pw_list_empty(&wanted->link); }

/* About the name as it is from now on: a question that is open already may find it as it was. */
static void ask(struct pw_store *store, struct wanted *wanted)
{
        if (!store->params.names_elsewhere || wanted->token)
                return;
        wanted->questions++;
        wanted->token = wanted->serial << 16 | (uint16_t)wanted->questions;
        pw_list_append(&store->wanted_asks, &wanted->link);
}

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
        wanted->serial = ++store->name_serial;
        wanted->token = 0;
        wanted->questions = 0;
        wanted->again = false;
        pw_list_init(&wanted->askers);
        pw_list_init(&wanted->link);
        strcpy(wanted->name, name);
        if (!pw_table_put(&store->wanted_serials, wanted->serial, wanted)) {
                free(wanted);
                return NULL;
        }
        if (!pw_table_put(&store->wanted, wanted->key, wanted)) {
                pw_table_remove(&store->wanted_serials, wanted->serial);
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
        pw_table_remove(&store->wanted_serials, wanted->serial);
        pw_list_remove(&wanted->link);
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

static enum pw_status look_up(struct pw_store *store, const struct pw_name_request *request, bool once, uint64_t until_us,
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
        ask(store, wanted);
        asker->wanted = wanted;
        asker->once = once;
        asker->question = wanted->questions + !is_to_be_asked(wanted);
        pw_list_append(&wanted->askers, &asker->link);
        pw_list_append(&session->waits, &asker->of_session);
        session->wait_count++;
        session->tenant->wait_count++;
        return PW_OK;
}

enum pw_status pw_store_name_wait(struct pw_store *store, const struct pw_name_request *request, uint64_t until_us,
                                  struct pw_error *ret_err)
{
        return look_up(store, request, false, until_us, ret_err);
}

enum pw_status pw_store_name_look(struct pw_store *store, const struct pw_name_request *request, struct pw_error *ret_err)
{
        if (!store->params.names_elsewhere)
                return pw_error_set(ret_err, PW_NOT_FOUND, "name %s: not bound", request->name);
        return look_up(store, request, true, UINT64_MAX, ret_err);
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
                if (asker->to_remove) { /* it was not bound when that was asked, and nobody there wants the object */
                        pw_name_tell(store, asker, PW_TELL_NOT_FOUND, (struct pw_id){ 0 });
                        continue;
                }
                asker->status = pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_SESSION, asker->session }, NULL);
                asker->cell = pw_object_cell(object);
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

/* --- metadata ----------------------------------------------------------------------------------------------------------------- */

bool pw_wanted_next(struct pw_store *store, struct pw_name_ask *ret_ask)
{
        const struct wanted *wanted;

        if (pw_list_empty(&store->wanted_asks))
                return false;
        wanted = pw_list_first(&store->wanted_asks, struct wanted, link);
        *ret_ask = (struct pw_name_ask){ .token = wanted->token, .kind = PW_NAME_RESOLVE, .tenant = wanted->tenant->name,
                                         .name = wanted->name };
        return true;
}

/* NULL: nobody waits for that question. */
static struct wanted *wanted_of(const struct pw_store *store, uint64_t token)
{
        struct wanted *wanted = pw_table_get(&store->wanted_serials, token >> 16);

        return wanted && wanted->token == token ? wanted : NULL;
}

void pw_wanted_asked(struct pw_store *store, uint64_t token)
{
        struct wanted *wanted = wanted_of(store, token);

        if (wanted)
                pw_list_remove(&wanted->link);
}

/* Nobody on this host holds that object: it is another's. */
static bool is_elsewhere(const struct pw_store *store, const struct pw_name_answer *answer)
{
        return answer->outcome == PW_NAMED_OK && !pw_name_is_kept_here(store, answer);
}

/* What this answer is to those who looked the name up before its question was asked: found elsewhere, or those who do not wait for
 * somebody to bind it are told that it is not bound, or not known to be. A binding of this host is found when it is told so. */
void pw_wanted_answered(struct pw_store *store, const struct pw_name_answer *answer)
{
        struct wanted *wanted = wanted_of(store, answer->token);
        bool elsewhere = is_elsewhere(store, answer), more = wanted && wanted->again;
        enum pw_tell tell = elsewhere ? PW_TELL_ELSEWHERE : answer->outcome >= PW_NAMED_UNKNOWN ? PW_TELL_UNREACHED :
                                                                                                  PW_TELL_NOT_FOUND;
        struct pw_asker *asker;

        if (!wanted)
                return;
        pw_list_remove(&wanted->link);
        wanted->token = 0;
        wanted->again = false;
        pw_list_each(&wanted->askers, asker, struct pw_asker, link) {
                if (asker->question > wanted->questions) {
                        more = true;
                } else if (elsewhere || asker->once) {
                        leave(store, asker);
                        asker->wanted = NULL;
                        asker->keeper = answer->keeper.host;
                        pw_name_tell(store, asker, tell, answer->id);
                }
        }
        if (more)
                ask(store, wanted);
        forget_wanted(store, wanted);
}

bool pw_store_names_wanted(const struct pw_store *store) { return store->wanted.count != 0; }

uint64_t pw_store_names_bound_count(const struct pw_store *store) { return store->name_bound_count; }

void pw_store_names_bound(struct pw_store *store)
{
        struct wanted *first, *wanted;

        for (uint32_t i = 0; (first = pw_table_next(&store->wanted, &i));)
                for (wanted = first; wanted; wanted = wanted->same_key) {
                        wanted->again = wanted->token && !is_to_be_asked(wanted);
                        ask(store, wanted);
                }
}

/* --- for listings ------------------------------------------------------------------------------------------------------------- */

static void each_of(const struct pw_asker *asker, void (*row)(void *, const struct pw_name_wait_row *), void *context)
{
        row(context, &(struct pw_name_wait_row){ asker->session, asker->once, asker->name, asker->since_us, asker->end.key });
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
