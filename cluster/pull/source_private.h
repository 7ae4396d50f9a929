/* What the files of sources share. Nobody else includes this. */
#ifndef PW_CLUSTER_PULL_SOURCE_PRIVATE_H
#define PW_CLUSTER_PULL_SOURCE_PRIVATE_H

#include "cluster/pull/source.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/table.h"

struct pw_offer {
        struct pw_list link, due;
        struct pw_list sends;      /* of it that are not over */
        struct pw_offer_params params;
        enum pw_offer_state state;
        enum pw_status status;     /* why it was withdrawn */
        uint64_t number;
        uint32_t chunks, here_count;
        uint32_t users;            /* sends whose executor or thread has its room */
        _Atomic uint64_t here[];
};

/* Who asks: it stays over terms, as threads of an ended one may still have slots. */
struct pw_asker_host {
        struct pw_list due;
        struct pw_list sends;      /* in the order in which they were asked for */
        struct pw_table asks;      /* those that it may stop, by its number */
        uint32_t host, count;
        uint64_t last_ask;
        uint32_t slots;            /* bits: taken */
        uint32_t busy[PW_PULL_STREAMS_MAX];
};

struct pw_send {
        struct pw_list of_host, of_offer;
        struct pw_asker_host *host;
        struct pw_offer *offer;    /* NULL: refused, or it has the room no more and the offer has gone */
        enum pw_send_state state;
        enum pw_status status;     /* of REFUSED */
        uint64_t number, ask;
        uint32_t stream, chunk, slot; /* slot: from 1 on; 0: none */
        bool uses_room, uses_stream;
        bool told_wait, stop_due;
};

struct pw_pull_source {
        struct pw_pull_source_params params;
        uint64_t last_number, last_send;
        struct pw_table offers, sends, hosts;
        struct pw_list offers_due, hosts_due;
        uint32_t in[PW_SEND_STATES], leaving;
};

bool pw_offer_step(struct pw_pull_source *source, struct pw_offer *offer, enum pw_offer_event event);
bool pw_send_step(struct pw_pull_source *source, struct pw_send *send, enum pw_send_event event);
void pw_offer_forget(struct pw_pull_source *source, struct pw_offer *offer);
/* It is over, and gives back what it had. */
void pw_send_forget(struct pw_pull_source *source, struct pw_send *send);
static inline bool pw_offer_has(const struct pw_offer *offer, uint32_t chunk)
{
        return offer->state == PW_OFFER_ALL || (offer->state == PW_OFFER_PART && pw_bits_has(offer->here, chunk));
}

#endif
