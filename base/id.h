/* Parts of an object's id, and its text. The struct is public (pathways_types.h).
 *
 * Text: "h0.3/3f2a.7.12" = h<host>.<epoch>/<segment>.<slot>.<generation>; host in decimal, the rest in hexadecimal. Where
 * the epoch has many digits the text has them: every command reads back what any prints.
 */
#ifndef PW_BASE_ID_H
#define PW_BASE_ID_H

#include "base/error.h"

#define PW_SEGMENT_MAX 0xffffffu
#define PW_SLOT_MAX 0xffffffu

static inline struct pw_id pw_id_make(uint32_t host, uint32_t epoch, uint32_t segment, uint32_t slot, uint32_t generation)
{
        return (struct pw_id){ (uint64_t)host << 48 | (uint64_t)segment << 24 | slot, epoch, generation };
}
static inline uint32_t pw_id_host(struct pw_id id) { return (uint32_t)(id.place >> 48); }
static inline uint32_t pw_id_segment(struct pw_id id) { return (uint32_t)(id.place >> 24) & PW_SEGMENT_MAX; }
static inline uint32_t pw_id_slot(struct pw_id id) { return (uint32_t)id.place & PW_SLOT_MAX; }
static inline bool pw_id_equal(struct pw_id a, struct pw_id b)
{
        return a.place == b.place && a.epoch == b.epoch && a.generation == b.generation;
}

/* The public ones, which libpathways exports: see pathways.h. */
char *pw_id_format(struct pw_id id, char text[PW_ID_TEXT_BYTES]);
PW_MUST_CHECK enum pw_status pw_id_parse(const char *text, struct pw_id *ret_id, struct pw_error *ret_err);

#endif
