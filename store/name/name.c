/* Names: each is a claim of its object, and a state; what happens to it is a row of a table. What metadata is asked about it comes
 * out as questions, who asked for it is told when it is settled. */
#include "store/name/name_private.h"

#include "base/transition.h"

#define CLAIM_BYTES 112  /* its node, its place in the heap of leases */
#define NAMING_BYTES 192 /* of a name besides, its places in tables here and in metadata, without letters */
#define ASKERS_OF_NAME 64u

enum event { WANTED, ENDED, BACK, DONE, TAKEN, NOT_FOUND, UNKNOWN, AWAY, LOST, EVENTS, GONE = EVENTS }; /* GONE: its claim went */
static const char *const event_texts[] = { "wanted", "ended", "back", "done", "taken", "not_found", "unknown", "away", "lost",
                                           "gone" };
static const char *const state_texts[] = { "none", "held", "bound", "unknown", "ending" };
static const struct pw_transition_kind namings = { "name", 1, false, state_texts, event_texts };
_Static_assert(sizeof state_texts / sizeof *state_texts == PW_NAME_STATES, "each state has a word");
_Static_assert(sizeof event_texts / sizeof *event_texts == EVENTS + 1, "each event has a word");

/* What is asked next; LATER: when metadata is back. */
enum asks { NOTHING = 0, BIND = PW_NAME_BIND, UNBIND = PW_NAME_UNBIND, RESOLVE = PW_NAME_RESOLVE, LATER };

struct rule { uint8_t next, ask, tell; };

/* What is of no meaning in a state changes nothing: an answer to what it did not ask. */
static const struct rule rules[PW_NAME_STATES][EVENTS] = {
        [PW_NAME_NONE] = { [WANTED] = { PW_NAME_HELD, BIND, PW_TELL_NOBODY } },
        [PW_NAME_HELD] = {
                [WANTED] = { PW_NAME_HELD, NOTHING, PW_TELL_NOBODY },
                [ENDED] = { PW_NAME_ENDING, UNBIND, PW_TELL_REMOVED },
                [BACK] = { PW_NAME_HELD, NOTHING, PW_TELL_NOBODY },
                [DONE] = { PW_NAME_BOUND, NOTHING, PW_TELL_DONE },
                [TAKEN] = { PW_NAME_NONE, NOTHING, PW_TELL_TAKEN },
                [NOT_FOUND] = { PW_NAME_UNKNOWN, RESOLVE, PW_TELL_NOBODY },
                [UNKNOWN] = { PW_NAME_UNKNOWN, RESOLVE, PW_TELL_NOBODY },
                [AWAY] = { PW_NAME_NONE, NOTHING, PW_TELL_AWAY },
                [LOST] = { PW_NAME_HELD, NOTHING, PW_TELL_NOBODY },
        },
        [PW_NAME_BOUND] = {
                [WANTED] = { PW_NAME_BOUND, NOTHING, PW_TELL_DONE },
                [ENDED] = { PW_NAME_ENDING, UNBIND, PW_TELL_NOBODY },
                [BACK] = { PW_NAME_BOUND, NOTHING, PW_TELL_NOBODY },
                [DONE] = { PW_NAME_BOUND, NOTHING, PW_TELL_NOBODY },
                [TAKEN] = { PW_NAME_BOUND, NOTHING, PW_TELL_NOBODY },
                [NOT_FOUND] = { PW_NAME_BOUND, NOTHING, PW_TELL_NOBODY },
                [UNKNOWN] = { PW_NAME_BOUND, NOTHING, PW_TELL_NOBODY },
                [AWAY] = { PW_NAME_BOUND, NOTHING, PW_TELL_NOBODY },
                [LOST] = { PW_NAME_NONE, NOTHING, PW_TELL_NOBODY },
        },
        [PW_NAME_UNKNOWN] = {
                [WANTED] = { PW_NAME_UNKNOWN, NOTHING, PW_TELL_NOBODY },
                [ENDED] = { PW_NAME_ENDING, UNBIND, PW_TELL_REMOVED },
                [BACK] = { PW_NAME_UNKNOWN, RESOLVE, PW_TELL_NOBODY },
                [DONE] = { PW_NAME_BOUND, NOTHING, PW_TELL_DONE },
                [TAKEN] = { PW_NAME_NONE, NOTHING, PW_TELL_TAKEN },
                [NOT_FOUND] = { PW_NAME_NONE, NOTHING, PW_TELL_LOST },
                [UNKNOWN] = { PW_NAME_UNKNOWN, LATER, PW_TELL_UNSURE },
                [AWAY] = { PW_NAME_UNKNOWN, LATER, PW_TELL_UNSURE },
                [LOST] = { PW_NAME_UNKNOWN, NOTHING, PW_TELL_NOBODY },
        },
        [PW_NAME_ENDING] = {
                [WANTED] = { PW_NAME_UNKNOWN, BIND, PW_TELL_DONE }, /* who removed it is told; the old binding may be there yet */
                [ENDED] = { PW_NAME_ENDING, NOTHING, PW_TELL_NOBODY },
                [BACK] = { PW_NAME_ENDING, UNBIND, PW_TELL_NOBODY },
                [DONE] = { PW_NAME_NONE, NOTHING, PW_TELL_DONE },
                [TAKEN] = { PW_NAME_NONE, NOTHING, PW_TELL_DONE },
                [NOT_FOUND] = { PW_NAME_NONE, NOTHING, PW_TELL_DONE },
                [UNKNOWN] = { PW_NAME_ENDING, LATER, PW_TELL_ENDS },
                [AWAY] = { PW_NAME_ENDING, LATER, PW_TELL_ENDS },
                [LOST] = { PW_NAME_ENDING, NOTHING, PW_TELL_NOBODY },
        },
};

