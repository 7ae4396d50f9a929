/* Programs over 2 to 4,096 devices of many hosts, which exist here only.
 */
#ifndef PW_TESTS_PROGRAM_WIDE_H
#define PW_TESTS_PROGRAM_WIDE_H

#include "program/graph/graph_make.h"

struct pw_image;

#define WIDE_FIRST_HOST 7u
#define WIDE_PER_HOST 8u     /* devices of a host */
#define WIDE_PER_ISLAND 4u   /* of them */
#define WIDE_SLICES 3u       /* of a program, at most */
#define WIDE_COUNTS 5u
#define WIDE_PROGRAMS 4u

/* Devices. */
extern const uint32_t wide_counts[WIDE_COUNTS];

/* Of so many steps, over so many devices. */
typedef void wide_maker(struct pw_graph *graph, uint32_t count, uint32_t steps);

/* `first`: from where on the first host is full, and there are transfers over islands: two nodes each where inside one it is
 * one. */
struct wide_program { const char *name; wide_maker *make; uint32_t first; };
extern const struct wide_program wide_programs[WIDE_PROGRAMS];

/* Each step makes a result of all devices. */
void wide_results(struct pw_graph *graph, uint32_t count, uint32_t steps);
/* Its image, looked at whole where it has one step. Own: the caller's. */
struct pw_image *wide_lower(struct pw_graph *graph, uint32_t steps);
/* Processor time of this thread. */
double wide_cpu_s(void);

#endif
