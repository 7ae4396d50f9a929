/* Metadata in Redis, inside: one struct, and who does what with it.
 *
 * redis.c is the kind: turns, and what a word of the server leads to. entry.c calls, greets and joins; table.c has the host table;
 * names.c what is asked about names, and the bindings of this host; telling.c what the listener is to be told.
 *
 * What the server says is noted where it is heard, inside the loop, and acted on in the next turn: no connection is ended by who
 * hears of it.
 */
#ifndef PW_DAEMON_META_REDIS_PRIVATE_H
#define PW_DAEMON_META_REDIS_PRIVATE_H

#include "base/list.h"
#include "base/table.h"
#include "daemon/loop.h"
#include "daemon/meta/kinds.h"
#include "daemon/meta/meta.h"
#include "daemon/meta/redis/member.h"
#include "daemon/meta/redis/saver.h"
#include "daemon/meta/redis/state.h"
#include "daemon/meta/redis/wire.h"

#define PW_REDIS_PART 64u /* rows or names in a question */
#define PW_REDIS_DAY_MS UINT64_C(86400000)
#define PW_REDIS_KEY_BYTES 128u

/* What the listener is told in the next turn. */
struct pw_redis_told {
        struct pw_list link;
        struct pw_meta_event event; /* its texts are those here: */
        char text[512];
        char *names;                /* of CHANGED: tenant, 0, name; NULL: one of the fixed ones */
};

/* A question about a name, from submit() until it is answered. */
struct pw_redis_ask {
        struct pw_list link;        /* among those of one key, or those that have an answer */
        struct pw_redis *redis;
        struct pw_redis_asked *of;
        enum pw_name_ask_kind kind;
        struct pw_id id;
        struct pw_name_keeper from;
        struct pw_name_answer answer;
        char text[];                /* tenant, 0, name */
};

/* What is asked of one key goes out one after the other: so it is done in that order, whatever becomes of scripts. */
struct pw_redis_asked {
        struct pw_list link;
        struct pw_list asks;
        uint64_t key;
        bool sent;                  /* the first is under way */
};

/* A binding of this host, as the server had it last. */
struct pw_redis_binding {
        struct pw_list link;        /* who was renewed first is first */
        struct pw_redis_binding *next; /* of the same key */
        struct pw_id id;
        uint64_t version, kept_us;
        char text[];                /* tenant, 0, name */
};

struct pw_redis_row {
        struct pw_list untold;      /* the listener does not know of it yet */
        struct pw_host_row row;
        uint64_t seen;              /* the connection by which the server had it, in this epoch */
};

struct pw_redis {
        struct pw_meta base;
        struct pw_meta_host host;   /* epoch 0: not joined yet */
        struct pw_redis_member member;
        struct pw_redis_state state;
        struct pw_redis_saver *saver; /* of the state; NULL: in open() */
        struct pw_redis_wire *wire;
        char *address, *cluster, *name, *machine, *own_address, *user, *password;
        uint32_t successor;         /* this host drains, and that one takes over; 0: it does not */
        uint64_t instance, serial;  /* serial: of the connection */
        uint32_t first_epoch;       /* of a host that is in no cluster yet: what it asks for */
        bool new_cluster, joined;   /* joined: the listener knows number and epoch */

        char keys[2][PW_REDIS_KEY_BYTES];     /* the first two of each script */
        char run[40], number[12], fence[64];  /* arguments of each script */
        char theirs[20];                      /* the incarnation that the server has; "": none */

        enum pw_redis_act wanted;   /* by who heard something; 0: nothing */
        struct pw_error why;        /* of it */
        bool away;                  /* the listener was told so, */
        uint64_t reasons;           /* with these statuses, each a bit */
        uint32_t beats;             /* since it was looked at how Redis uses its memory */
        bool evicts_told, save;     /* save: the state is to be written */
        char waits[512];            /* what WAITS said last */

        struct pw_list told;        /* pw_redis_told */
        struct pw_redis_told fixed[PW_META_TROUBLE + 1]; /* one of each kind, but for CHANGED and HOST */
        struct pw_list answered;    /* pw_redis_ask */
        struct pw_list untold;      /* pw_redis_row */
        struct pw_table rows;       /* by number */
        uint64_t changes;           /* the last of the host table that is known */
        bool reading;               /* the table is being read */