/* --- those that there are ----------------------------------------------------------------------------------------------------- */

static uint64_t name_key(const struct pw_store *store, const char *tenant, const char *name)
{
        return pw_hash_pair(&store->params.secret, tenant, name);
}

static const char *tenant_of(struct pw_store *store, const struct pw_naming *naming)
{
        return pw_object_tenant(store, naming->ref->object);
}

/* Those of one key are a chain; what they are is compared, the tenant too. */
static struct pw_naming *next_of(struct pw_store *store, struct pw_naming *naming, const char *tenant, const char *name)
{
        while (naming && (strcmp(naming->name, name) || strcmp(tenant_of(store, naming), tenant)))
                naming = naming->same_key;
        return naming;
}

/* That of a name which does not end: there is one at most. */
static struct pw_naming *find_live(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_naming *naming = next_of(store, pw_table_get(&store->names, name_key(store, tenant, name)), tenant, name);

        while (naming && naming->state == PW_NAME_ENDING)
                naming = next_of(store, naming->same_key, tenant, name);
        return naming;
}

/* That of a name and an object, in whatever state: there is one at most. */
static struct pw_naming *find_of(struct pw_store *store, const char *tenant, const char *name, const struct pw_object *object)
{
        struct pw_naming *naming = next_of(store, pw_table_get(&store->names, name_key(store, tenant, name)), tenant, name);

        while (naming && naming->ref->object != object)
                naming = next_of(store, naming->same_key, tenant, name);
        return naming;
}

struct pw_ref *pw_name_ref(struct pw_store *store, const char *tenant, const char *name)
{
        const struct pw_naming *naming = find_live(store, tenant, name);

        return naming && naming->state == PW_NAME_BOUND ? naming->ref : NULL;
}

struct pw_object *pw_store_name_find(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = pw_name_ref(store, tenant, name);

        return ref ? ref->object : NULL;
}

static bool chain(struct pw_store *store, struct pw_naming *naming, uint64_t key)
{
        naming->same_key = pw_table_get(&store->names, key);
        return pw_table_put(&store->names, key, naming);
}

