/* Names of a host's objects: requests that bind, remove and look up, what metadata is asked about them, and their answers.
 *
 * A name belongs to the home of its object. The home makes the binding in metadata, holding the object first, and lets go of the
 * object only when it knows that no binding of it is left there: so whoever finds a name finds its object. Until metadata has
 * answered, the name is not found, and nobody is told that it is bound.
 *
 * Requests are accepted or refused at once. What was accepted is answered exactly once, by pw_store_name_told().
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_STORE_NAME_H
#define PW_STORE_NAME_H

#include "plane/ring.h"
#include "store/naming.h"

struct pw_object;
struct pw_store;

#define PW_NAME_MAX_BYTES 255

/* One request about a name. */
struct pw_name_request {
        uint32_t session;  /* who asks, and */
        uint64_t request;  /* its number of that; both come back with the answer */
        const char *tenant, *name;
        uint64_t now_us;
        bool to_remove;    /* of a lookup: to remove it where it is bound; comes back too */
};

/* 1 to PW_NAME_MAX_BYTES printable ASCII characters without spaces. Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_store_name_check(const char *name, struct pw_error *ret_err);

/* Bind it to `object`, which is held from now on. `until_us`: when the name goes; 0: never. Of a name that is bound to it, or on
 * its way there, that takes the place of the end that it had. Till then a lease holds the object too. Errors: PW_EXISTS (bound to
 * another object), PW_DENIED (another tenant's object), PW_DONATED_USE, PW_LIMIT, PW_NO_MEMORY; nothing has changed then. */
PW_MUST_CHECK enum pw_status pw_store_name_bind(struct pw_store *store, const struct pw_name_request *request,
                                                struct pw_object *object, uint64_t until_us, struct pw_error *ret_err);
/* The same of an object that `from` has bound it to, and hands on: this host keeps the binding from now on. Errors: besides,
 * PW_BUSY (it is being taken from another host); told of the request, PW_EXISTS (`from` does not keep it any more). */
PW_MUST_CHECK enum pw_status pw_store_name_take(struct pw_store *store, const struct pw_name_request *request,
                                                struct pw_object *object, const struct pw_name_keeper *from, uint64_t until_us,
                                                struct pw_error *ret_err);
/* It is not found from now on. Errors: PW_NOT_FOUND, PW_LIMIT, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_store_name_remove(struct pw_store *store, const struct pw_name_request *request,
                                                  struct pw_error *ret_err);
/* What it is bound to; NULL: it is not, as far as metadata has said. */
struct pw_object *pw_store_name_find(struct pw_store *store, const char *tenant, const char *name);
/* What it is bound to, where it is not bound here: that another host has bound it is known once metadata has answered.
 * Errors: PW_NOT_FOUND (there are no other hosts), PW_LIMIT, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_store_name_look(struct pw_store *store, const struct pw_name_request *request,
                                                struct pw_error *ret_err);
/* Wait until it is bound, here or elsewhere; who is told of one here holds a reference. Errors: PW_LIMIT, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_store_name_wait(struct pw_store *store, const struct pw_name_request *request, uint64_t until_us,
                                                struct pw_error *ret_err);

/* --- metadata ----------------------------------------------------------------------------------------------------------- */

/* The next question for metadata, if there is one; it stays the next until it was asked. */
bool pw_store_name_next(struct pw_store *store, struct pw_name_ask *ret_ask);
void pw_store_name_asked(struct pw_store *store, uint64_t token);
/* An answer; of a question that nobody asks any more: nothing. */
void pw_store_name_answered(struct pw_store *store, const struct pw_name_answer *answer, uint64_t now_us);
/* Metadata is back: what could not be settled is asked again. */
void pw_store_names_back(struct pw_store *store);
/* Other hosts may have bound names since: those that are waited for are asked for again. */
void pw_store_names_bound(struct pw_store *store);
/* Metadata has the name bound to `id`, which is not what it is bound to here: that binding is over, and its claim goes. Nothing
 * where it is not so, or a question about it is open, whose answer says the same. */
void pw_store_name_lost(struct pw_store *store, const char *tenant, const char *name, struct pw_id id, uint64_t now_us);

/* --- answers ------------------------------------------------------------------------------------------------------------ */

struct pw_name_told {
        uint32_t session;   /* it may have ended */
        uint64_t request;
        enum pw_status status;
        bool found;         /* it waited for the name: `object` is what that is bound to, and the session holds it */
        bool elsewhere;     /* it looked the name up: `object` is what another host has bound it to, and nobody here holds it */
        struct pw_id object;
        uint32_t keeper;     /* elsewhere: the host that keeps the binding; 0: the home of the object */
        struct pw_cell cell; /* where that stands on this host */
        bool to_remove;      /* of its request, and */
        char name[PW_NAME_MAX_BYTES + 1];
        uint64_t until_us;   /* elsewhere: of its wait; UINT64_MAX: for ever; 0: it does not wait */
        char text[500];     /* of an error */
};
/* The next answer. False: there is none. */
bool pw_store_name_told(struct pw_store *store, struct pw_name_told *ret_told);
bool pw_store_names_tell(const struct pw_store *store); /* is there one? */

bool pw_store_names_wanted(const struct pw_store *store);      /* does anybody wait for a name, or look one up? */
uint64_t pw_store_names_bound_count(const struct pw_store *store); /* so many were bound by this host, ever */

/* --- what they hold ----------------------------------------------------------------------------------------------------- */

/* A name, or a lease that is no name's: what it holds, by a number of its own. */
struct pw_claim_row {
        uint64_t number;
        struct pw_object *object;
        const char *tenant, *name; /* name NULL: a lease */
        uint64_t until_us;         /* when it ends; 0: never */
        bool is_settled;           /* metadata has said that the name is bound */
};
/* Equal: no name or lease has come or gone, and none was bound meanwhile. */
struct pw_claim_stamp { uint64_t came, names, leases, bound; };
struct pw_claim_stamp pw_store_claim_stamp(const struct pw_store *store);
/* All that do not end yet. */
void pw_store_each_claim(struct pw_store *store, void (*each)(void *context, const struct pw_claim_row *row), void *context);
/* One that holds `object`, as it is now; false: it is not there, or not settled. */
bool pw_store_claim_see(struct pw_store *store, const struct pw_object *object, uint64_t number, struct pw_claim_row *ret_row);
/* It ends, as somebody else holds the object by it: of a name metadata is told, and knows better. */
void pw_store_claim_end(struct pw_store *store, const struct pw_object *object, uint64_t number, uint64_t now_us);

/* --- who waits ---------------------------------------------------------------------------------------------------------- */

struct pw_name_wait_row {
        uint32_t session;
        bool asks; /* it waits for metadata, to have bound or removed it, or to say who has; else for somebody to bind it */
        const char *name;
        uint64_t since_us, until_us;
};
/* Of `session`; 0: of all. */
void pw_store_each_name_wait(struct pw_store *store, uint32_t session, void (*row)(void *, const struct pw_name_wait_row *),
                             void *context);
/* For one name of a tenant, the first first. */
void pw_store_each_wait_for_name(struct pw_store *store, const char *tenant, const char *name,
                                 void (*row)(void *, const struct pw_name_wait_row *), void *context);

#endif
