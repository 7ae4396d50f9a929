/* Metadata: what outlives a daemon and what hosts tell each other. Kinds are listed in kinds.c; the plain one is embedded.c.
 *
 * Nothing on the way of a put, a get or a run waits for it: calls return at once, a kind that has a server speaks to it on the
 * loop. Threads: loop thread only.   Blocks: open() may (it reads a file); nothing else.
 */
#ifndef PW_DAEMON_META_META_H
#define PW_DAEMON_META_META_H

#include "base/hash.h"
#include "base/id.h"

struct pw_meta_params {
        const char *state_dir; /* made where it is missing */
        uint32_t now_s;        /* seconds since 1970 */
        struct pw_hash_secret secret;
};

struct pw_meta;

struct pw_meta_host { uint32_t host, epoch; };

struct pw_meta_kind {
        const char *name;
        /* Join: this host's number, and an epoch higher than any it ever had. Own: given back with close().
         * Errors: PW_SYSTEM, PW_NO_MEMORY. */
        enum pw_status (*open)(const struct pw_meta_params *params, struct pw_meta **ret_meta, struct pw_meta_host *ret_host,
                               struct pw_error *ret_err);
        void (*close)(struct pw_meta *meta);
        /* A name of a tenant was bound on this host. */
        void (*bind)(struct pw_meta *meta, const char *tenant, const char *name, struct pw_id id);
        /* That binding has ended. The name stays if it is bound to another object by now. */
        void (*unbind)(struct pw_meta *meta, const char *tenant, const char *name, struct pw_id id);
        /* Find a name that another host bound. PW_NOT_FOUND; PW_NOT_READY: asked for, try again later. */
        enum pw_status (*find)(struct pw_meta *meta, const char *tenant, const char *name, struct pw_id *ret_id);
};

struct pw_meta { const struct pw_meta_kind *kind; };

const struct pw_meta_kind *pw_meta_kind(const char *name); /* NULL: none */
const struct pw_meta_kind *pw_meta_kind_at(uint32_t i);    /* NULL behind the last */

static inline void pw_meta_name(struct pw_meta *meta, const char *tenant, const char *name, struct pw_id id)
{
        meta->kind->bind(meta, tenant, name, id);
}
static inline void pw_meta_unname(struct pw_meta *meta, const char *tenant, const char *name, struct pw_id id)
{
        meta->kind->unbind(meta, tenant, name, id);
}
static inline void pw_meta_close(struct pw_meta *meta)
{
        if (meta)
                meta->kind->close(meta);
}

#endif