        struct pw_hash_secret secret;
        struct pw_table asked;      /* by key of tenant and name */
        struct pw_list asking;      /* the same */
        struct pw_table bindings;   /* likewise */
        struct pw_list kept;        /* pw_redis_binding */
        uint64_t version;           /* the highest of a binding that was seen */
        uint64_t beat_version;      /* what the last beat said: another one means that names were bound; */
        uint64_t beat_overruled;    /* ... that an older binding took the place of a younger one, which may be ours */
};

/* redis.c: hear what an answer means beyond itself. */
enum pw_redis_word pw_redis_hear(struct pw_redis *redis, const struct pw_redis_said *said);
/* Something that needs memory did not get it: the connection is ended, and all begins anew. */
void pw_redis_stuck(struct pw_redis *redis, enum pw_status status);
/* The arguments that every script but the first has. */
void pw_redis_args_begin(const struct pw_redis *redis, struct pw_redis_args *ret_args);

/* entry.c */
void pw_redis_up(void *context);
void pw_redis_join(struct pw_redis *redis);
void pw_redis_look_at_memory(struct pw_redis *redis); /* does it throw keys away by now? */
/* The texts that begin each key and script follow from cluster, number and epoch. */
void pw_redis_name_keys(struct pw_redis *redis, uint64_t incarnation);

/* table.c */
void pw_redis_table_known(void *context, const struct pw_host_row *row);
const struct pw_host_row *pw_redis_table_next(void *context, uint32_t *cursor);
void pw_redis_table_read(struct pw_redis *redis);
void pw_redis_table_say_own(struct pw_redis *redis); /* the row of this host has changed */
/* The address of a row, and who takes over. */
#define PW_REDIS_WHERE_BYTES (PW_HOST_ADDRESS_MAX + 12)
char *pw_redis_where_format(const char *address, uint32_t successor, char text[PW_REDIS_WHERE_BYTES]);
void pw_redis_table_done(struct pw_redis *redis);

/* names.c */
enum pw_status pw_redis_names_submit(struct pw_redis *redis, const struct pw_name_ask *ask);
void pw_redis_names_send(struct pw_redis *redis);  /* all that wait, one of each name */
void pw_redis_names_refuse(struct pw_redis *redis); /* answer all that wait: AWAY */
void pw_redis_names_done(struct pw_redis *redis);

/* binding.c */
void pw_redis_binding_note(struct pw_redis *redis, const struct pw_redis_ask *ask);
void pw_redis_bindings_put(struct pw_redis *redis);   /* all, as the server may have lost them */
void pw_redis_bindings_check(struct pw_redis *redis); /* all: are they still there? */
void pw_redis_bindings_renew(struct pw_redis *redis, uint64_t now_us); /* a part of those for which it is time */
void pw_redis_bindings_done(struct pw_redis *redis);
/* TENANT/NAME as the end of a key; what has another meaning in `tenant` is written %25 and %2F. Own: the caller's. NULL: no
 * memory. */
char *pw_redis_key_of(const char *tenant_and_name);
#define PW_REDIS_ID_BYTES 64u
/* As a binding that `keeper` keeps. */
char *pw_redis_id_format(struct pw_id id, struct pw_name_keeper keeper, char text[PW_REDIS_ID_BYTES]);
bool pw_redis_id_parse(const char *text, struct pw_id *ret_id, struct pw_name_keeper *ret_keeper);
static inline struct pw_name_keeper pw_redis_own(const struct pw_redis *redis)
{
        return (struct pw_name_keeper){ redis->host.host, redis->host.epoch };
}

/* telling.c: the listener is told in the next turn. */
void pw_redis_tell(struct pw_redis *redis, enum pw_meta_event_kind kind, const struct pw_error *why);
void pw_redis_tell_changed(struct pw_redis *redis, const char *tenant_and_name, struct pw_id id, uint64_t version);
bool pw_redis_tell_all(struct pw_redis *redis);
bool pw_redis_has_told(const struct pw_redis *redis);
void pw_redis_telling_done(struct pw_redis *redis);

#endif
