/* Clients of the world's hosts: each puts, opens, reads, hands ids on to others by channels of its own, drops, dies. What their
 * opens come to is judged. */
#ifndef PW_WORLD_CLUSTER_CLIENTS_H
#define PW_WORLD_CLUSTER_CLIENTS_H

#include "tests/world/cluster/hosts.h"

#define CLIENTS 3u /* of each host */
#define HANDLES 5u
#define OPENS 4u
#define PASSINGS 64u

struct open { uint64_t opener, since_us, until_us; struct thing *thing; struct passing *passing; };
struct client {
        struct object *handles[HANDLES];
        bool kept[HANDLES]; /* until whom it was handed on to has it */
        struct open opens[OPENS];
};
/* An id on its way to a client. */
struct passing { bool is_there, is_read; uint64_t at_us; uint32_t host, client; struct thing *thing; bool *keeps; };

struct play {
        struct client clients[HOSTS_MAX][CLIENTS];
        struct passing passings[PASSINGS];
        uint64_t dead_until_us[HOSTS_MAX];
        uint64_t openers;
        uint64_t had, gone, lost, overdue, alone, reads, drained; /* so often */
};
extern struct play play;

void client_answered(uint32_t host, uint64_t opener, struct object *object, const struct pw_error *err);
void client_open(uint32_t host, uint32_t number, struct thing *thing, struct passing *passing, uint64_t deadline_us);
void client_drop(uint32_t host, struct client *client, uint32_t i, bool at_once);
void client_die(uint32_t host, uint32_t number, bool of_host); /* what it had is dropped; nobody waits for it, nobody hears of it */
void clients_receive(void); /* what others have handed on to them */
void clients_act(uint32_t host); /* one of them does something */
bool host_is_up(uint32_t host);

#endif
