/* The order in which calls are lowered where stages have quotas.
 *
 * A call of a stage whose outputs are read outside of it takes a credit, in the order of the trace, and gives it back when the
 * last of those readers is lowered. The first call of the trace that has its arguments and its credit comes next; a value in
 * another layout or on another slice is made where it is first read. So the order needs no more rooms than the quotas say, a
 * device that waits for a credit lets others go on, and a program that can never get one is refused here. */
#include "program/lower/lowering.h"

#include "base/memory.h"

struct edges { uint32_t *first, *items; }; /* of i: items[first[i]] to items[first[i + 1]] - 1 */

struct stage {
        uint32_t *calls;          /* that take a credit */
        uint32_t count, next, credits;
};

struct credit {
        const struct pw_graph *graph;
        uint32_t *order, order_count;  /* graph values */
        uint32_t *missing;        /* per call: arguments that are not made */
        uint32_t *readers;        /* per call that takes a credit: reads that are left */
        bool *takes, *lowered;    /* per call; per value */
        /* per value: whose room is read in order to read it; the call that it is made from, PW_NODE_NONE: an input */
        uint32_t *rooms, *makers;
        uint32_t *chain;          /* conversions that lead to the value being made */
        struct edges users;       /* per call: calls that need it, once per argument */
        struct edges moves;       /* per call: conversions that are made at once */
        struct stage *stages;
        uint32_t *stage_calls;    /* of all of them */
        uint32_t *heap, heap_count; /* calls that can be lowered, the first of the trace on top */
        uint32_t done;
};

/* --- the graph as it is read ------------------------------------------------------------------------------------------- */

static bool changes_nothing(const struct pw_graph *graph, const struct pw_graph_value *value)
{
        const struct pw_graph_value *source = &graph->values[value->source];

        return value->slice == source->slice &&
               pw_sharding_equal(&value->sharding, &source->sharding, graph->slices[value->slice].mesh);
}

/* A conversion is made from an earlier value, so what is known of that is known. */
static void find_sources(struct credit *credit)
{
        const struct pw_graph *graph = credit->graph;

        for (uint32_t v = 0; v < graph->value_count; v++) {
                const struct pw_graph_value *value = &graph->values[v];
                bool made = value->kind == PW_VALUE_AS;
                credit->rooms[v] = made && changes_nothing(graph, value) ? credit->rooms[value->source] : v;
                credit->makers[v] = made ? credit->makers[value->source] : value->kind == PW_VALUE_CALL ? value->call :
                        PW_NODE_NONE;
        }
}

/* Something reads `value`: `reader` is a call, or PW_NODE_NONE for a conversion. */
static void note_read(struct credit *credit, uint32_t value, uint32_t reader)
{
        const struct pw_graph *graph = credit->graph;
        const struct pw_graph_value *room = &graph->values[credit->rooms[value]];
        const struct pw_graph_call *maker;

        if (room->kind != PW_VALUE_CALL)
                return;
        maker = &graph->calls[room->call];
        credit->readers[room->call]++;
        credit->takes[room->call] |= maker->stage && (reader == PW_NODE_NONE || graph->calls[reader].stage != maker->stage);
}

static void note_reads(struct credit *credit)
{
        const struct pw_graph *graph = credit->graph;

        for (uint32_t c = 0; c < graph->call_count; c++)
                for (uint32_t a = 0; a < graph->calls[c].arg_count; a++)
                        note_read(credit, graph->calls[c].args[a], c);
        for (uint32_t v = 0; v < graph->value_count; v++)
                if (graph->values[v].kind == PW_VALUE_AS && !changes_nothing(graph, &graph->values[v]))
                        note_read(credit, graph->values[v].source, PW_NODE_NONE);
}

/* Pairs by their first number: counted, then filled. */
struct pair { uint32_t from, to; };
static bool edges_make(struct edges *edges, uint32_t count, const struct pair *pairs, uint32_t pair_count)
{
        edges->first = calloc((size_t)count + 2, sizeof *edges->first);
        edges->items = calloc((size_t)pair_count + 1, sizeof *edges->items);
        if (!edges->first || !edges->items)
                return false;
        for (uint32_t i = 0; i < pair_count; i++)
                edges->first[pairs[i].from + 2]++;
        for (uint32_t i = 2; i < count + 2; i++)
                edges->first[i] += edges->first[i - 1];
        for (uint32_t i = 0; i < pair_count; i++)
                edges->items[edges->first[pairs[i].from + 1]++] = pairs[i].to;
        return true;
}

