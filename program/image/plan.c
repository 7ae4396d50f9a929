/* The plan of a program: for each of its islands the gangs in program order, and what each needs and writes. */
#include "program/image/plan.h"

#include "base/memory.h"
#include "plane/board/board.h"

struct work {
        struct pw_plan *plan;
        const struct pw_image *image;
        const struct pw_slice_map *slices;
        uint32_t host;
        uint64_t *members; /* per column, then per slice */
};

/* A value that travels in the marks is not read in its room. */
static bool reads_afar(const struct pw_image_node *node)
{
        return node->kind == PW_NODE_TRANSFER && !node->eager && node->phase != PW_PHASE_RECV;
}

/* `members`: of each slice in that island. */
static uint64_t node_members(const struct pw_image_node *node, const uint64_t *members)
{
        bool receives = node->kind != PW_NODE_TRANSFER || node->phase != PW_PHASE_SEND;
        bool sends = node->kind == PW_NODE_TRANSFER && node->phase != PW_PHASE_RECV;

        return (receives ? members[node->slice] : 0) | (sends ? members[node->source_slice] : 0);
}

static bool find_columns(struct work *work)
{
        struct pw_plan *plan = work->plan;
        uint32_t islands = 0, slices = work->image->slice_count, column_of[PW_ISLANDS_MAX];

        for (uint32_t i = 0; i < slices; i++)
                for (uint32_t place = 0; place < work->slices[i].device_count; place++)
                        if (work->slices[i].places[place].host == work->host)
                                islands |= 1u << work->slices[i].places[place].island;
        plan->column_count = (uint32_t)__builtin_popcount(islands);
        plan->columns = calloc((size_t)plan->column_count + 1, sizeof *plan->columns);
        work->members = calloc((size_t)plan->column_count * slices + 1, sizeof *work->members);
        if (!plan->columns || !work->members)
                return false;
        for (uint32_t c = 0; islands; islands &= islands - 1, c++) {
                plan->columns[c].island = (uint32_t)__builtin_ctz(islands);
                column_of[plan->columns[c].island] = c;
        }
        for (uint32_t i = 0; i < slices; i++) {
                for (uint32_t place = 0; place < work->slices[i].device_count; place++) {
                        const struct pw_slice_place *at = &work->slices[i].places[place];
                        if (at->host == work->host)
                                work->members[column_of[at->island] * slices + i] |= UINT64_C(1) << at->device;
                }
        }
        return true;
}

/* Results in the order of their writers; `first` per node, `count` of them. */
static bool find_writers(struct work *work, uint32_t *first, uint32_t *count)
{
        const struct pw_image *image = work->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        uint32_t next = 0;

        work->plan->written = calloc(image->result_count + 1, sizeof *work->plan->written);
        if (!work->plan->written)
                return false;
        for (uint32_t i = 0; i < image->result_count; i++)
                count[results[i].writer]++;
        for (uint32_t n = 0; n < image->node_count; n++) {
                first[n] = next;
                next += count[n];
                count[n] = 0;
        }
        for (uint32_t i = 0; i < image->result_count; i++)
                work->plan->written[first[results[i].writer] + count[results[i].writer]++] = i;
        return true;
}

static bool add_gangs(struct work *work, struct pw_plan_island *plan, const uint32_t *first, const uint32_t *count)
{
        const struct pw_image *image = work->image;
        const uint64_t *of_slice = work->members + (size_t)(plan - work->plan->columns) * image->slice_count;
        uint64_t later = 0;

        plan->gangs = calloc(image->node_count + 1, sizeof *plan->gangs);
        if (!plan->gangs)
                return false;
        for (uint32_t n = 0; n < image->node_count; n++) {
                const struct pw_image_node *node = pw_image_node(work->image, n);
                uint64_t members = node_members(node, of_slice);
                if (!members)
                        continue;
                plan->gangs[plan->gang_count++] = (struct pw_gang){
                        .node = n, .members = members, .first_result = first[n], .result_count = count[n],
                        .seq_slot = node->seq_slot, .is_behind = node->behind_count,
                        .load = node->kind == PW_NODE_LOAD ? 1 + node->input_index : 0 };
                plan->members |= members;
                work->plan->step_members[n] += (uint32_t)__builtin_popcountll(members);
        }
        for (uint32_t g = plan->gang_count; g--; later |= plan->gangs[g].members)
                plan->gangs[g].last = plan->gangs[g].members & ~later;
        return true;
}

/* The gang of `node` in a plan; NULL: none. Gangs are in the order of their nodes. */
static struct pw_gang *find_gang(const struct pw_plan_island *plan, uint32_t node)
{
        uint32_t low = 0, high = plan->gang_count;