static void unchain(struct pw_store *store, const struct pw_naming *naming)
{
        uint64_t key = name_key(store, tenant_of(store, naming), naming->name);
        struct pw_naming *first = pw_table_get(&store->names, key), **at = &first;

        while (*at && *at != naming)
                at = &(*at)->same_key;
        if (!*at)
                return; /* it never was there, for lack of memory */
        *at = naming->same_key;
        if (first)
                (void)!pw_table_put(&store->names, key, first); /* its cell is there */
        else
                pw_table_remove(&store->names, key);
}

static void set_state(struct pw_store *store, struct pw_naming *naming, enum pw_name_state state, enum event cause)
{
        bool was_live = naming->state != PW_NAME_NONE && naming->state != PW_NAME_ENDING;

        if ((state == PW_NAME_BOUND) != (naming->state == PW_NAME_BOUND))
                pw_name_publish(store, naming, state == PW_NAME_BOUND);
        if (store->observer && state != naming->state)
                store->observer->tell(store->observer->context,
                                   &(struct pw_transition){ .kind = &namings, .id = { naming->serial }, .from = naming->state,
                                                            .to = (uint8_t)state, .cause = (uint8_t)cause });
        naming->state = (uint8_t)state;
        store->name_count += (state != PW_NAME_NONE && state != PW_NAME_ENDING) - (uint64_t)was_live;
}

/* --- what is claimed ---------------------------------------------------------------------------------------------------------- */

enum pw_status pw_claims_check(struct pw_store *store, const struct pw_object *object, uint32_t more, struct pw_error *ret_err)
{
        const struct tenant *tenant = pw_segment_of(store, object->segment)->tenant;

        if (tenant->claims + more > PW_STORE_CLAIMS_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "tenant %s has %u of the %u names and leases that it may: remove some",
                                    tenant->name, tenant->claims, PW_STORE_CLAIMS_MAX);
        if (object->claims + more > PW_STORE_CLAIMS_OF_ONE_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "the object has %u of the %u names and leases that it may: remove some",
                                    object->claims, PW_STORE_CLAIMS_OF_ONE_MAX);
        return PW_OK;
}

/* Charged to the tenant. */
static void keep(struct pw_store *store, const struct pw_object *object, int64_t bytes)
{
        pw_keep_count(store, pw_segment_of(store, object->segment)->tenant, PW_KEPT_NAMES, bytes);
}

/* Its letters are here and in metadata. */
static int64_t naming_bytes(const struct pw_naming *naming) { return NAMING_BYTES + 2 * (int64_t)strlen(naming->name); }

enum pw_status pw_claim_add(struct pw_store *store, struct pw_object *object, enum pw_owner_kind kind, struct pw_ref **ret_ref)
{
        enum pw_status status = pw_ref_add(store, object, (struct pw_owner){ kind, ++store->name_serial }, ret_ref);

        if (status != PW_OK)
                return status;
        pw_segment_of(store, object->segment)->tenant->claims++;
        object->claims++;
        keep(store, object, CLAIM_BYTES);
        return PW_OK;
}

/* NULL: out of memory. */
static struct pw_naming *add_naming(struct pw_store *store, const struct pw_name_request *request, struct pw_object *object)
{
        size_t bytes = strlen(request->name) + 1;
        struct pw_naming *naming = calloc(1, sizeof *naming + bytes);
        struct pw_ref *ref;

        if (!naming)
                return NULL;
        pw_list_init(&naming->link);
        pw_list_init(&naming->askers);
        memcpy(naming->name, request->name, bytes);
        if (pw_claim_add(store, object, PW_OWNER_NAME, &ref) != PW_OK) {
                free(naming);
                return NULL;
        }
        naming->ref = ref;
        naming->serial = ref->number;
        ref->naming = naming;
        keep(store, object, naming_bytes(naming));
        if (chain(store, naming, name_key(store, request->tenant, request->name)) &&
            pw_table_put(&store->namings, naming->serial, naming))
                return naming;
        pw_ref_remove(store, ref);
        return NULL;
}

