/* Listings: what devices, islands, programs and runs are doing, and what a run waits for: of both cores, for people. */
#include "scheduler/state.h"

#include "base/memory.h"

#include <stdio.h>

void pw_scheduler_each_device(struct pw_scheduler *scheduler, void (*row)(void *, const struct pw_device_row *), void *context)
{
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                const struct pw_device *device = scheduler->devices[i];
                struct pw_device_row out;
                if (!device)
                        continue;
                out = (struct pw_device_row){ .device = device->number, .island = device->island, .kind = device->kind,
                                              .up = device->up, .capacity = device->capacity,
                                              .used_results = device->used[PW_USE_RESULT],
                                              .used_blocks = device->used[PW_USE_BLOCK],
                                              .letting_go = device->used[PW_USE_LETTING_GO], .free = device->free,
                                              .ordered = device->ordered, .done = device->done };
                row(context, &out);
        }
}

void pw_scheduler_each_island(struct pw_scheduler *scheduler, void (*row)(void *, const struct pw_island_row *), void *context)
{
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++) {
                const struct pw_island *island = scheduler->islands[i];
                struct pw_island_row out;
                struct pw_host_run *run;
                if (!island)
                        continue;
                out = (struct pw_island_row){ .island = i, .devices = (uint32_t)__builtin_popcountll(island->members),
                                              .admitted = island->admitted, .ordered = island->seq,
                                              .policy = island->policy->name };
                pw_list_each(&scheduler->queue, run, struct pw_host_run, link)
                        out.queued += pw_program_is_in(run->program, island);
                row(context, &out);
        }
}

static void let_go(struct pw_program_row *row)
{
        struct pw_sched_program *program = row ? pw_program_of(row) : NULL;

        if (!program)
                return;
        program->listers--;
        pw_program_maybe_end(program);
}

static struct pw_sched_program *program_at(struct pw_scheduler *scheduler, const struct pw_list *node)
{
        return node == &scheduler->all_programs ? NULL : pw_list_item(node, struct pw_sched_program, of_all);
}

/* Where the program `after` is gone, from the first one. */
static struct pw_sched_program *program_behind(struct pw_scheduler *scheduler, uint32_t after)
{
        struct pw_sched_program *program = after ? pw_table_get(&scheduler->programs, after) : NULL;

        return program_at(scheduler, program ? program->of_all.next : scheduler->all_programs.next);
}

bool pw_scheduler_programs(struct pw_scheduler *scheduler, struct pw_program_walk *walk, uint32_t most,
                           bool (*row)(void *, const struct pw_program_row *), void *context)
{
        struct pw_sched_program *program = walk->next ? pw_program_of(walk->next) : program_behind(scheduler, walk->after);
        struct pw_program_row *held = walk->next;

        for (; program && most; program = program_at(scheduler, program->of_all.next), most--) {
                if (program->row.program > walk->after && !row(context, &program->row))
                        break;
                walk->after = (uint32_t)pw_max_u64(walk->after, program->row.program);
        }
        walk->next = program ? &program->row : NULL;
        if (program)
                program->listers++;
        let_go(held);
        return program;
}

void pw_scheduler_programs_done(struct pw_program_walk *walk)
{
        let_go(walk->next);
        walk->next = NULL;
}

void pw_scheduler_tenant_runs(const struct pw_scheduler *scheduler, const char *tenant, uint64_t *ret_in_flight,
                              uint64_t *ret_waiting)
{
        const struct pw_device_quota *quota = pw_table_get(&scheduler->quotas, pw_text_key(tenant));
        bool found = quota && !strcmp(quota->tenant, tenant);

        *ret_in_flight = found ? quota->runs_in_flight : 0;
        *ret_waiting = found ? quota->runs_in_flight - quota->runs_admitted : 0;
}

/* --- runs ------------------------------------------------------------------------------------------------------------------- */

#define WAITING_BYTES sizeof(((struct pw_run_row *)0)->waiting_for)

static void waits_for_input(const struct pw_live *live, uint32_t index, struct pw_run_row *row)
{
        const struct pw_input_place *place = &live->run.inputs[index];

        if (place->source == PW_INPUT_RESULT && place->result->run) {
                row->blocking_run = place->result->run->number;
                snprintf(row->waiting_for, WAITING_BYTES, "input %u, result %u of run %lu", index, place->result->index,
                         (unsigned long)row->blocking_run);
        } else {
                snprintf(row->waiting_for, WAITING_BYTES, "input %u, which is not ready", index);
                row->blocking_object = place->object;
        }
        if (place->source == PW_INPUT_RESULT)
                row->blocking_input = place->result;
}

