/* Two hosts in one process, alpha and beta, and a loop: where the scenes of transports are played, over one kind after the other.
 *
 * beta listens; alpha calls. What came of it stands in `met`.
 */
#ifndef PW_TESTS_CONFORMANCE_TRANSPORT_PLACE_H
#define PW_TESTS_CONFORMANCE_TRANSPORT_PLACE_H

#include "daemon/loop.h"
#include "daemon/transport/pipe.h"

struct place {
        char folder[32];
        const struct pw_transport_kind *kind;
        struct pw_loop loop;
        struct event *timer;
        struct pw_transport *alpha, *beta;
        struct pw_listener *listener;
        struct pw_dial *dial;
        char address[PW_TRANSPORT_ADDRESS_TEXT]; /* of beta */
        /* what was told */
        struct pw_pipe *called, *came;           /* the place's until they are taken */
        struct pw_greeting answer, greeting;
        uint32_t called_count, came_count, refused_count;
        uint32_t refused[PW_FORKED + 1];         /* by status */
        struct pw_error why, refusal;            /* of the call that failed last; of the refusal that was told last */
};

struct place_params {
        const char *kind;
        const char *alpha_name, *beta_name;      /* NULL: "alpha", "beta" */
        const char *alpha_shows, *beta_shows;    /* whose certificate, or which secret, if not its own: see place_credentials() */
        uint64_t handshake_us;                   /* 0: a minute, for whom nobody is late */
};

/* Files that prove hosts, made once for a program; removed at its end. */
void place_files_make(void);
void place_files_remove(void);
/* The same for a group of cmocka tests, which do not take longer than two minutes. */
int place_group_begin(void **state);
int place_group_end(void **state);
/* What the host shows there; the names of files are good until the next call. `shown`: alpha, beta, gamma, old (a certificate that
 * is over), other/alpha, other/beta (of another authority), other-secret. */
void place_credentials(const char *kind, const char *shown, struct pw_transport_params *params);

void place_make(struct place *place, const struct place_params *params);
void place_remove(struct place *place);

/* A turn of the loop, which waits for something to happen; until what is counted is at least `count`. */
void place_turn(struct place *place);
void place_glance(struct place *place); /* a turn that waits for nothing */
void place_await(struct place *place, const uint32_t *counter, uint32_t count);

/* Call beta and wait for what comes of it: PW_OK, or place->why. The pipes of both are there then, or neither. */
enum pw_status place_call(struct place *place, const char *expected, enum pw_greeting_use use);
/* Without waiting. */
void place_begin_call(struct place *place, const char *expected, enum pw_greeting_use use);
void place_drop_pipes(struct place *place);

/* A stranger's socket at beta's door, which blocks. */
int place_knock(const struct place *place);

/* Every kind, one after the other. */
#define each_kind(kind) for (uint32_t i_##kind = 0; ((kind) = pw_transport_kind_at(i_##kind)); i_##kind++)

#endif
