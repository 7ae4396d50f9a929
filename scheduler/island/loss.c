/* A device's process ended: what it was doing fails, what only its memory held is lost.
 *
 * What was written before the death counts as lost from its sequence number on (LOST_BEFORE): executors check the heads of rooms
 * against it, so results of gangs that are still to run become errors by their reports. Results whose writer has run here
 * already are decided, or marked, at once: nobody will write them again. Where another device holds the same, they go on.
 */
#include "scheduler/state.h"

#include "base/bits.h"

static void lose_result(struct pw_result_live *result, const struct pw_device *device)
{
        struct pw_scheduler *scheduler = result->scheduler;
        struct pw_result *open = &result->result;
        struct pw_action *action;
        struct pw_error error;

        if (open->status == PW_NOT_READY) {
                pw_result_fails(result, &(struct pw_failure){ PW_DEVICE_LOST, PW_NODE_NONE,
                                                              pw_scheduler_device_id(scheduler, device->number) });
                return;
        }
        pw_lost_sentence(scheduler, device, &error);
        open->status = PW_DEVICE_LOST;
        open->error = calloc(1, sizeof *open->error);
        if (open->error) {
                *open->error = error;
                result->sentence = (uint32_t)strlen(open->error->text);
        }
        action = pw_action_add(scheduler, PW_ACT_RESULT_LOST);
        action->result = open;
        action->device = device->number;
        action->status = PW_DEVICE_LOST;
        action->text = strdup(error.text);
}

/* Note the places that the device wrote before that seq. False: there are none. */
static bool lose_places(struct pw_result *result, const struct pw_device *device, uint64_t lost_before)
{
        bool any = false;

        for (uint32_t i = 0; i < result->room_count; i++) {
                if (result->rooms[i].device != device->number || !result->seqs[i] || result->seqs[i] >= lost_before)
                        continue;
                pw_bits_add(result->lost, i);
                any = true;
        }
        result->losses += any;
        return any;
}

/* Is everything that was lost of it held by another device? */
static bool lives_on(const struct pw_result *result)
{
        for (uint32_t i = 0; i < result->room_count; i++)
                if (pw_living_replica(&result->value.sharding, result->mesh, i, result->lost) == UINT32_MAX)
                        return false;
        return true;
}

static void lose_results(struct pw_scheduler *scheduler, const struct pw_device *device, uint64_t lost_before)
{
        struct pw_result *result;

        pw_list_each(&scheduler->results, result, struct pw_result, link) {
                if (result->donated || pw_status_error(result->status) || !lose_places(result, device, lost_before))
                        continue;
                if (!lives_on(result))
                        lose_result(pw_result_live(result), device);
                else if (result->status != PW_NOT_READY) /* else it becomes ready with these lost */
                        pw_action_add(scheduler, PW_ACT_SHARDS_LOST)->result = result;
        }
}

/* The dead member takes part in its gang with an error: peers go on, and what the gang writes is an error with this cause. */
static void fail_gang(struct pw_scheduler *scheduler, struct pw_device *device, uint64_t seq, enum pw_status status)
{
        struct pw_ordered *ordered = &scheduler->islands[device->island]->log[seq % PW_ORDER_LOG];
        const struct pw_gang *gang = &ordered->part->plan->gangs[ordered->gang];
        struct pw_host_run *run = ordered->part->run;
        struct pw_message *message = pw_action_message(scheduler, PW_MSG_FAIL_GANG);

        message->host = scheduler->host;
        message->device = device->number;
        message->seq = seq;
        message->status = status;
        message->node = gang->node;
        pw_core_tell(scheduler, &(struct pw_core_message){ .kind = PW_CORE_FAILED, .status = status, .node = gang->node,
                                                           .device = pw_scheduler_device_id(scheduler, device->number),
                                                           .run = run->id }, device->lost_text);
        for (uint32_t i = 0; i < gang->result_count; i++) {
                struct pw_result *result = run->results[run->program->plan.written[gang->first_result + i]];
                pw_result_fails(pw_result_live(result),
                                &(struct pw_failure){ status, gang->node, pw_scheduler_device_id(scheduler, device->number) });
        }
}

/* The dead may have published without ringing, or have taken sleepers off its list whom it then did not ring: all look again. */
static void ring_everybody(struct pw_scheduler *scheduler)
{
        uint64_t members = 0;

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++)
                if (pw_scheduler_device(scheduler, i))
                        members |= UINT64_C(1) << i;
        pw_action_message(scheduler, PW_MSG_BELL)->members = members;
}

void pw_scheduler_device_down(struct pw_scheduler *scheduler, uint32_t number, uint64_t seq, enum pw_status status,
                              const char *text, uint64_t now_us)
{
        struct pw_device *device = pw_scheduler_device(scheduler, number);
        uint64_t lost_before;
        struct pw_message *message;
        char *copy = strdup(text);

        scheduler->now_us = now_us;
        if (!device) {
                free(copy);
                return;
        }
        free(device->lost_text);
        device->lost_text = copy;
        device->up = false;
        if (seq != pw_device_oldest(device))
                seq = 0; /* done already, or not ordered for it */
        lost_before = seq ? seq : device->done_seq + 1; /* the next process writes what gang `seq` leaves behind */
        message = pw_action_message(scheduler, PW_MSG_LOST_BEFORE);
        message->device = number;
        message->seq = lost_before;
        if (seq)
                fail_gang(scheduler, device, seq, status);
        lose_results(scheduler, device, lost_before);
        ring_everybody(scheduler);
}

void pw_scheduler_device_up(struct pw_scheduler *scheduler, uint32_t number, uint64_t now_us)
{
        struct pw_device *device = pw_scheduler_device(scheduler, number);

        scheduler->now_us = now_us;
        if (device)
                device->up = true;
}
