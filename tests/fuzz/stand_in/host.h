/* A daemon without sockets and processes, for targets that play its clients and executors: the product's store, scheduler, lanes,
 * turns, boards and traces over plain memory. Client 0 and device 1 are the targets' to misuse; client 1 keeps to the protocol,
 * and its run on device 0 has to end well whatever they do.
 *
 * Programs, of either client: 0 takes one input on device 0; 1 takes two, the first donated, over two devices of an island; 2
 * takes one over four devices of two islands and adds it up.
 */
#ifndef PW_FUZZ_HOST_H
#define PW_FUZZ_HOST_H

#include "daemon/child/child.h"
#include "daemon/memory/segment.h"
#include "store/fixture_test.h"
#include "tests/fuzz/fuzz.h"

#define FUZZ_CLIENTS 2u
#define FUZZ_DEVICES 4u
#define FUZZ_ISLANDS 2u
#define FUZZ_PROGRAMS 3u
#define FUZZ_SLOTS 8u

struct fuzz_client {
        struct pw_dsession session;
        struct client *memory;
        struct pw_segment segment;
        struct pw_store_grant rooms, futures;
        struct pw_ring_writer lanes[PW_LANES_MAX];
        bool dead;
};

struct fuzz_host {
        struct pw_daemon daemon;
        struct pw_tenant tenant;
        struct fixture fixture;
        struct pw_segment futures;
        struct fuzz_client clients[FUZZ_CLIENTS];
        uint32_t programs[FUZZ_PROGRAMS]; /* handles */
        uint64_t now_us;
        uint64_t ending;                  /* devices whose process the daemon wants to end */
        struct place kept, result;        /* of client 1: its value, and what its run makes of it */
};

void fuzz_host_open(struct fuzz_host *host);
/* All that client 0 did is over: it dies, executors end and start again, what is submitted ends; client 1 has its result, and in
 * the end all memory is free. */
void fuzz_host_close(struct fuzz_host *host);
/* Turns until nothing happens, 64 at most. */
void fuzz_host_turn(struct fuzz_host *host);
/* The executor of a device does all that is ordered, without a word. */
void fuzz_host_work(struct fuzz_host *host, uint32_t device);
/* Its process ends, and another one starts. */
void fuzz_host_kill_device(struct fuzz_host *host, uint32_t device);
/* A RUN record in a lane, published. Inputs are cells with flags, results slots. */
struct fuzz_run {
        uint32_t program;
        const struct pw_cell *inputs;
        uint32_t input_count;
        const struct pw_cell *results;
        uint32_t result_count;
};
void fuzz_host_run(struct fuzz_client *client, uint32_t lane, const struct fuzz_run *run);
struct pw_cell fuzz_host_operand(struct place place);
void fuzz_host_cell(struct fuzz_client *client, uint32_t lane, struct pw_cell cell);
void fuzz_host_end(struct fuzz_host *host, struct fuzz_client *client, bool dead);

#endif
