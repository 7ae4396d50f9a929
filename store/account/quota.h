/* Quotas of tenants: what each may have on this host. The store keeps to those of host memory and objects, and says what is used.
 */
#ifndef PW_STORE_ACCOUNT_QUOTA_H
#define PW_STORE_ACCOUNT_QUOTA_H

#include "base/error.h"

struct pw_store;

#define PW_STORE_CLAIMS_MAX (1u << 18)    /* names and leases of a tenant */
#define PW_STORE_REQUESTS_MAX 16384u      /* for room, of a tenant: that wait */
#define PW_STORE_CLAIMS_OF_ONE_MAX 1024u  /* of an object: they may all go at once, and who asks for it looks at each */

#define PW_QUOTA_NONE UINT64_MAX /* no limit */
#define PW_QUOTA_SESSIONS 16384u /* unless it is said */
struct pw_quota { uint64_t host_bytes, device_bytes, objects, sessions; };

/* From now on, for requests that wait too. What is granted beyond it already stays. */
PW_MUST_CHECK enum pw_status pw_store_quota(struct pw_store *store, const char *tenant, const struct pw_quota *quota,
                                            uint64_t now_us, struct pw_error *ret_err);

/* Kinds of what is kept because of a tenant, besides rooms of values. */
enum pw_kept_kind {
        PW_KEPT_SESSIONS = 0, /* their records, frames that have begun, what waits to be sent */
        PW_KEPT_REQUESTS,     /* that wait: for a name, for room, listings under way */
        PW_KEPT_PROGRAMS,     /* images and parameters, slices */
        PW_KEPT_COMPILING,    /* programs on their way */
        PW_KEPT_SHAPES,       /* answers of shape functions */
        PW_KEPT_TRACES,
        PW_KEPT_NAMES,        /* names, leases */
        PW_KEPT_RUNS,         /* records of runs and of their results */
        PW_KEPT_SLOTS,        /* of its sessions: entries and records of slots */
        PW_KEPT_PAGES,        /* of its processes' memory: rings, lanes, and whatever else is there that was granted to nobody */
        PW_KEPT_FUTURES,      /* its futures segment, the records of slots there, its hint page: they go with the tenant */
        PW_KEPT_KINDS
};
const char *pw_kept_name(enum pw_kept_kind kind); /* "programs" */

/* Bytes of the pages of rooms that it was granted, those included that a living process of an ended session may still write
 * into, or that the system does not have back yet; slots that it was granted and that were not taken back, for a value each. */
struct pw_use {
        uint64_t host_bytes, objects;
        uint64_t kept_bytes, kept[PW_KEPT_KINDS]; /* of the host bytes */
        /* of them: of its segments and its shape functions' answers, which nobody of it need be there for */
        uint64_t lasting_bytes;
};
struct pw_use pw_store_use(const struct pw_store *store, const char *tenant);

/* What the daemon keeps because of a tenant, besides its rooms (programs, requests that wait, rings, entries, traces): overhead of
 * host memory, charged to the tenant's quota. To ask comes first, and is left out where something is bounded otherwise and must not
 * fail for lack of memory: the overhead then grows beyond what is free.
 * Errors: PW_NO_SPACE: it does not fit; says what holds the memory, by kind, and what to do. */
PW_MUST_CHECK enum pw_status pw_store_may_keep(struct pw_store *store, const char *tenant, uint64_t bytes, enum pw_kept_kind kind,
                                               struct pw_error *ret_err);
/* So much more, or less. */
void pw_store_keep(struct pw_store *store, const char *tenant, enum pw_kept_kind kind, int64_t bytes);

/* What a request for room that waits lacks, by its token. */
enum pw_lack_kind {
        PW_LACK_NOTHING = 0, /* its pages are being made, or there is enough, and it is about to be served */
        PW_LACK_MEMORY,
        PW_LACK_QUOTA,       /* bytes of its tenant's */
        PW_LACK_OBJECTS,     /* likewise one object */
        PW_LACK_SYSTEM       /* the store has it to give, the system has not */
};
struct pw_room_lack { enum pw_lack_kind kind; uint64_t bytes; };
struct pw_room_lack pw_store_room_lack(const struct pw_store *store, uint64_t token);
/* The same as it would be refused now: PW_NO_SPACE, who holds it. False: it lacks nothing. */
bool pw_store_room_lacks(struct pw_store *store, uint64_t token, uint64_t now_us, struct pw_error *ret_err);

/* Nothing is charged to it but its futures segment, and no object is in that. */
bool pw_store_tenant_empty(const struct pw_store *store, const char *tenant);

/* Who holds host memory, largest first, as one sentence: "61 GiB held by tenant bo, digits[4411], 40 s; ..."; returns `text`. */
struct pw_holders_of {
        const char *tenant; /* only what is its; NULL: all */
        const char *reader; /* the tenant that reads it: of others it says how much they hold together; NULL: an operator */
        uint64_t now_us;
        bool slots;         /* it is about objects, not bytes: what is kept is none */
};
char *pw_store_holders_text(struct pw_store *store, const struct pw_holders_of *of, char *text, size_t text_bytes);

#endif
