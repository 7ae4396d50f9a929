/* Values that are sent, for traces. */
#include "daemon/peer/pull/sending.h"

#include "base/memory.h"
#include "cluster/pull/pull_message.h"

#include <stdlib.h>

struct sending {
        struct pw_list link;     /* in peers->sendings */
        const struct pw_offered *offered; /* NULL: it is no more; what was staged of it is still sent */
        uint32_t host;
        uint32_t under_way;      /* chunks */
        bool ended;              /* it goes with the last of these */
        uint64_t bytes, start_us, end_us;
        struct pw_id id;         /* of what was offered */
        uint64_t all_bytes;
        char tenant[];
};

static struct sending *find(const struct pw_peers *peers, const struct pw_offered *offered, uint32_t host)
{
        struct sending *sending;

        pw_list_each(&peers->sendings, sending, struct sending, link)
                if (sending->offered == offered && sending->host == host && !sending->ended)
                        return sending;
        return NULL;
}

/* It is over: traces are told. */
static void end(struct pw_peers *peers, struct sending *sending)
{
        if (sending->bytes && peers->travelled)
                peers->travelled(peers->daemon,
                                 &(struct pw_travelled){ sending->id, sending->tenant, peers->own.host, sending->host,
                                                         sending->bytes, sending->start_us, sending->end_us, PW_OK, "" });
        pw_list_remove(&sending->link);
        free(sending);
}

/* Nothing more of it is sent; it is over once what is under way is. */
static void end_unless_sent(struct pw_peers *peers, struct sending *sending)
{
        sending->ended = true;
        if (!sending->under_way)
                end(peers, sending);
}

static struct sending *begin(struct pw_peers *peers, const struct pw_offered *offered, uint32_t host)
{
        struct sending *sending = malloc(sizeof *sending + strlen(offered->tenant) + 1);

        if (!sending)
                return NULL;
        *sending = (struct sending){ .offered = offered, .host = host, .start_us = pw_now_us(), .id = offered->id,
                                     .all_bytes = offered->bytes };
        strcpy(sending->tenant, offered->tenant);
        pw_list_init(&sending->link);
        pw_list_append(&peers->sendings, &sending->link);
        return sending;
}

void pw_sending_begin(struct pw_peers *peers, const struct pw_offered *offered, uint32_t host, uint64_t send)
{
        struct sending *sending = find(peers, offered, host);

        if (!sending)
                sending = begin(peers, offered, host);
        if (sending && pw_table_put(&peers->sends, send, sending))
                sending->under_way++;
        else if (sending && !sending->under_way && !sending->bytes)
                end(peers, sending);
}

void pw_sending_sent(struct pw_peers *peers, uint64_t send, enum pw_status status, uint64_t done_us)
{
        struct sending *sending = pw_table_remove(&peers->sends, send);

        if (!sending)
                return;
        sending->under_way--;
        if (status == PW_OK) {
                sending->bytes = pw_min_u64(sending->all_bytes, sending->bytes + PW_PULL_CHUNK_BYTES);
                sending->end_us = pw_max_u64(sending->end_us, done_us);
        }
        if (!sending->under_way && (sending->ended || sending->bytes >= sending->all_bytes))
                end(peers, sending);
}

void pw_sending_let_go(struct pw_peers *peers, const struct pw_offered *offered)
{
        struct sending *sending;

        pw_list_each(&peers->sendings, sending, struct sending, link)
                if (sending->offered == offered) {
                        sending->offered = NULL;
                        end_unless_sent(peers, sending);
                }
}

void pw_sending_ended(struct pw_peers *peers, uint32_t host)
{
        struct sending *sending;

        pw_list_each(&peers->sendings, sending, struct sending, link)
                if (sending->host == host)
                        end_unless_sent(peers, sending);
}

void pw_sending_done(struct pw_peers *peers)
{
        struct sending *sending;

        pw_list_each(&peers->sendings, sending, struct sending, link) {
                pw_list_remove(&sending->link);
                free(sending);
        }
        pw_table_done(&peers->sends);
}