/* NULL: its host has not been asked for it, or it is over there. */
static const struct pw_host_run *at_host(const struct pw_live *live)
{
        return pw_host_find(live->program->scheduler, live->run.number);
}

static const char *gang_name(const struct pw_sched_program *program, uint32_t node)
{
        return pw_image_text(program->row.image, pw_program_node(program, node)->name);
}

/* The gang that a device is at, ordered and not done; NULL: it has done all. */
static const struct pw_ordered *gang_at(const struct pw_scheduler *scheduler, const struct pw_device *device)
{
        uint64_t seq = pw_device_oldest(device);

        return seq ? &scheduler->islands[device->island]->log[seq % PW_ORDER_LOG] : NULL;
}

static bool is_call(const struct pw_ordered *at)
{
        return pw_program_node(at->fragment->run->program, at->fragment->plan->gangs[at->gang].node)->kind == PW_NODE_CALL;
}

/* Of the run's devices that have something to do, one that is in a function: members in transfers wait for such a one. */
static const struct pw_device *slowest_device(const struct pw_scheduler *scheduler, const struct pw_live *live)
{
        const struct pw_device *found = NULL;
        bool is_found_call = false;

        for (uint32_t i = 0; i < live->program->device_count && !is_found_call; i++) {
                const struct pw_device *device = live->program->devices[i].device;
                const struct pw_ordered *at = gang_at(scheduler, device);
                if (!at || (found && !is_call(at)))
                        continue;
                found = device;
                is_found_call = is_call(at);
        }
        return found;
}

static void waits_for_device(struct pw_scheduler *scheduler, const struct pw_live *live, struct pw_run_row *row)
{
        const struct pw_device *device = slowest_device(scheduler, live);
        const struct pw_ordered *at;

        if (!device)
                return;
        at = gang_at(scheduler, device);
        if (strcmp(at->fragment->run->program->row.tenant, live->run.row->tenant)) /* the text is the run's tenant's to read */
                snprintf(row->waiting_for, WAITING_BYTES, "device h%u:%u%s, which is at gang %lu, of another tenant",
                         scheduler->host, device->number, device->up ? "" : " (down)", (unsigned long)pw_device_oldest(device));
        else
                snprintf(row->waiting_for, WAITING_BYTES, "device h%u:%u%s, which is at gang %lu, %s of run %lu", scheduler->host,
                         device->number, device->up ? "" : " (down)", (unsigned long)pw_device_oldest(device),
                         gang_name(at->fragment->run->program, at->fragment->plan->gangs[at->gang].node),
                         (unsigned long)at->fragment->run->id.number);
        if (!pw_same_run(&at->fragment->run->id, &live->id))
                row->blocking_run = at->fragment->run->id.number;
}

/* Its next gang writes a room that the run ahead still uses. */
static void waits_for_chain(const struct pw_live *live, uint32_t chain, struct pw_run_row *row)
{
        const struct pw_image *image = live->program->row.image;
        const struct pw_host_run *ahead = at_host(live)->holds[chain].ahead;
        const struct pw_image_stage *stage = chain ? pw_image_stage(image, chain - 1) : NULL;

        if (!ahead)
                return;
        row->blocking_run = ahead->id.number;
        if (stage)
                snprintf(row->waiting_for, WAITING_BYTES, "a credit of stage %s of quota %u, held by run %lu",
                         pw_image_text(image, stage->name), stage->quota, (unsigned long)row->blocking_run);
        else
                snprintf(row->waiting_for, WAITING_BYTES, "room in the block of run %lu, which it takes over",
                         (unsigned long)row->blocking_run);
}

static void waits_in_fragment(struct pw_scheduler *scheduler, const struct pw_live *live, const struct pw_fragment *fragment,
                              struct pw_run_row *row)
{
        if (fragment->next == fragment->plan->gang_count)
                return;
        switch (fragment->wait) {
        case PW_WAIT_INPUT: waits_for_input(live, fragment->wait_for, row); break;
        case PW_WAIT_NOTICE: /* the cause is in the other island */
                snprintf(row->notice, sizeof row->notice, "island %u to order what %s in island %u needs",
                         live->program->plan.columns[fragment->wait_for].island,
                         gang_name(live->program, fragment->plan->gangs[fragment->next].node),
                         fragment->plan->island);
                break;
        case PW_WAIT_ROOM: waits_for_chain(live, fragment->wait_for, row); break;
        default: waits_for_device(scheduler, live, row); break;
        }
}