static void free_naming(struct pw_store *store, struct pw_naming *naming)
{
        pw_name_tell_all(store, naming, PW_TELL_REMOVED, (struct pw_id){ 0 });
        set_state(store, naming, PW_NAME_NONE, GONE);
        unchain(store, naming);
        pw_table_remove(&store->namings, naming->serial);
        pw_list_remove(&naming->link);
        keep(store, naming->ref->object, -naming_bytes(naming));
        free(naming);
}

void pw_name_ref_gone(struct pw_store *store, struct pw_ref *ref)
{
        if (ref->kind != PW_OWNER_NAME && ref->kind != PW_OWNER_LEASE)
                return;
        if (ref->kind == PW_OWNER_LEASE) {
                struct pw_naming *ended = ref->ends ? pw_table_get(&store->namings, ref->ends) : NULL;

                if (ended)
                        ended->lease = NULL;
                pw_heap_remove(&store->leases, &ref->lease);
        } else {
                free_naming(store, ref->naming);
        }
        pw_segment_of(store, ref->object->segment)->tenant->claims--;
        ref->object->claims--;
        keep(store, ref->object, -CLAIM_BYTES);
}

/* --- what happens ------------------------------------------------------------------------------------------------------------- */

/* A question asked before is not waited for any more: its answer has another token. */
static void ask(struct pw_store *store, struct pw_naming *naming, enum asks what)
{
        pw_list_remove(&naming->link);
        naming->token = 0;
        if (what == LATER) {
                pw_list_append(&store->names_later, &naming->link);
                return;
        }
        naming->asking = (uint8_t)(what == BIND && naming->from.host ? PW_NAME_TAKE : what);
        naming->token = naming->serial << 16 | ++naming->round;
        pw_list_append(&store->name_asks, &naming->link);
}

/* `found`: what the name is bound to, where it is TAKEN. */
static void step(struct pw_store *store, struct pw_naming *naming, enum event event, struct pw_id found)
{
        struct rule rule = rules[naming->state][event];
        bool was_sure = naming->state == PW_NAME_BOUND || naming->state == PW_NAME_ENDING;
        bool is_new = rule.next == PW_NAME_BOUND && naming->state != PW_NAME_BOUND;

        set_state(store, naming, rule.next, event);
        if (rule.tell)
                pw_name_tell_all(store, naming, rule.tell, found);
        if (rule.ask)
                ask(store, naming, rule.ask);
        store->name_bound_count += is_new;
        if (is_new)
                pw_wanted_found(store, tenant_of(store, naming), naming->name, naming->ref->object);
        if (rule.next != PW_NAME_NONE)
                return;
        if (!was_sure && naming->lease)
                pw_ref_remove(store, naming->lease);
        pw_ref_remove(store, naming->ref);
}

bool pw_name_end(struct pw_store *store, struct pw_naming *naming)
{
        bool ends = naming->state != PW_NAME_ENDING;

        step(store, naming, ENDED, (struct pw_id){ 0 });
        return ends;
}

/* What it is bound to, and by whom: one that this host was to take may be its keeper's still. */
static enum event resolved(struct pw_store *store, const struct pw_naming *naming, const struct pw_name_answer *answer)
{
        if (!pw_id_equal(answer->id, pw_object_id(store, naming->ref->object)))
                return TAKEN;
        if (pw_name_is_kept_here(store, answer))
                return DONE;
        return naming->from.host && pw_name_is_kept_by(answer, &naming->from) ? NOT_FOUND : TAKEN;
}

void pw_store_name_answered(struct pw_store *store, const struct pw_name_answer *answer, uint64_t now_us)
{
        static const uint8_t events[] = { [PW_NAMED_OK] = DONE, [PW_NAMED_TAKEN] = TAKEN, [PW_NAMED_NOT_FOUND] = NOT_FOUND,
                                          [PW_NAMED_UNKNOWN] = UNKNOWN, [PW_NAMED_AWAY] = AWAY };
        struct pw_naming *naming = answer->token ? pw_table_get(&store->namings, answer->token >> 16) : NULL;
        enum event event;

        store->now_us = now_us;
        if (!naming)
                pw_wanted_answered(store, answer);
        if (!naming || naming->token != answer->token)
                return;
        event = events[answer->outcome];
        if (naming->asking == PW_NAME_RESOLVE && event == DONE)
                event = resolved(store, naming, answer);
        pw_list_remove(&naming->link);
        naming->token = 0;
        step(store, naming, event, answer->id);
}

