/* Floors of hosts: what bare sockets do.
 */
#ifndef PW_TESTS_BENCH_CLUSTER_FLOORS_H
#define PW_TESTS_BENCH_CLUSTER_FLOORS_H

#include "base/error.h"

struct pw_bench_streams {
        uint64_t bytes;
        uint32_t streams;   /* that share them, in chunks of 1 MiB */
        const char *proof;  /* NULL: TCP, and each chunk has a checksum that its receiver looks at; else TLS, without checksums, by
                             * cert.pem and key.pem of this folder */
};
/* Two rooms that were touched, and streams over loopback between threads. */
struct pw_bench_rooms { uint8_t *from, *to; uint64_t bytes; };
/* Own: pw_bench_rooms_done(), also after a failure. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_bench_rooms_make(uint64_t bytes, struct pw_bench_rooms *ret_rooms, struct pw_error *ret_err);
void pw_bench_rooms_done(struct pw_bench_rooms *rooms);
/* Seconds until the last byte is there; streams are open before. Errors: PW_SYSTEM, PW_FAILED. */
PW_MUST_CHECK enum pw_status pw_bench_streams_move(const struct pw_bench_streams *streams, const struct pw_bench_rooms *rooms,
                                                   double *ret_seconds, struct pw_error *ret_err);

/* loops.c: mean time of a question of 64 bytes and an answer of 1 KiB between two processes over loopback, each of which waits in
 * epoll and for nothing else. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_bench_loops_trip(uint32_t count, double *ret_us, struct pw_error *ret_err);
/* A pair of connected TCP sockets on loopback that send at once. Own: close(2). Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_bench_socket_pair(int ret_fds[2], struct pw_error *ret_err);

#endif