static void row_lacks(const struct pw_live *live, struct pw_run_row *row)
{
        const struct pw_host_run *run = at_host(live);

        if (!run)
                return;
        row->lack_device = run->short_device;
        row->lack_bytes = run->short_bytes;
        row->over_quota = run->over_quota && run->short_bytes;
        row->deferred = run->deferred;
}

/* The first of its hosts that has not answered; UINT32_MAX: all have. */
static uint32_t host_asked(const struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count; host++)
                if (live->hosts[host].state == PW_LIVE_HOST_ASKED)
                        return live->program->hosts[host];
        return UINT32_MAX;
}

static void waits_for_room(const struct pw_live *live, const struct pw_host_run *here, struct pw_run_row *row)
{
        const struct pw_live *ahead = pw_live_ahead(live);
        uint32_t host = host_asked(live);
        char lack[240] = "";

        row_lacks(live, row);
        if (ahead) {
                row->blocking_run = ahead->run.number;
                snprintf(row->waiting_for, WAITING_BYTES, "run %lu, whose blocks it takes over, to be admitted",
                         (unsigned long)ahead->run.number);
        } else if (host != UINT32_MAX && host != live->program->scheduler->host) {
                snprintf(row->waiting_for, WAITING_BYTES, "room on host h%u", host);
        } else {
                if (here)
                        pw_admission_lack(here, lack, sizeof lack);
                snprintf(row->waiting_for, WAITING_BYTES, "room: %s", lack);
        }
}

void pw_live_waiting_for(struct pw_live *live, struct pw_run_row *row)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        const struct pw_host_run *run = at_host(live);

        if (live->run.state == PW_RUN_WAITING) {
                for (uint32_t i = 0; i < live->run.input_count; i++)
                        if (live->inputs[i].missing) {
                                waits_for_input(live, i, row);
                                return;
                        }
        } else if (live->run.state == PW_RUN_QUEUED) {
                waits_for_room(live, run, row);
        } else {
                for (uint32_t c = 0; run && c < live->program->plan.column_count && !row->waiting_for[0]; c++)
                        waits_in_fragment(scheduler, live, &run->fragments[c], row);
                if (!row->waiting_for[0])
                        waits_for_device(scheduler, live, row);
        }
}

const struct pw_result *pw_scheduler_blocking_input(const struct pw_run *run)
{
        const struct pw_live *live = pw_container_of(run, const struct pw_live, run);
        const struct pw_input_place *place = NULL;
        const struct pw_host_run *here = at_host(live);

        if (live->run.state == PW_RUN_WAITING) {
                for (uint32_t i = 0; i < live->run.input_count && !place; i++)
                        if (live->inputs[i].missing)
                                place = &live->run.inputs[i];
        } else if (live->run.state == PW_RUN_ADMITTED) {
                for (uint32_t c = 0; here && c < live->program->plan.column_count && !place; c++) {
                        const struct pw_fragment *fragment = &here->fragments[c];
                        if (fragment->next < fragment->plan->gang_count && fragment->wait == PW_WAIT_INPUT)
                                place = &live->run.inputs[fragment->wait_for];
                }
        }
        return place && place->source == PW_INPUT_RESULT ? place->result : NULL;
}

static uint64_t members_of(const struct pw_sched_program *program)
{
        uint64_t members = 0;

        for (uint32_t i = 0; i < program->device_count; i++)
                members |= UINT64_C(1) << program->devices[i].number;
        return members;
}

void pw_scheduler_run_brief(const struct pw_run *run, struct pw_run_row *ret_row)
{
        const struct pw_live *live = pw_container_of(run, const struct pw_live, run);

        *ret_row = (struct pw_run_row){ .number = live->run.number, .submitted_us = live->run.submitted_us,
                                        .program = live->run.row->name, .tenant = live->run.row->tenant, .client = live->run.client,
                                        .state = live->run.state, .devices = members_of(live->program) };
        if (live->run.state == PW_RUN_QUEUED)
                row_lacks(live, ret_row);
}

static void live_row(struct pw_live *live, struct pw_run_row *ret_row)
{
        const struct pw_host_run *run = at_host(live);

        pw_scheduler_run_brief(&live->run, ret_row);
        for (uint32_t c = 0; c < live->program->plan.column_count; c++)
                ret_row->nodes += live->program->plan.columns[c].gang_count;
        ret_row->nodes_ordered = run ? pw_host_run_ordered(run) : 0;
        if (!live->run.deadline_over && (live->run.state != PW_RUN_ADMITTED || live->run.deadline_kept))
                ret_row->deadline_us = live->run.deadline_us;
        ret_row->deadline_kept = live->run.deadline_kept;
        pw_live_waiting_for(live, ret_row);
}

