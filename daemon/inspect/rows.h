/* Building a listing: rows of typed cells, each allocated by itself.
 *
 * After a failed allocation everything is ignored and pw_rows_send() answers PW_NO_MEMORY.
 */
#ifndef PW_DAEMON_INSPECT_ROWS_H
#define PW_DAEMON_INSPECT_ROWS_H

#include "daemon/session/output.h"

struct pw_rows {
        Pathways__Wire__Row **rows;
        uint32_t count, capacity, limit; /* limit 0: none */
        uint64_t bytes_max;              /* 0: what fits into a frame to a client */
        uint64_t bytes;                  /* that they take in a frame, about */
        uint32_t cell_capacity;          /* of the row being built */
        bool truncated, failed;
        bool behind;                     /* clients had published more than was read when it began */
        bool full;                       /* the last row did not fit: its cells are ignored */
        uint64_t next;                   /* where the next page begins; 0: there is none */
};

/* Start a row; false: the limit is reached, or what fits into a frame, and what is added until the next row goes nowhere. */
bool pw_rows_begin(struct pw_rows *rows);
void pw_rows_text(struct pw_rows *rows, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void pw_rows_number(struct pw_rows *rows, const char *key, uint64_t number);
void pw_rows_signed(struct pw_rows *rows, const char *key, int64_t number); /* exact up to 2^53 */
void pw_rows_free(struct pw_rows *rows);
/* As another host is answered. Own: *ret_bytes is the caller's, free(). Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_rows_pack(const struct pw_rows *rows, uint8_t **ret_bytes, uint32_t *ret_count);
/* Send as the reply to `id`, or the error; frees the rows. */
void pw_rows_send(struct pw_rows *rows, struct pw_dsession *session, uint64_t id);

#endif