static bool find_users(struct credit *credit)
{
        const struct pw_graph *graph = credit->graph;
        pw_auto_free struct pair *pairs = NULL;
        uint32_t count = 0;

        for (uint32_t c = 0; c < graph->call_count; c++)
                count += graph->calls[c].arg_count;
        pairs = calloc((size_t)count + 1, sizeof *pairs);
        if (!pairs)
                return false;
        count = 0;
        for (uint32_t c = 0; c < graph->call_count; c++)
                for (uint32_t a = 0; a < graph->calls[c].arg_count; a++) {
                        uint32_t maker = credit->makers[graph->calls[c].args[a]];
                        if (maker == PW_NODE_NONE)
                                continue;
                        credit->missing[c]++;
                        pairs[count++] = (struct pair){ maker, c };
                }
        return edges_make(&credit->users, graph->call_count, pairs, count);
}

/* Conversions that are results, or that nothing reads, are made with what they are made from. */
static bool find_moves(struct credit *credit)
{
        const struct pw_graph *graph = credit->graph;
        pw_auto_free bool *later = calloc((size_t)graph->value_count + 1, sizeof *later);
        pw_auto_free struct pair *pairs = calloc((size_t)graph->value_count + 1, sizeof *pairs);
        uint32_t count = 0;

        if (!later || !pairs)
                return false;
        for (uint32_t c = 0; c < graph->call_count; c++)
                for (uint32_t a = 0; a < graph->calls[c].arg_count; a++)
                        later[graph->calls[c].args[a]] = true;
        for (uint32_t v = 0; v < graph->value_count; v++)
                if (graph->values[v].kind == PW_VALUE_AS)
                        later[graph->values[v].source] = true;
        for (uint32_t r = 0; r < graph->result_count; r++)
                later[graph->results[r]] = false;
        for (uint32_t v = 0; v < graph->value_count; v++)
                if (graph->values[v].kind == PW_VALUE_AS && !later[v] && credit->makers[v] != PW_NODE_NONE)
                        pairs[count++] = (struct pair){ credit->makers[v], v };
        return edges_make(&credit->moves, graph->call_count, pairs, count);
}

static void find_stages(struct credit *credit)
{
        const struct pw_graph *graph = credit->graph;
        uint32_t at = 0;

        for (uint32_t r = 0; r < graph->result_count; r++) { /* its room is the caller's */
                const struct pw_graph_value *value = &graph->values[credit->rooms[graph->results[r]]];
                if (value->kind == PW_VALUE_CALL && graph->calls[value->call].output_count == 1)
                        credit->takes[value->call] = false;
        }
        for (uint32_t c = 0; c < graph->call_count; c++)
                if (graph->calls[c].stage && credit->takes[c])
                        credit->stages[graph->calls[c].stage - 1].count++;
        for (uint32_t s = 0; s < graph->stage_count; s++) {
                struct stage *stage = &credit->stages[s];
                stage->credits = graph->stages[s].quota;
                stage->calls = credit->stage_calls + at;
                at += stage->count;
                stage->count = 0;
        }
        for (uint32_t c = 0; c < graph->call_count; c++) {
                struct stage *stage = graph->calls[c].stage && credit->takes[c] ? &credit->stages[graph->calls[c].stage - 1] : NULL;
                if (stage)
                        stage->calls[stage->count++] = c;
        }
}

/* --- calls that can be lowered ------------------------------------------------------------------------------------------ */

static void heap_push(struct credit *credit, uint32_t call)
{
        uint32_t at = credit->heap_count++;

        for (; at && credit->heap[(at - 1) / 2] > call; at = (at - 1) / 2)
                credit->heap[at] = credit->heap[(at - 1) / 2];
        credit->heap[at] = call;
}

static uint32_t heap_pop(struct credit *credit)
{
        uint32_t top = credit->heap[0], last = credit->heap[--credit->heap_count], at = 0;

        for (uint32_t child = 1; child < credit->heap_count; child = 2 * at + 1) {
                child += child + 1 < credit->heap_count && credit->heap[child + 1] < credit->heap[child];
                if (credit->heap[child] >= last)
                        break;
                credit->heap[at] = credit->heap[child];
                at = child;
        }
        credit->heap[at] = last;
        return top;
}

/* Credits go to the calls of a stage in the order of the trace. */
static void give_credits(struct credit *credit, struct stage *stage)
{
        while (stage->credits && stage->next < stage->count && !credit->missing[stage->calls[stage->next]]) {
                stage->credits--;
                heap_push(credit, stage->calls[stage->next++]);
        }
}

static void has_arguments(struct credit *credit, uint32_t call)
{
        if (credit->takes[call])
                give_credits(credit, &credit->stages[credit->graph->calls[call].stage - 1]);
        else
                heap_push(credit, call);
}

/* --- lowering one -------------------------------------------------------------------------------------------------------- */

static void was_read(struct credit *credit, uint32_t value)
{
        const struct pw_graph_value *room = &credit->graph->values[credit->rooms[value]];
        struct stage *stage;

        if (room->kind != PW_VALUE_CALL || --credit->readers[room->call] || !credit->takes[room->call])
                return;
        stage = &credit->stages[credit->graph->calls[room->call].stage - 1];
        stage->credits++;
        give_credits(credit, stage);
}

