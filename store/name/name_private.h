/* What the files of names share. Nobody else includes this.
 */
#ifndef PW_STORE_NAME_PRIVATE_H
#define PW_STORE_NAME_PRIVATE_H

#include "store/name.h"
#include "store/parts.h"

enum pw_name_state {
        PW_NAME_NONE = 0,
        PW_NAME_HELD,    /* the object is held, metadata is asked to bind it */
        PW_NAME_BOUND,   /* it is bound, and found */
        PW_NAME_UNKNOWN, /* whether it is bound is not known: metadata is asked, or will be when it is back */
        PW_NAME_ENDING,  /* it is not found any more; metadata is asked to end it, or will be when it is back */
        PW_NAME_STATES
};

/* A name and what it is bound to, or is to be, or was. There is one at most of a name and an object, and of a name one at most that
 * does not end. */
struct pw_naming {
        struct pw_naming *same_key; /* in the store's names */
        struct pw_ref *ref;        /* its claim of the object */
        struct pw_ref *lease;      /* with which it ends; NULL: it stays */
        struct pw_list link;       /* in name_asks, names_open or names_later; BOUND: alone */
        struct pw_list askers;     /* who is told how it comes out */
        uint64_t serial;
        uint64_t token;            /* serial 48 | round 16: of the question that is open; 0: none is */
        uint32_t asker_count;
        uint16_t round;            /* of its questions, counts up */
        uint8_t state;             /* enum pw_name_state: set_state() in name.c */
        uint8_t asking;            /* enum pw_name_ask_kind: what is open */
        struct pw_name_keeper from; /* who kept its binding before this host takes it; host 0: this host binds it */
        char name[];
};

enum pw_tell {
        PW_TELL_NOBODY = 0,
        PW_TELL_DONE,
        PW_TELL_TAKEN,
        PW_TELL_REMOVED,   /* before it was bound */
        PW_TELL_LOST,      /* it was not bound, which is known only now */
        PW_TELL_AWAY,      /* it was not bound */
        PW_TELL_UNSURE,    /* it may be bound */
        PW_TELL_ENDS,      /* it will be unbound */
        PW_TELL_FOUND,     /* who waited for it holds its object */
        PW_TELL_NOT_GIVEN, /* ... could not be given a reference */
        PW_TELL_LATE,      /* ... waited till its end */
        PW_TELL_ELSEWHERE, /* who looked it up: another host bound it */
        PW_TELL_NOT_FOUND, /* ... nobody did */
        PW_TELL_UNREACHED, /* ... metadata is away */
};

/* Who asked about a name. */
struct pw_asker {
        struct pw_list link;       /* of its naming; of those who want the name; in name_told */
        struct pw_list of_session; /* while it waits for a name; else alone */
        struct pw_heap_item end;   /* in the store's waits, meanwhile */
        struct wanted *wanted;     /* the name that it waits for; NULL: none */
        struct tenant *tenant;     /* charged */
        uint64_t request, since_us;
        uint32_t session;
        uint32_t question;         /* of its name, the first that was asked after it came */
        bool once;                 /* it does not wait for somebody to bind the name */
        bool to_remove;            /* of its request */
        uint8_t tell;              /* enum pw_tell */
        enum pw_status status;     /* NOT_GIVEN: why */
        struct pw_id object;
        struct pw_cell cell;       /* FOUND: where that stands */
        uint32_t keeper;           /* ELSEWHERE: struct pw_name_answer's */
        char name[];
};

/* claim.c */
bool pw_name_is_kept_by(const struct pw_name_answer *answer, const struct pw_name_keeper *host);
bool pw_name_is_kept_here(const struct pw_store *store, const struct pw_name_answer *answer);

/* name.c */
bool pw_name_end(struct pw_store *store, struct pw_naming *naming); /* false: it ends already */
enum pw_status pw_claims_check(struct pw_store *store, const struct pw_object *object, uint32_t more, struct pw_error *ret_err);
enum pw_status pw_claim_add(struct pw_store *store, struct pw_object *object, enum pw_owner_kind kind, struct pw_ref **ret_ref);

void pw_name_each_asker(const struct pw_store *store, uint32_t session, void (*row)(void *, const struct pw_name_wait_row *),
                        void *context);

/* publish.c. Clients of its tenant find it by themselves from now on, or do not any more (plane/name.h). */
void pw_name_publish(struct pw_store *store, const struct pw_naming *naming, bool is_bound);

/* asker.c */
struct pw_asker *pw_name_asker_new(struct pw_store *store, const struct pw_name_request *request,
                                   struct pw_error *ret_err); /* NULL: out of memory */
void pw_name_asker_free(struct pw_store *store, struct pw_asker *asker);
void pw_name_asker_add(struct pw_naming *naming, struct pw_asker *asker);
void pw_name_tell(struct pw_store *store, struct pw_asker *asker, enum pw_tell tell, struct pw_id object);
void pw_name_tell_all(struct pw_store *store, struct pw_naming *naming, enum pw_tell tell, struct pw_id found);

/* wanted.c */
void pw_wanted_found(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object);

bool pw_wanted_next(struct pw_store *store, struct pw_name_ask *ret_ask);
void pw_wanted_asked(struct pw_store *store, uint64_t token);
void pw_wanted_answered(struct pw_store *store, const struct pw_name_answer *answer);
/* Those that wait no longer, in parts. */
void pw_wanted_tick(struct pw_store *store);

/* lease.c */
/* The name ends at `until_us`, in place of the end that it had; 0: it stays. Nothing has changed on an error. */
enum pw_status pw_lease_of_name(struct pw_store *store, struct pw_naming *naming, uint64_t until_us, struct pw_error *ret_err);
/* The name's lease holds the object on, and ends no name any more. */
void pw_lease_forget_name(struct pw_naming *naming);

#endif