static bool ended_row(const struct pw_scheduler *scheduler, uint64_t number, struct pw_run_row *ret_row)
{
        uint32_t ended = (uint32_t)pw_min_u64(scheduler->ended_count, PW_ENDED_RUNS), i = 0;

        while (i < ended && scheduler->ended[i].number != number)
                i++;
        if (i < ended)
                pw_ended_row(&scheduler->ended[i], ret_row);
        return i < ended;
}

bool pw_scheduler_run_row(struct pw_scheduler *scheduler, uint64_t number, struct pw_run_row *ret_row, uint64_t *ret_last)
{
        struct pw_live *live = pw_numbers_get(&scheduler->runs, number);

        *ret_last = scheduler->run_count;
        if (!live)
                return ended_row(scheduler, number, ret_row);
        live_row(live, ret_row);
        return true;
}

bool pw_scheduler_run_known(struct pw_scheduler *scheduler, uint64_t number, struct pw_run_row *ret_row)
{
        const struct pw_live *live = pw_numbers_get(&scheduler->runs, number);

        if (!live)
                return ended_row(scheduler, number, ret_row);
        pw_scheduler_run_brief(&live->run, ret_row);
        return true;
}

void pw_scheduler_each_live(struct pw_scheduler *scheduler, void (*run)(void *, const struct pw_run *), void *context)
{
        struct pw_live *live;
        uint32_t cursor = 0;

        while ((live = pw_numbers_next(&scheduler->runs, &cursor)))
                run(context, &live->run);
}

#define DIGIT_BITS 11u
#define DIGIT_MASK ((1u << DIGIT_BITS) - 1)

/* By their numbers, in time that grows with how many there are. */
static void sort_numbers(uint64_t *numbers, uint64_t *spare, uint32_t count)
{
        for (uint32_t shift = 0; shift < 64; shift += DIGIT_BITS) {
                uint32_t starts[(1u << DIGIT_BITS) + 1] = { 0 };
                uint64_t any = 0;

                for (uint32_t i = 0; i < count; i++)
                        any |= numbers[i] >> shift;
                if (!any)
                        return;
                for (uint32_t i = 0; i < count; i++)
                        starts[(numbers[i] >> shift & DIGIT_MASK) + 1]++;
                for (uint32_t d = 0; d < 1u << DIGIT_BITS; d++)
                        starts[d + 1] += starts[d];
                for (uint32_t i = 0; i < count; i++)
                        spare[starts[numbers[i] >> shift & DIGIT_MASK]++] = numbers[i];
                memcpy(numbers, spare, count * sizeof *numbers);
        }
}

/* Of all tenants; only the numbers are read, which lie in a row. */
static uint32_t live_numbers(const struct pw_numbers *runs, uint64_t after, uint64_t *numbers)
{
        uint32_t count = 0, cursor = 0;
        uint64_t number;

        while (pw_numbers_next_key(runs, &cursor, &number))
                if (number > after)
                        numbers[count++] = number;
        return count;
}

/* The first `most` that are the tenant's, in place. */
static uint32_t keep_own(const struct pw_scheduler *scheduler, const struct pw_runs_of *of, uint64_t *numbers, uint32_t count)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < count && kept < of->most; i++) {
                const struct pw_live *live = of->tenant ? pw_numbers_get(&scheduler->runs, numbers[i]) : NULL;

                if (!live || !strcmp(live->run.row->tenant, of->tenant))
                        numbers[kept++] = numbers[i];
        }
        return kept;
}

enum pw_status pw_scheduler_run_numbers(const struct pw_scheduler *scheduler, const struct pw_runs_of *of, uint64_t **ret_numbers,
                                        uint32_t *ret_count)
{
        uint32_t ended = (uint32_t)pw_min_u64(scheduler->ended_count, PW_ENDED_RUNS), count;
        size_t most = (size_t)pw_numbers_count(&scheduler->runs) + ended + 1;
        pw_auto_free uint64_t *spare = malloc(most * sizeof *spare);
        uint64_t *numbers = malloc(most * sizeof *numbers);

        if (!spare || !numbers) {
                free(numbers);
                return PW_NO_MEMORY;
        }
        count = live_numbers(&scheduler->runs, of->after, numbers);
        for (uint32_t i = 0; i < ended; i++) {
                const struct pw_ended *past = &scheduler->ended[i];

                if (past->number > of->after && (!of->tenant || !strcmp(past->tenant, of->tenant)))
                        numbers[count++] = past->number;
        }
        sort_numbers(numbers, spare, count);
        *ret_count = keep_own(scheduler, of, numbers, count);
        *ret_numbers = numbers;
        return PW_OK;
}
