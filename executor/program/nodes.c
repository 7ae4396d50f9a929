/* The resolved nodes that are kept, of all programs: a bounded number of bytes.
 *
 * Nodes go in the order of a list, those that ran again since they were last looked at excepted. While there is room a node that
 * comes is the last to go. Once there is none it is the next one, and only one of SQUEEZED_KEPT is the last: so a program that is
 * larger than the cache, or that runs once, takes the place of its own nodes and hardly of those that run again and again.
 */
#include "executor/program/program.h"

#define SQUEEZED_KEPT 16u
#define LOOKS_MAX 8u /* at nodes that ran again, for one that goes */

static struct pw_program_node **bucket_of(struct pw_programs *programs, const struct pw_program_node *node)
{
        return &programs->buckets[(node->program->first_bucket + node->index) % PW_NODE_BUCKETS];
}

void pw_program_node_drop(struct pw_programs *programs, struct pw_program_node *node)
{
        struct pw_program_node **at = bucket_of(programs, node);

        pw_programs_settle(programs);
        while (*at != node)
                at = &(*at)->next;
        *at = node->next;
        pw_list_remove(&node->link);
        pw_list_remove(&node->of_program);
        pw_program_node_free(programs, node);
}

/* Until they take no more than they may, or there are none. */
static void nodes_shed(struct pw_programs *programs)
{
        uint32_t looks = 0;

        while (programs->node_bytes > PW_NODES_BYTES && !pw_list_empty(&programs->nodes)) {
                struct pw_program_node *node = pw_list_first(&programs->nodes, struct pw_program_node, link);
                if (!node->used || looks++ >= LOOKS_MAX) {
                        pw_program_node_drop(programs, node);
                        looks = 0;
                        continue;
                }
                node->used = false;
                pw_list_remove(&node->link);
                pw_list_append(&programs->nodes, &node->link);
        }
}

enum pw_status pw_program_node_open(struct pw_programs *programs, struct pw_exec_program *program, uint32_t index,
                                    struct pw_program_node **ret_node, struct pw_error *ret_err)
{
        struct pw_program_node *node;
        enum pw_status status = pw_program_node_resolve(programs, program, index, &node, ret_err);
        bool full;

        if (status != PW_OK)
                return status;
        full = programs->node_bytes > PW_NODES_BYTES;
        nodes_shed(programs);
        if (full && programs->squeezed++ % SQUEEZED_KEPT)
                pw_list_prepend(&programs->nodes, &node->link);
        else
                pw_list_append(&programs->nodes, &node->link);
        pw_list_append(&program->nodes, &node->of_program);
        node->next = *bucket_of(programs, node);
        *bucket_of(programs, node) = node;
        *ret_node = node;
        return PW_OK;
}
