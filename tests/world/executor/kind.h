/* Kinds of devices in the world: each test is played over all of them.
 *
 *   early   does a gang when its executor comes to it
 *   late    calls, and bytes that loads and receivers move, are launched, up to WORLD_FLIGHTS of them ahead, and done later, in
 *           order; senders say their marks in their turn. What a call reads is looked at when it begins, and it is not run where
 *           that is an error; what is moved is looked at before its launch, and again at its end. What was made is a value when the
 *           executor has seen that
 *   apart   likewise, but a call begins as soon as the one before it is done, and computes with whatever lies there: whether that
 *           was a value is looked at in the end. Memory is one arena for all tenants
 */
#ifndef PW_TESTS_WORLD_EXECUTOR_KIND_H
#define PW_TESTS_WORLD_EXECUTOR_KIND_H

#include <stdbool.h>
#include <stdint.h>

#define WORLD_FLIGHTS 64u

enum world_kind { WORLD_EARLY, WORLD_LATE, WORLD_APART, WORLD_KINDS };
/* What is launched: a call; bytes that are moved, by a load or a receiver; a sender, which says its mark in its turn; and a load of
 * an input that lies in place. */
enum world_flight_kind { WORLD_CALLS, WORLD_MOVES, WORLD_SENDS, WORLD_PASSES, WORLD_FLIGHT_KINDS };

struct world;
struct world_flights;

/* The kind of all devices of worlds that are made from now on. `while (world_next_kind(&kind))` goes through all of them, with one
 * after it (-1: none yet); through that alone which PW_WORLD_KIND names. */
bool world_next_kind(int *kind);
enum world_kind world_kind(void);
const char *world_kind_name(int kind);
/* Tests of cmocka over each of them: how many failed. */
#define WORLD_RUN_TESTS(tests) __extension__({                                                             \
        int kind_ = -1, failed_ = 0;                                                                       \
        while (world_next_kind(&kind_))                                                                    \
                failed_ += cmocka_run_group_tests_name(world_kind_name(kind_), tests, NULL, NULL); \
        failed_;                                                                                           \
})

bool world_is_late(const struct world *world);
struct world_flights *world_flights_new(void); /* NULL: no memory. free() ends them */
void world_flights_lose(struct world_flights *flights); /* the process ended: they are never done */

#endif
