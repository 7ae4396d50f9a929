/* Listings: what `pathways` prints. Each kind of listing fills rows; keys are documented in pathways(1) under --json.
 */
#ifndef PW_DAEMON_INSPECT_LIST_H
#define PW_DAEMON_INSPECT_LIST_H

#include "daemon/inspect/rows.h"

/* Take it in: pw_lists_turn() answers it. */
void pw_list_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request);
/* A part of the listings of each tenant, within a time, so that no turn is long. True: something was done. */
bool pw_lists_turn(struct pw_daemon *daemon);
/* Its host is another one, which is asked: or it is none, and that is said. False: it is this one. list_peer.c */
bool pw_list_elsewhere(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request);
void pw_lists_session_end(struct pw_dsession *session);

struct pw_audit;
#define PW_LIST_PAGE_ROWS 512u /* of a page of runs, programs or gangs: what is written and freed in one turn */

struct pw_list_kind;
struct pw_lister;
struct pw_owners;

/* Who asked: each is told once, as the lister ends; inside the call nothing of it is freed. */
struct pw_list_asker {
        void (*rows)(struct pw_lister *lister); /* frees the rows */
        void (*error)(struct pw_lister *lister, enum pw_status status, const char *text);
};

/* What is asked for: borrowed. */
struct pw_list_asked { const char *what, *filter; uint32_t limit; uint64_t after; };

/* What a listing works on, from the request to the answer. */
struct pw_lister {
        struct pw_list link;    /* in its line */
        struct pw_daemon *daemon;
        struct pw_listers *line;
        const struct pw_list_asker *asker;
        struct pw_dsession *session; /* NULL: another host asked */
        uint32_t host;          /* that one */
        const char *tenant;     /* whose rows they are to be; borrowed, or own_tenant */
        char *own_tenant;
        bool operator_;         /* all tenants' rows */
        const struct pw_list_kind *kind;
        uint64_t id;            /* of the request, or the host's number for it */
        uint64_t page_bytes;    /* parts make a page until it has so many; 0: there is no such bound */
        struct pw_rows *rows, own_rows;
        char *filter;           /* "" for none */
        uint64_t kept_bytes;    /* that its tenant is charged for */
        bool begun;
        uint64_t at;            /* of the walk over objects: where it goes on */
        uint64_t since_us, now_us; /* when it was asked for; of this part */
        struct pw_error *err, own_err;
        struct pw_gang_lister *gangs; /* NULL: it did not begin */
        struct pw_program_walk programs;
        uint64_t *numbers;      /* runs: of those that there were at its beginning; NULL: not looked yet */
        uint32_t number_count, number_at;
        bool number_more;       /* there may be more of them, behind these */
        uint64_t objects;       /* status: seen */
        struct pw_owners *owners; /* owners: seen; NULL: none */
        const struct pw_audit *audit; /* check */
        struct pw_store_audit checked;
        struct pw_census census; /* memory */
        struct pw_largest *largest; /* why: in memories; NULL: none was asked for */
        bool again;             /* the parts of what was found missing come first, then the listing is made anew */
};

/* By kind; each returns PW_OK or an error in lister->err. */
enum pw_status pw_list_status(struct pw_lister *lister);   /* list_host.c */
enum pw_status pw_list_devices(struct pw_lister *lister);
enum pw_status pw_list_hosts(struct pw_lister *lister);
enum pw_status pw_list_islands(struct pw_lister *lister);
enum pw_status pw_list_memory(struct pw_lister *lister);   /* list_store.c */
bool pw_list_memory_step(struct pw_lister *lister, uint32_t slots);
void pw_list_check(struct pw_lister *lister);
bool pw_list_check_step(struct pw_lister *lister, uint32_t slots);
enum pw_status pw_list_owners(struct pw_lister *lister);   /* list_owners.c */
bool pw_list_programs_step(struct pw_lister *lister, uint32_t slots); /* list_work.c */
bool pw_list_runs_step(struct pw_lister *lister, uint32_t slots);
bool pw_list_gangs_step(struct pw_lister *lister, uint32_t slots); /* list_gangs.c */
struct pw_gang_lister;
void pw_gang_lister_free(struct pw_gang_lister *gangs); /* may be NULL */
enum pw_status pw_list_object(struct pw_lister *lister);   /* list_object.c */
enum pw_status pw_list_why(struct pw_lister *lister);      /* why.c */
bool pw_why_step(struct pw_lister *lister, uint32_t slots); /* why_memory.c */
struct pw_largest;
void pw_largest_free(struct pw_largest *largest); /* may be NULL */

/* For each object there is, before the listing is made of it; `context` is the lister. */
struct pw_object_row;
bool pw_list_status_object(void *context, const struct pw_object_row *row);
bool pw_list_objects_object(void *context, const struct pw_object_row *row);
bool pw_list_owners_object(void *context, const struct pw_object_row *row);
void pw_owners_free(struct pw_owners *owners); /* may be NULL */

/* Cells of an object that listings share: state, bytes, age, dtype, dims, where. list_store.c */
void pw_list_value(struct pw_lister *lister, const struct pw_object_row *row);
/* A listing of this name, which takes its place in the line; what the asker has of it is filled in already. Own: the lister, if
 * and only if it returns PW_OK. Errors: PW_NOT_FOUND (there is no such listing), PW_INVALID (a filter that is too long),
 * PW_UNSUPPORTED (one that only sessions are given), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_lister_begin(struct pw_lister *lister_take, const struct pw_list_asked *asked,
                                             struct pw_error *ret_err);
/* It is not answered. */
void pw_lister_free(struct pw_lister *lister);
/* May it have `bytes` more? Charged to its tenant; operators may always, and other hosts, which ask for few at a time. */
bool pw_lister_may_keep(const struct pw_lister *lister, uint64_t bytes);
/* It has so many bytes more, from one part to the next. */
void pw_lister_keep(struct pw_lister *lister, uint64_t bytes);
void pw_lister_forget(struct pw_lister *lister, uint64_t bytes); /* less */
/* Its tenant here; NULL: another host asked for one that has nothing here. */
const struct pw_tenant *pw_lister_tenant(const struct pw_lister *lister);
/* May who asked see what is of `tenant`? */
bool pw_list_visible(const struct pw_lister *lister, const char *tenant);

#endif
