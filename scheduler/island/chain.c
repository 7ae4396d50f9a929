/* Chains: consecutive runs of a program that take over one another's blocks, behind one another.
 *
 * The blocks of the slices are one chain, the block of each stage another. A run takes over from the run that was admitted first
 * of those that nobody took over from yet. Of two such runs none overtakes the other in any island, and the one ahead ends
 * first; so what was waited for in the run ahead covers the runs ahead of that one.
 */
#include "scheduler/state.h"

bool pw_chain_init(struct pw_sched_program *program)
{
        const struct pw_image *image = program->row.image;

        program->chain_count = 1 + image->stage_count;
        program->chains = calloc(program->chain_count, sizeof *program->chains);
        for (uint32_t c = 0; program->chains && c < program->chain_count; c++) {
                program->chains[c].limit = c ? pw_image_stage(image, c - 1)->blocks : UINT32_MAX;
                pw_list_init(&program->chains[c].last);
        }
        for (uint32_t b = 0; program->chains && b < program->block_count; b++)
                program->chains[program->blocks[b].chain].used |= program->blocks[b].bytes > 0;
        return program->chains;
}

static void change_use(const struct pw_host_run *run, uint32_t index, enum pw_room_use from, enum pw_room_use to)
{
        const struct pw_sched_program *program = run->program;

        for (uint32_t b = 0; b < program->block_count; b++) {
                const struct pw_program_block *block = &program->blocks[b];
                const struct pw_program_slice *slice = &program->slices[block->slice];
                for (uint32_t i = 0; block->chain == index && i < slice->here_count; i++) {
                        const struct pw_program_device *device = &program->devices[slice->here[i].device];
                        struct pw_room room = pw_program_room(program, device, 0, block->bytes);
                        pw_room_change(device->device, &room, from, to);
                }
        }
}

void pw_chain_let_go(struct pw_host_run *run)
{
        if (run->letting_go || !run->placed)
                return;
        run->letting_go = true;
        for (uint32_t c = 0; c < run->program->chain_count; c++)
                if (run->program->chains[c].used && !run->holds[c].behind)
                        change_use(run, c, PW_USE_BLOCK, PW_USE_LETTING_GO);
}

void pw_chain_join(struct pw_host_run *run, uint32_t index, struct pw_host_run *ahead)
{
        struct pw_sched_chain *chain = &run->program->chains[index];
        struct pw_hold *hold = &run->holds[index];

        hold->ahead = ahead;
        pw_list_append(&chain->last, &hold->link);
        if (!ahead) {
                chain->blocks++;
                return;
        }
        pw_list_remove(&ahead->holds[index].link);
        ahead->holds[index].behind = run;
        run->ahead_count++;
        ahead->behind_count++;
        if (ahead->letting_go)
                change_use(run, index, PW_USE_LETTING_GO, PW_USE_BLOCK);
}

/* Who is behind now has the block, and may end. False: nobody, and the block is to be given back. */
static bool pass_on(struct pw_host_run *run, uint32_t index, struct pw_list *freed)
{
        struct pw_hold *hold = &run->holds[index];
        struct pw_host_run *behind = hold->behind;

        hold->behind = NULL;
        if (!behind) {
                pw_list_remove(&hold->link);
                run->program->chains[index].blocks--;
                return false;
        }
        behind->holds[index].ahead = NULL;
        if (!--behind->ahead_count)
                pw_list_append(freed, &behind->freed_link);
        return true;
}

static void give_block(struct pw_host_run *run, const struct pw_program_block *block)
{
        const struct pw_sched_program *program = run->program;
        const struct pw_program_slice *slice = &program->slices[block->slice];

        for (uint32_t i = 0; block->bytes && i < slice->here_count; i++) {
                const struct pw_program_device *device = &program->devices[slice->here[i].device];
                struct pw_room room = pw_program_room(program, device, run->block_offsets[block->first_here + i], block->bytes);
                pw_room_give(device->device, &room, run->letting_go ? PW_USE_LETTING_GO : PW_USE_BLOCK);
        }
}

static void give_blocks(struct pw_host_run *run, uint32_t index)
{
        for (uint32_t b = 0; b < run->program->block_count; b++)
                if (run->program->blocks[b].chain == index)
                        give_block(run, &run->program->blocks[b]);
}

void pw_chain_leave(struct pw_host_run *run, struct pw_list *freed)
{
        const struct pw_sched_program *program = run->program;

        for (uint32_t c = 0; run->placed && c < program->chain_count; c++) {
                if (program->chains[c].used && !pass_on(run, c, freed))
                        give_blocks(run, c);
        }
        run->behind_count = 0;
        run->placed = false;
}

static void undo(struct pw_host_run *run, uint32_t index)
{
        struct pw_sched_chain *chain = &run->program->chains[index];
        struct pw_hold *hold = &run->holds[index];
        struct pw_host_run *ahead = hold->ahead;

        pw_list_remove(&hold->link);
        if (!ahead) {
                chain->blocks--;
                give_blocks(run, index);
                return;
        }
        hold->ahead = NULL;
        run->ahead_count--;
        ahead->holds[index].behind = NULL;
        ahead->behind_count--;
        pw_list_prepend(&chain->last, &ahead->holds[index].link);
        if (ahead->letting_go != run->letting_go)
                change_use(run, index, run->letting_go ? PW_USE_LETTING_GO : PW_USE_BLOCK,
                           ahead->letting_go ? PW_USE_LETTING_GO : PW_USE_BLOCK);
}

void pw_chain_undo(struct pw_host_run *run)
{
        for (uint32_t c = 0; c < run->program->chain_count; c++)
                if (run->program->chains[c].used)
                        undo(run, c);
        run->placed = false;
}

/* --- order --------------------------------------------------------------------------------------------------------------- */

static bool passed(const struct pw_fragment *fragment, const struct pw_gang *gang, const struct pw_host_run *ahead)
{
        const struct pw_fragment *theirs = &ahead->fragments[fragment->column];
        const struct pw_need *need = fragment->plan->needs + gang->behind.first;

        if (theirs->next < gang->passes)
                return false;
        for (uint32_t i = 0; i < gang->behind.count; i++)
                if (theirs->noticed[need[i].column] <= need[i].node)
                        return false;
        return true;
}

bool pw_chain_passed(struct pw_fragment *fragment, const struct pw_gang *gang)
{
        const struct pw_host_run *run = fragment->run;

        for (uint32_t c = 0; c < run->program->chain_count; c++)
                if (run->holds[c].ahead && !passed(fragment, gang, run->holds[c].ahead)) {
                        fragment->wait_for = c;
                        return false;
                }
        return true;
}