        while (low < high) {
                uint32_t middle = (low + high) / 2;
                if (plan->gangs[middle].node < node)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < plan->gang_count && plan->gangs[low].node == node ? &plan->gangs[low] : NULL;
}

/* A gang of `column` needs `node`, wherever else it has gangs. Of one column only the latest node counts. */
static bool add_need(struct work *work, uint32_t column, struct pw_need_list *list, uint32_t node)
{
        struct pw_plan_island *plan = &work->plan->columns[column];

        for (uint32_t c = 0; c < work->plan->column_count; c++) {
                struct pw_gang *needed = c == column ? NULL : find_gang(&work->plan->columns[c], node);
                uint32_t i = list->first;
                if (!needed)
                        continue;
                needed->notify |= 1u << column;
                while (i < plan->need_count && plan->needs[i].column != c)
                        i++;
                if (i == plan->need_count) {
                        if (!pw_grow((void **)&plan->needs, &plan->need_capacity, i + 1, sizeof *plan->needs))
                                return false;
                        plan->needs[plan->need_count++].column = c;
                        list->count++;
                }
                plan->needs[i].node = plan->needs[i].node > node ? plan->needs[i].node : node;
        }
        return true;
}

/* All that `nodes` of the image, a list at an offset, name. */
static bool add_list(struct work *work, uint32_t column, struct pw_need_list *list, uint32_t nodes, uint32_t count)
{
        list->first = work->plan->columns[column].need_count;
        for (uint32_t i = 0; i < count; i++)
                if (!add_need(work, column, list, PW_IMAGE_AT(work->image, uint32_t, nodes)[i]))
                        return false;
        return true;
}

static bool add_needs(struct work *work, uint32_t column)
{
        struct pw_plan_island *plan = &work->plan->columns[column];

        for (uint32_t g = 0, passed = 0; g < plan->gang_count; g++) {
                struct pw_gang *gang = &plan->gangs[g];
                const struct pw_image_node *node = pw_image_node(work->image, gang->node);
                bool receives = node->send_node != PW_NODE_NONE && node->kind == PW_NODE_TRANSFER && node->phase == PW_PHASE_RECV;
                if (!add_list(work, column, &gang->needs, node->waits, node->wait_count) ||
                    (receives && !add_need(work, column, &gang->needs, node->send_node)) ||
                    !add_list(work, column, &gang->behind, node->behind, node->behind_count))
                        return false;
                while (passed < plan->gang_count && plan->gangs[passed].node <= node->passes)
                        passed++;
                gang->passes = passed;
        }
        return true;
}

/* What each value is computed from. Own: the caller frees it. NULL: out of memory. */
static uint64_t *find_sources(const struct pw_image *image)
{
        uint64_t *sources = calloc(image->value_count + 1, sizeof *sources);

        for (uint32_t n = 0; sources && n < image->node_count; n++) {
                const struct pw_image_node *node = pw_image_node(image, n);
                const uint32_t *inputs = PW_IMAGE_AT(image, uint32_t, node->inputs);
                const uint32_t *outputs = PW_IMAGE_AT(image, uint32_t, node->outputs);
                uint64_t all = node->kind == PW_NODE_LOAD && node->input_index < 64 ? UINT64_C(1) << node->input_index : 0;
                for (uint32_t i = 0; node->kind != PW_NODE_LOAD && i < node->input_count; i++)
                        all |= sources[inputs[i]];
                for (uint32_t i = 0; i < node->output_count; i++)
                        sources[outputs[i]] |= all;
        }
        return sources;
}

static bool find_results(struct work *work)
{
        const struct pw_image *image = work->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);

        pw_auto_free uint64_t *sources = find_sources(image);

        work->plan->results = calloc(image->result_count + 1, sizeof *work->plan->results);
        if (!work->plan->results || !sources)
                return false;
        for (uint32_t i = 0; i < image->result_count; i++) {
                struct pw_plan_result *result = &work->plan->results[i];
                result->writer_members = work->plan->step_members[results[i].writer];
                result->needs = sources[results[i].value];
                result->room_bytes = pw_room_bytes(pw_image_value(image, results[i].value)->shard_bytes);
                for (uint32_t c = 0; c < work->plan->column_count; c++)
                        if (find_gang(&work->plan->columns[c], results[i].writer))
                                result->islands |= 1u << work->plan->columns[c].island;
        }
        for (uint32_t n = 0; n < image->node_count; n++) {
                const struct pw_image_node *node = pw_image_node(work->image, n);
                const uint32_t *inputs = PW_IMAGE_AT(image, uint32_t, node->inputs);
                for (uint32_t i = 0; reads_afar(node) && i < node->input_count; i++)
                        if (pw_image_value(image, inputs[i])->place == PW_PLACE_RESULT)
                                work->plan->results[pw_image_value(image, inputs[i])->index].read_afar = true;
        }
        return true;
}

static bool fill(struct work *work)
{
        uint32_t nodes = work->image->node_count, columns;
        pw_auto_free uint32_t *first = calloc(nodes + 1, sizeof *first), *count = calloc(nodes + 1, sizeof *count);

        work->plan->step_members = calloc(nodes + 1, sizeof *work->plan->step_members);
        if (!first || !count || !work->plan->step_members || !find_columns(work) || !find_writers(work, first, count))
                return false;
        columns = work->plan->column_count;
        for (uint32_t c = 0; c < columns; c++)
                if (!add_gangs(work, &work->plan->columns[c], first, count))
                        return false;
        for (uint32_t c = 0; c < columns; c++)
                if (!add_needs(work, c))
                        return false;
        return find_results(work);
}

bool pw_plan_init(struct pw_plan *plan, const struct pw_image *image, const struct pw_slice_map *slices, uint32_t host)
{
        struct work work = { .plan = plan, .image = image, .slices = slices, .host = host };
        bool filled = fill(&work);

        free(work.members);
        return filled;
}

void pw_plan_done(struct pw_plan *plan)
{
        for (uint32_t c = 0; plan->columns && c < plan->column_count; c++) {
                free(plan->columns[c].gangs);
                free(plan->columns[c].needs);
        }
        free(plan->columns);
        free(plan->step_members);
        free(plan->written);
        free(plan->results);
}

uint64_t pw_plan_bytes(const struct pw_plan *plan, const struct pw_image *image)
{
        uint64_t bytes = image->node_count * sizeof *plan->step_members;

        for (uint32_t c = 0; c < plan->column_count; c++)
                bytes += plan->columns[c].gang_count * sizeof(struct pw_gang) + plan->columns[c].need_capacity *
                        sizeof(struct pw_need);
        return bytes + image->result_count * (sizeof *plan->results + sizeof *plan->written);
}