void pw_store_names_back(struct pw_store *store)
{
        struct pw_list later;
        struct pw_naming *naming;

        pw_list_init(&later);
        pw_list_splice(&later, &store->names_later);
        pw_list_each(&later, naming, struct pw_naming, link)
                step(store, naming, BACK, (struct pw_id){ 0 });
        pw_store_names_bound(store);
}

void pw_store_name_lost(struct pw_store *store, const char *tenant, const char *name, struct pw_id id, uint64_t now_us)
{
        struct pw_naming *naming = find_live(store, tenant, name);

        store->now_us = now_us;
        if (naming && !pw_id_equal(id, pw_object_id(store, naming->ref->object)))
                step(store, naming, LOST, id);
}

/* --- questions ---------------------------------------------------------------------------------------------------------------- */

bool pw_store_name_next(struct pw_store *store, struct pw_name_ask *ret_ask)
{
        const struct pw_naming *naming;

        if (pw_list_empty(&store->name_asks))
                return pw_wanted_next(store, ret_ask);
        naming = pw_list_first(&store->name_asks, struct pw_naming, link);
        *ret_ask = (struct pw_name_ask){ .token = naming->token, .kind = naming->asking, .tenant = tenant_of(store, naming),
                                         .name = naming->name, .id = pw_object_id(store, naming->ref->object),
                                         .from = naming->from };
        return true;
}

void pw_store_name_asked(struct pw_store *store, uint64_t token)
{
        struct pw_naming *naming = pw_table_get(&store->namings, token >> 16);

        if (!naming)
                pw_wanted_asked(store, token);
        if (!naming || naming->token != token)
                return;
        pw_list_remove(&naming->link);
        pw_list_append(&store->names_open, &naming->link);
}

