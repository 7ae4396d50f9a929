/* Admission: runs in the order of their arrival get all their rooms or none.
 *
 * A run that lacks room which admitted runs will give back holds back later ones that want memory of the same devices. A run
 * that lacks room which sessions hold stands aside: others pass, and it is looked at again when room is freed. So an admitted
 * run never waits for room, and nobody waits for a run that was not admitted.
 */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/size.h"

#include <stdio.h>

void pw_admission_arrive(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;

        pw_list_remove(&live->link);
        pw_list_append(&scheduler->queue, &live->link);
        scheduler->queue_count++;
        live->run.state = PW_RUN_QUEUED;
        scheduler->look = true;
}

static void start_steps(struct pw_live *live)
{
        live->step = 0;
        while (live->step + 1 < live->program->row.image->node_count && !live->program->step_members[live->step])
                live->step++;
        live->step_left = live->program->step_members[live->step];
}

/* The records of a run are in every board before the first of its gangs is ordered anywhere: an order in one island writes
 * sequence numbers that the others wait for. To a run in one island the message would go to where we are: it is left out. */
static void admit(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_live_input *input;
        uint32_t columns = live->program->column_count;

        pw_list_remove(&live->link);
        scheduler->queue_count--;
        live->run.state = PW_RUN_ADMITTED;
        pw_deadline_admitted(live);
        if (live->run.sequential)
                start_steps(live);
        for (uint32_t c = 0; c < columns; c++) {
                struct pw_action *action = pw_action_add(scheduler, PW_ACT_PREPARE);
                action->run = &live->run;
                action->island = live->parts[c].plan->island;
                scheduler->actions.prepares++;
        }
        for (uint32_t c = 0; c < columns; c++) {
                struct pw_action *action;
                if (!live->parts[c].devices_left)
                        continue;
                if (columns == 1) {
                        pw_island_enter(live->parts[c].island, &live->parts[c]);
                        continue;
                }
                action = pw_action_add(scheduler, PW_ACT_SUBMIT);
                action->run = &live->run;
                action->island = live->parts[c].plan->island;
                live->messages++;
        }
        for (uint32_t i = 0; i < live->run.result_count; i++)
                pw_list_each(&pw_result_live(live->run.results[i])->waiters, input, struct pw_live_input, link)
                        pw_input_arrived(input);
        pw_live_maybe_end(live);
}

void pw_admission_look(struct pw_scheduler *scheduler)
{
        uint64_t held = 0;
        struct pw_list *before = &scheduler->queue;

        if (!scheduler->look)
                return;
        scheduler->look = false;
        while (before->next != &scheduler->queue) { /* runs that arrive meanwhile are appended, and looked at too */
                struct pw_live *live = pw_list_item(before->next, struct pw_live, link);
                enum pw_place_verdict verdict = PW_PLACE_HELD;
                if (!(live->program->memory_mask & held)) {
                        pw_place_inputs(live);
                        verdict = pw_place_run(live);
                }
                live->aside = verdict == PW_PLACE_ASIDE;
                if (verdict == PW_PLACE_HELD)
                        held |= live->program->memory_mask;
                if (verdict == PW_PLACED)
                        admit(live);
                else
                        before = &live->link;
        }
}

/* --- what is missing -------------------------------------------------------------------------------------------------------- */

struct holder { uint32_t program; uint64_t bytes; uint32_t count; };

/* The programs whose results take most of a device, largest first. */
static uint32_t find_holders(struct pw_scheduler *scheduler, uint32_t device, struct holder *ret_holders, uint32_t capacity)
{
        struct pw_result *result;
        uint32_t count = 0;

        pw_list_each(&scheduler->results, result, struct pw_result, link)
                for (uint32_t i = 0; !result->donated && !pw_result_live(result)->given && i < result->room_count; i++) {
                        uint32_t h = 0;
                        if (result->rooms[i].device != device)
                                continue;
                        while (h < count && ret_holders[h].program != result->program)
                                h++;
                        if (h == capacity)
                                continue;
                        if (h == count)
                                ret_holders[count++] = (struct holder){ .program = result->program };
                        ret_holders[h].bytes += result->rooms[i].bytes;
                        ret_holders[h].count++;
                }
        for (uint32_t i = 1; i < count; i++)
                for (uint32_t h = i; h && ret_holders[h].bytes > ret_holders[h - 1].bytes; h--) {
                        struct holder other = ret_holders[h];
                        ret_holders[h] = ret_holders[h - 1];
                        ret_holders[h - 1] = other;
                }
        return count;
}

void pw_admission_lack(struct pw_live *live, char *text, size_t text_bytes)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        const struct pw_device *device = scheduler->devices[live->short_device];
        struct holder holders[16];
        uint32_t count;
        char size[16];
        size_t at;

        if (!device || !live->short_bytes) {
                snprintf(text, text_bytes, "runs that came earlier wait for memory of its devices");
                return;
        }
        count = find_holders(scheduler, device->number, holders, pw_array_count(holders));
        at = (size_t)snprintf(text, text_bytes, "device h%u:%u lacks %s", scheduler->host, device->number,
                              pw_size_format(live->short_bytes, size));
        if (device->used[PW_USE_BLOCK] && at < text_bytes)
                at += (size_t)snprintf(text + at, text_bytes - at, "; admitted runs hold %s",
                                       pw_size_format(device->used[PW_USE_BLOCK], size));
        for (uint32_t i = 0; i < count && i < 3 && at < text_bytes; i++) {
                const struct pw_program_row *row = pw_scheduler_program(scheduler, holders[i].program);
                at += (size_t)snprintf(text + at, text_bytes - at, "; %s held by tenant %s, %s: %u %s of %s",
                                       pw_size_format(holders[i].bytes, size), row ? row->tenant : "?",
                                       row && row->client ? row->client : "a process that ended", holders[i].count,
                                       holders[i].count == 1 ? "result" : "results", row ? row->name : "a program that is gone");
        }
}
