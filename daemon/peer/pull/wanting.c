/* Wants that wait for a device. */
#include "daemon/peer/pull/wanting.h"

#include "base/memory.h"
#include "cluster/pull/pull_message.h"
#include "daemon/memory/fetch/fetch.h"

#include <stdlib.h>

struct wanting {
        struct pw_list link; /* in peers->wantings */
        struct pw_peers *peers;
        uint32_t host;       /* 0: its term has ended */
        struct pw_pull_message want, leave;
        bool leaves;
        pw_wanting_fn *heard;
};

static void forget(struct wanting *wanting)
{
        pw_list_remove(&wanting->link);
        free(wanting);
}

/* A want takes a work of the link, which only its answer gives back: so it is heard although its puller has left. */
static void fetched(void *context, const struct pw_error *err)
{
        struct wanting *wanting = context, was = *wanting;

        forget(wanting);
        if (!was.host)
                return;
        was.heard(was.peers, was.host, &was.want, err ? pw_status_told(err->status) : PW_OK);
        if (was.leaves)
                was.heard(was.peers, was.host, &was.leave, PW_OK);
}

enum pw_status pw_wanting_begin(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message,
                                struct pw_object *object, pw_wanting_fn *heard, struct pw_error *ret_err)
{
        struct wanting *wanting = calloc(1, sizeof *wanting);
        enum pw_status status;

        if (!wanting)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what a host wants");
        *wanting = (struct wanting){ .peers = peers, .host = host, .want = *message, .heard = heard };
        pw_list_init(&wanting->link);
        status = pw_fetch_for(peers->daemon, object, &(struct pw_fetch_taker){ fetched, wanting }, ret_err);
        if (status == PW_OK)
                pw_list_append(&peers->wantings, &wanting->link);
        else
                free(wanting);
        return status;
}

bool pw_wanting_leaves(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message)
{
        struct wanting *wanting;

        pw_list_each(&peers->wantings, wanting, struct wanting, link) {
                if (wanting->host != host || wanting->want.number != message->number || wanting->leaves)
                        continue;
                wanting->leave = *message;
                wanting->leaves = true;
                return true;
        }
        return false;
}

void pw_wanting_ended(struct pw_peers *peers, uint32_t host)
{
        struct wanting *wanting;

        pw_list_each(&peers->wantings, wanting, struct wanting, link)
                if (wanting->host == host)
                        wanting->host = 0;
}

void pw_wanting_done(struct pw_peers *peers)
{
        struct wanting *wanting;

        pw_list_each(&peers->wantings, wanting, struct wanting, link)
                forget(wanting);
}
