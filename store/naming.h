/* What the store asks metadata about names, and what it is told: values. Who carries them is the daemon.
 *
 * A question is answered once, late or soon; answers come in any order. What is asked about one name is done in the order in which
 * it was asked, and what was answered UNKNOWN was done before anything that is asked after the answer, or never.
 */
#ifndef PW_STORE_NAMING_H
#define PW_STORE_NAMING_H

#include "base/id.h"

enum pw_name_ask_kind {
        PW_NAME_BIND = 1, /* bind the name to `id`, unless it is bound to another object: one compare-and-set */
        PW_NAME_UNBIND,   /* end that binding, if it is to `id` */
        PW_NAME_RESOLVE,  /* what is it bound to? */
        PW_NAME_TAKE,     /* this host keeps that binding from now on, if it is to `id` and `from` keeps it, or this host does */
};

/* Who keeps a binding, where that is not the home of the object: it drained, and handed it on. host 0: the home. A binding ends
 * with who keeps it. */
struct pw_name_keeper { uint32_t host, epoch; };

struct pw_name_ask {
        uint64_t token; /* comes back with the answer */
        enum pw_name_ask_kind kind;
        const char *tenant, *name; /* borrowed for the call */
        struct pw_id id;
        struct pw_name_keeper from; /* TAKE; never host 0 */
};

enum pw_name_outcome {
        PW_NAMED_OK = 1,    /* done; of RESOLVE: `id` and `version` are what it is bound to */
        PW_NAMED_TAKEN,     /* not done: the name is bound to `id`, another object; not of RESOLVE */
        PW_NAMED_NOT_FOUND, /* not done: the name is not bound; not of BIND */
        PW_NAMED_UNKNOWN,   /* it may have been done, or not */
        PW_NAMED_AWAY,      /* not done: metadata is away */
};

struct pw_name_answer {
        uint64_t token;
        enum pw_name_outcome outcome;
        struct pw_id id;
        uint64_t version; /* of the binding: counts up with each that metadata makes */
        struct pw_name_keeper keeper;
};

#endif
