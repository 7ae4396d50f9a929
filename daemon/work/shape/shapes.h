/* What shape functions answered, of one tenant: a cache, bounded in bytes, the answer that was used longest ago goes first.
 *
 * A question is the bytes of its Describe message, beside the digest of its module. Its key only says where to look: whose
 * questions have the same key must not matter, so a hit compares all of the question.
 * Threads: one at a time.
 */
#ifndef PW_DAEMON_WORK_SHAPE_SHAPES_H
#define PW_DAEMON_WORK_SHAPE_SHAPES_H

#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "program/graph/graph.h"

#define PW_SHAPES_BYTES_MAX (UINT64_C(4) << 20)
#define PW_SHAPES_QUESTION_MAX (64u << 10) /* longer ones are asked again */

struct pw_shapes {
        struct pw_table answers; /* key -> struct pw_shape_answer */
        struct pw_list used;     /* the one used last at the end */
        uint64_t bytes;          /* of heap, tables included */
};

struct pw_shape_question {
        const uint8_t *bytes;
        size_t count;
        uint64_t digest, key;
};

/* The key of a question. */
uint64_t pw_shapes_key(const struct pw_hash_secret *secret, const struct pw_shape_question *question);
void pw_shapes_init(struct pw_shapes *shapes);
void pw_shapes_done(struct pw_shapes *shapes);
/* Fill in the outputs of `task` and the facts, if the answer is known. */
bool pw_shapes_find(struct pw_shapes *shapes, const struct pw_shape_question *question, struct pw_shape_task *task,
                    struct pw_function_facts *ret_facts);
/* The outputs of `task` are the answer. Without memory it is not kept. */
void pw_shapes_keep(struct pw_shapes *shapes, const struct pw_shape_question *question, const struct pw_shape_task *task,
                    const struct pw_function_facts *facts);

#endif
