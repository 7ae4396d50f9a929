/* Hosts of a cluster with metadata in a Redis of the test's own.
 */
#ifndef PW_TESTS_CONFORMANCE_MEMBERS_H
#define PW_TESTS_CONFORMANCE_MEMBERS_H

#include "daemon/loop.h"
#include "daemon/meta/meta.h"
#include "tests/conformance/server.h"

#define LEASE_US 400000u
#define HOSTS 3u

/* A host, and what it was told. */
struct host {
        struct pw_meta *meta;
        struct pw_meta_host is;
        uint32_t counts[PW_META_TROUBLE + 1]; /* events of each kind */
        char text[PW_META_TROUBLE + 1][512];  /* the last of each */
        enum pw_status status[PW_META_TROUBLE + 1];
        struct pw_host_row row;
        struct pw_id changed;
        struct pw_name_answer answer;
        uint32_t answers;
        uint64_t slowest_us; /* of its turns */
};

struct scene {
        struct server server;
        struct event_base *loop;
        struct host hosts[HOSTS];
        char folder[64];
        const char *user, *password;
        bool same_name;  /* all hosts have one */
        char address[96];
};

/* For cmocka: *state is a scene without a server; what there is in the end is ended. */
int members_set_up(void **state);
int members_tear_down(void **state);
/* Host `i` of three, with what it had when it was open before. */
void members_open(struct scene *scene, uint32_t i, bool new_cluster);
void members_close(struct scene *scene, uint32_t i);
/* A turn of each host, and a sleep until there is something to do; never longer than 20 ms. */
void members_turn(struct scene *scene);
/* A server, and hosts that have joined; the test is skipped where no server is to be had. */
void members_begin(struct scene *scene, uint32_t count);
struct pw_id members_object(const struct host *host, uint32_t number);
/* About a name of tenant ada. */
void members_submit(struct scene *scene, uint32_t i, enum pw_name_ask_kind kind, const char *name, struct pw_id id);
enum pw_name_outcome members_ask(struct scene *scene, uint32_t i, enum pw_name_ask_kind kind, const char *name, struct pw_id id);
enum pw_name_outcome members_resolve(struct scene *scene, uint32_t i, const char *name);
/* It was told so last, and its sentence has these words. */
void members_expect(const struct host *host, enum pw_meta_event_kind kind, enum pw_status status, const char *words);

#define until(scene, condition)                                                                                        \
        for (uint64_t end_us = pw_now_us() + 20000000; !(condition); members_turn(scene))                                     \
                if (pw_now_us() > end_us)                                                                              \
                        fail_msg("line %d: not within 20 s: %s", __LINE__, #condition)

#endif
