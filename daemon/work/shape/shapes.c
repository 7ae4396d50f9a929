/* Answers of shape functions by question. */
#include "daemon/work/shape/shapes.h"

#include "base/memory.h"

struct output { uint32_t dtype; struct pw_dims dims; };

struct pw_shape_answer {
        struct pw_list link;
        uint64_t key, digest;
        struct pw_function_facts facts;
        uint32_t output_count, question_bytes;
        struct output outputs[]; /* then the question */
};

static uint8_t *question_of(struct pw_shape_answer *answer) { return (uint8_t *)&answer->outputs[answer->output_count]; }

static uint64_t bytes_of(const struct pw_shape_answer *answer)
{
        return sizeof *answer + answer->output_count * sizeof answer->outputs[0] + answer->question_bytes;
}

uint64_t pw_shapes_key(const struct pw_hash_secret *secret, const struct pw_shape_question *question)
{
        return pw_hash(secret, question->bytes, question->count) ^ question->digest;
}

void pw_shapes_init(struct pw_shapes *shapes)
{
        *shapes = (struct pw_shapes){ 0 };
        pw_list_init(&shapes->used);
}

static void count_bytes(struct pw_shapes *shapes, uint64_t more, uint64_t less, uint32_t cells_before)
{
        shapes->bytes += more + (uint64_t)shapes->answers.capacity * sizeof *shapes->answers.cells;
        shapes->bytes -= less + (uint64_t)cells_before * sizeof *shapes->answers.cells;
}

static void drop(struct pw_shapes *shapes, struct pw_shape_answer *answer)
{
        uint32_t cells = shapes->answers.capacity;

        pw_table_remove(&shapes->answers, answer->key);
        pw_list_remove(&answer->link);
        count_bytes(shapes, 0, bytes_of(answer), cells);
        free(answer);
}

void pw_shapes_done(struct pw_shapes *shapes)
{
        while (!pw_list_empty(&shapes->used))
                drop(shapes, pw_list_first(&shapes->used, struct pw_shape_answer, link));
        pw_table_done(&shapes->answers);
        pw_shapes_init(shapes);
}

bool pw_shapes_find(struct pw_shapes *shapes, const struct pw_shape_question *question, struct pw_shape_task *task,
                    struct pw_function_facts *ret_facts)
{
        struct pw_shape_answer *answer = pw_table_get(&shapes->answers, question->key);

        if (!answer || answer->digest != question->digest || answer->question_bytes != question->count ||
            answer->output_count != task->output_count || memcmp(question_of(answer), question->bytes, question->count) != 0)
                return false;
        for (uint32_t i = 0; i < answer->output_count; i++) {
                task->outputs[i].dtype = answer->outputs[i].dtype;
                task->outputs[i].dims = answer->outputs[i].dims;
        }
        *ret_facts = answer->facts;
        pw_list_remove(&answer->link);
        pw_list_append(&shapes->used, &answer->link);
        return true;
}

void pw_shapes_keep(struct pw_shapes *shapes, const struct pw_shape_question *question, const struct pw_shape_task *task,
                    const struct pw_function_facts *facts)
{
        struct pw_shape_answer *answer, *old = pw_table_get(&shapes->answers, question->key);
        uint32_t cells;

        if (question->count > PW_SHAPES_QUESTION_MAX || facts->digest != question->digest)
                return;
        answer = malloc(sizeof *answer + task->output_count * sizeof answer->outputs[0] + question->count);
        if (!answer)
                return;
        *answer = (struct pw_shape_answer){ .key = question->key, .digest = question->digest, .facts = *facts,
                                            .output_count = task->output_count, .question_bytes = (uint32_t)question->count };
        for (uint32_t i = 0; i < task->output_count; i++)
                answer->outputs[i] = (struct output){ task->outputs[i].dtype, task->outputs[i].dims };
        memcpy(question_of(answer), question->bytes, question->count);
        if (old)
                drop(shapes, old);
        cells = shapes->answers.capacity;
        if (!pw_table_put(&shapes->answers, question->key, answer)) {
                free(answer);
                return;
        }
        pw_list_append(&shapes->used, &answer->link);
        count_bytes(shapes, bytes_of(answer), 0, cells);
        while (shapes->bytes > PW_SHAPES_BYTES_MAX)
                drop(shapes, pw_list_first(&shapes->used, struct pw_shape_answer, link));
}