static void lower(struct credit *credit, uint32_t value)
{
        credit->lowered[value] = true;
        credit->order[credit->order_count++] = value;
}

/* The conversions that lead to `value`, those that were not made yet, the first one first. */
static void convert(struct credit *credit, uint32_t value)
{
        const struct pw_graph *graph = credit->graph;
        uint32_t count = 0;

        for (; !credit->lowered[value] && graph->values[value].kind == PW_VALUE_AS; value = graph->values[value].source)
                credit->chain[count++] = value;
        while (count) {
                uint32_t made = credit->chain[--count];
                lower(credit, made);
                if (!changes_nothing(graph, &graph->values[made]))
                        was_read(credit, graph->values[made].source);
        }
}

static void lower_call(struct credit *credit, uint32_t index)
{
        const struct pw_graph_call *call = &credit->graph->calls[index];

        for (uint32_t a = 0; a < call->arg_count; a++)
                convert(credit, call->args[a]);
        for (uint32_t i = 0; i < call->output_count; i++)
                lower(credit, call->outputs[i]);
        for (uint32_t a = 0; a < call->arg_count; a++)
                was_read(credit, call->args[a]);
        for (uint32_t i = credit->moves.first[index]; i < credit->moves.first[index + 1]; i++)
                convert(credit, credit->moves.items[i]);
        for (uint32_t i = credit->users.first[index]; i < credit->users.first[index + 1]; i++)
                if (!--credit->missing[credit->users.items[i]])
                        has_arguments(credit, credit->users.items[i]);
        credit->done++;
}

/* --- all of them --------------------------------------------------------------------------------------------------------- */

/* The first call that was not lowered has its arguments: what comes before it was. So it is a credit that it lacks. */
static enum pw_status refuse(const struct credit *credit, struct pw_error *ret_err)
{
        const struct pw_graph *graph = credit->graph;
        uint32_t call = 0;

        while (credit->lowered[graph->calls[call].outputs[0]])
                call++;
        return pw_error_set(
                ret_err, PW_BAD_PROGRAM,
                "call %u, %s, needs a credit of stage %s, whose quota is %u: only calls that come later would give one back", call,
                graph->calls[call].function, graph->stages[graph->calls[call].stage - 1].name,
                graph->stages[graph->calls[call].stage - 1].quota);
}

static enum pw_status order(struct credit *credit, struct pw_error *ret_err)
{
        const struct pw_graph *graph = credit->graph;

        for (uint32_t v = 0; v < graph->value_count; v++)
                if (graph->values[v].kind == PW_VALUE_INPUT)
                        lower(credit, v);
        for (uint32_t c = 0; c < graph->call_count; c++)
                if (!credit->missing[c] && !credit->takes[c])
                        heap_push(credit, c);
        for (uint32_t s = 0; s < graph->stage_count; s++)
                give_credits(credit, &credit->stages[s]);
        while (credit->heap_count)
                lower_call(credit, heap_pop(credit));
        for (uint32_t v = 0; v < graph->value_count; v++) /* made from inputs */
                convert(credit, v);
        return credit->done == graph->call_count ? PW_OK : refuse(credit, ret_err);
}

static void credit_done(struct credit *credit)
{
        free(credit->missing);
        free(credit->readers);
        free(credit->lowered);
        free(credit->rooms);
        free(credit->users.first);
        free(credit->users.items);
        free(credit->moves.first);
        free(credit->moves.items);
        free(credit->stages);
        free(credit->stage_calls);
        free(credit->heap);
}

enum pw_status pw_low_order(const struct pw_lowering *low, uint32_t *ret_order, bool *ret_takes, struct pw_error *ret_err)
{
        const struct pw_graph *graph = low->graph;
        size_t calls = (size_t)graph->call_count + 1;
        __attribute__((cleanup(credit_done))) struct credit credit = { .graph = graph, .order = ret_order, .takes = ret_takes };

        credit.missing = calloc(calls, sizeof *credit.missing);
        credit.readers = calloc(calls, sizeof *credit.readers);
        credit.lowered = calloc((size_t)graph->value_count + 1, sizeof *credit.lowered);
        credit.rooms = calloc(3 * ((size_t)graph->value_count + 1), sizeof *credit.rooms);
        credit.stages = calloc((size_t)graph->stage_count + 1, sizeof *credit.stages);
        credit.stage_calls = calloc(calls, sizeof *credit.stage_calls);
        credit.heap = calloc(calls, sizeof *credit.heap);
        if (!credit.missing || !credit.readers || !credit.lowered || !credit.rooms || !credit.stages || !credit.stage_calls ||
            !credit.heap)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        credit.makers = credit.rooms + graph->value_count + 1;
        credit.chain = credit.makers + graph->value_count + 1;
        find_sources(&credit);
        if (!find_users(&credit) || !find_moves(&credit))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        note_reads(&credit);
        find_stages(&credit);
        return order(&credit, ret_err);
}