/* Who waits for metadata. */
void pw_name_each_asker(const struct pw_store *store, uint32_t session, void (*row)(void *, const struct pw_name_wait_row *),
                        void *context)
{
        const struct pw_list *const lists[] = { &store->name_asks, &store->names_open };
        const struct pw_naming *naming;
        const struct pw_asker *asker;

        for (uint32_t i = 0; i < pw_array_count(lists); i++)
                pw_list_each(lists[i], naming, struct pw_naming, link)
                        pw_list_each(&naming->askers, asker, struct pw_asker, link)
                                if (!session || session == asker->session)
                                        row(context, &(struct pw_name_wait_row){ asker->session, true, naming->name,
                                                                                 asker->since_us, UINT64_MAX });
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

static enum pw_status check_bind(struct pw_store *store, const struct pw_name_request *request, const struct pw_object *object,
                                 const struct pw_name_keeper *from, struct pw_error *ret_err)
{
        const struct pw_naming *naming = find_live(store, request->tenant, request->name);
        bool is_new = !naming || naming->state == PW_NAME_BOUND;

        /* An operator's session sees objects of tenants whose names it does not share. */
        if (strcmp(pw_object_tenant(store, object), request->tenant))
                return pw_error_set(ret_err, PW_DENIED, "name %s: the object is of tenant %s, names of tenant %s are for its own "
                                    "objects", request->name, pw_object_tenant(store, object), request->tenant);
        if (naming && naming->ref->object != object)
                return pw_error_set(ret_err, PW_EXISTS, "name %s: bound already; pw_unname() or `pathways free` lets it go",
                                    request->name);
        if (!is_new && (naming->from.host != from->host || naming->from.epoch != from->epoch))
                return pw_error_set(ret_err, PW_BUSY, "name %s: it is being taken over from another host", request->name);
        if (!naming && object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "name %s: the object was given to a run", request->name);
        if (naming && naming->asker_count >= ASKERS_OF_NAME)
                return pw_error_set(ret_err, PW_LIMIT, "name %s: %u requests wait for metadata, as many as may", request->name,
                                    ASKERS_OF_NAME);
        return PW_OK;
}

/* That which is asked for: as it is, made live again, or new, with its lease. */
static enum pw_status make_naming(struct pw_store *store, const struct pw_name_request *request, struct pw_object *object,
                                  uint64_t until_us, struct pw_naming **ret_naming, struct pw_error *ret_err)
{
        struct pw_naming *naming = find_of(store, request->tenant, request->name, object);
        bool is_new = !naming;
        enum pw_status status = is_new ? pw_claims_check(store, object, 1 + (until_us > 0), ret_err) : PW_OK;

        if (status != PW_OK)
                return status;
        if (is_new)
                naming = add_naming(store, request, object);
        if (!naming)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for name %s", request->name);
        if (naming->state == PW_NAME_ENDING)
                pw_lease_forget_name(naming);
        status = pw_lease_of_name(store, naming, until_us, ret_err);
        if (status != PW_OK && is_new)
                pw_ref_remove(store, naming->ref);
        *ret_naming = naming;
        return status;
}

/* Who asked is told with what happened to it: those of before are told of that first. */
static void add_asker(struct pw_store *store, struct pw_naming *naming, struct pw_asker *asker, enum event event)
{
        step(store, naming, event, (struct pw_id){ 0 });
        pw_name_asker_add(naming, asker);
        if (naming->state == PW_NAME_BOUND)
                pw_name_tell_all(store, naming, PW_TELL_DONE, (struct pw_id){ 0 });
        else if (!naming->token)
                pw_name_tell_all(store, naming, PW_TELL_UNSURE, (struct pw_id){ 0 });
}

static enum pw_status bind_from(struct pw_store *store, const struct pw_name_request *request, struct pw_object *object,
                                const struct pw_name_keeper *from, uint64_t until_us, struct pw_error *ret_err)
{
        enum pw_status status = check_bind(store, request, object, from, ret_err);
        struct pw_asker *asker = status == PW_OK ? pw_name_asker_new(store, request, ret_err) : NULL;
        struct pw_naming *naming;

        if (!asker)
                return status != PW_OK ? status : PW_NO_MEMORY;
        store->now_us = request->now_us;
        status = make_naming(store, request, object, until_us, &naming, ret_err);
        if (status != PW_OK) {
                pw_name_asker_free(store, asker);
                return status;
        }
        if (naming->state == PW_NAME_NONE || naming->state == PW_NAME_ENDING)
                naming->from = *from;
        add_asker(store, naming, asker, WANTED);
        return PW_OK;
}

enum pw_status pw_store_name_bind(struct pw_store *store, const struct pw_name_request *request, struct pw_object *object,
                                  uint64_t until_us, struct pw_error *ret_err)
{
        return bind_from(store, request, object, &(struct pw_name_keeper){ 0, 0 }, until_us, ret_err);
}

enum pw_status pw_store_name_take(struct pw_store *store, const struct pw_name_request *request, struct pw_object *object,
                                  const struct pw_name_keeper *from, uint64_t until_us, struct pw_error *ret_err)
{
        return bind_from(store, request, object, from, until_us, ret_err);
}

enum pw_status pw_store_name_remove(struct pw_store *store, const struct pw_name_request *request, struct pw_error *ret_err)
{
        struct pw_naming *naming = find_live(store, request->tenant, request->name);
        struct pw_asker *asker;

        if (!naming)
                return pw_error_set(ret_err, PW_NOT_FOUND, "name %s: not bound", request->name);
        asker = pw_name_asker_new(store, request, ret_err);
        if (!asker)
                return PW_NO_MEMORY;
        store->now_us = request->now_us;
        add_asker(store, naming, asker, ENDED);
        return PW_OK;
}
