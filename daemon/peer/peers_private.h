/* What the files of peer/ share. */
#ifndef PW_DAEMON_PEER_PEERS_PRIVATE_H
#define PW_DAEMON_PEER_PEERS_PRIVATE_H

#include "cluster/borrow/borrow.h"
#include "cluster/borrow/lend.h"
#include "cluster/drain/drain.h"
#include "daemon/peer/codec.h"
#include "daemon/peer/peers.h"
#include "daemon/transport/transport.h"
#include "store/name.h"

struct pw_bulk;
struct pw_hand;
struct pw_page_maker;
struct pw_pull_source;
struct pw_pull_spread;
struct pw_pulls;
struct pw_staging;

#define PW_PEERS_BEAT_US 500000u

struct pw_peers {
        struct pw_daemon *daemon;
        struct pw_transport *transport;
        struct pw_listener *listener;
        struct pw_text_list addresses; /* of one */
        char *address;
        struct pw_observer observer;   /* of links and connections, for the log */
        bool joined;                   /* what follows is there */
        struct pw_hello own;
        struct pw_hosts hosts;
        struct pw_borrow *borrow;
        struct pw_lend *lend;
        struct pw_drain *drain;

        struct pw_table traffic;       /* number of a host -> struct pw_traffic */
        struct pw_table calls;         /* number -> struct pw_peer_call */
        uint64_t next_call;
        struct pw_list silent;         /* calls that came, and have not said who they are: those that came first are first */
        struct pw_list over;           /* calls that are freed at the end of the turn, when nothing of them is on the stack */
        struct pw_list failed;         /* calls that came to nothing at once: said in the next turn */
        uint64_t looked_us;            /* when rings were looked at for what is given back */

        /* pulling.c, offering.c, wanting.c */
        struct pw_pulls *pulls;
        struct pw_pull_source *source;
        struct pw_pull_spread *spread;
        struct pw_bulk *bulk;
        struct pw_staging *staging;
        struct pw_list offerings;      /* values of this host that others may pull */
        struct pw_list wantings;       /* what others want, and is fetched first */
        struct pw_list pullings;       /* values that this host pulls, or has pulled and holds */
        struct pw_list sendings;       /* of what is sent, for traces; and which chunk is of which: by the number of its send */
        struct pw_table sends;
        pw_travelled_fn travelled;     /* NULL: nobody wants to know */
        bool moving;                   /* what these cores want is being done */
        /* lending.c */
        struct pw_list lent;           /* sessions of the store */
        struct pw_list takings;        /* taking.c */
        struct pw_list drain_askers;   /* draining.c */
        uint64_t next_asker;
        uint32_t said_successor;       /* as metadata was told */
        bool draining;                 /* what the core wants is being done */
        /* handing.c */
        struct pw_hand *hand;
        struct pw_list handed;
        struct pw_claim_stamp hand_stamp; /* of when it was looked at last; */
        bool hand_looks;               /* it is to be looked at anyway */
        struct pw_table watched;       /* place of an object -> loans of it, as it is not decided */
        /* naming.c */
        struct pw_list names_asked, name_questions;
        struct pw_table names_waiting; /* number of a host -> what the two have said of names that are waited for */
        uint64_t next_name;
        uint32_t names_session;        /* who asks the store about names for other hosts: a number that no session has */
        /* page/paging.c */
        struct pw_list pages;
        uint64_t next_page;
        const struct pw_page_maker *page_maker;
        /* borrowing.c, opening.c, fetching.c */
        struct pw_table borrowed;      /* number -> struct pw_borrowed */
        uint64_t next_borrowed;
        struct pw_list unmade;         /* of these, that get no slot */
        bool acting;                   /* what the core wants is being done */
        struct pw_table openings;      /* number -> struct pw_opening; */
        struct pw_list opening;        /* all of them */
        uint64_t next_opening;
        struct pw_list fetches;        /* of all */
        uint64_t fetches_us;           /* when the next of them is due; UINT64_MAX: none */
};

/* Bytes to and from a host: of calls that are over, and of values. */
struct pw_traffic { uint64_t out, in, bulk_out, bulk_in; };
void pw_peers_count(struct pw_peers *peers, uint32_t number, const struct pw_traffic *more);

uint32_t pw_peers_address_count(const struct pw_host *host); /* at least 1 */
/* One of the addresses of a host, in turn: they are divided by commas. False: it has none. */
bool pw_peers_address(const struct pw_host *host, uint32_t turn, char address[PW_HOST_ADDRESS_MAX + 1]);
/* Whose claim an object has while a thread may have its room: like a run's (there is no run 0). */
extern const struct pw_owner pw_peers_threads;

/* Say this to host `number`, now or when the two have met. Where it was given up, and nobody wanted it since, nothing is said:
 * what it was about has ended. */
void pw_peers_send(struct pw_peers *peers, uint32_t number, enum pw_peer_body whose, struct pw_link_frame *frame_take);
/* One of its works is answered. */
void pw_peers_work_done(struct pw_peers *peers, uint32_t number);
/* It said what cannot be, or there is no memory for what it said: its term ends. */
void pw_peers_give_up(struct pw_peers *peers, uint32_t number, const struct pw_error *why);

#endif
