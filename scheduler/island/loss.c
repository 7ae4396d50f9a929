/* A device's process ended: what it was doing fails, what only its memory held is lost.
 *
 * What was written before the death counts as lost from its sequence number on (LOST_BEFORE): executors check the heads of rooms
 * against it, so results of gangs that are still to run become errors by their reports. Results whose writer has run here
 * already are decided, or marked, at once: nobody will write them again. Where another device holds the same, they go on.
 */
#include "scheduler/state.h"

#include "base/bits.h"

static struct pw_core_message about(const struct pw_host_result *result, const struct pw_device *device, enum pw_core_kind kind)
{
        return (struct pw_core_message){ .kind = kind, .status = PW_DEVICE_LOST, .run = result->run, .slot = result->slot,
                                         .host = result->scheduler->host,
                                         .device = pw_scheduler_device_id(result->scheduler, device->number) };
}

static void lost_sentence(const struct pw_scheduler *scheduler, const struct pw_device *device, struct pw_error *ret_error)
{
        pw_error_set(ret_error, PW_DEVICE_LOST, "the device h%u:%u that held it was lost: its executor ended (%s)", scheduler->host,
                     device->number, device->lost_text);
}

/* It is not there any more, or it will not be: where its run was stopped in the middle of its writer, its coordinator knows. */
static void lose_result(const struct pw_host_result *result, const struct pw_device *device)
{
        struct pw_core_message message = about(result, device, result->left ? PW_CORE_SPOILED : PW_CORE_LOST);
        struct pw_error error;

        if (result->left && !result->maker)
                return;
        if (result->left) {
                message.slot = result->maker->at;
                message.result = result->index;
                message.node = PW_NODE_NONE;
        } else {
                message.result = result->index;
        }
        lost_sentence(result->scheduler, device, &error);
        pw_core_tell(result->scheduler, &message, &(struct pw_core_body){ .text = error.text });
}

/* Others hold the same. */
static void lose_place(const struct pw_host_result *result, const struct pw_device *device, uint32_t place)
{
        struct pw_core_message message = about(result, device, PW_CORE_LOST);

        message.status = PW_OK;
        message.result = result->index;
        message.place = place;
        pw_core_tell(result->scheduler, &message, NULL);
}

/* Note the places that the device wrote before that seq. False: there are none. */
static bool lose_places(struct pw_host_result *result, struct pw_device_id device, uint64_t lost_before)
{
        bool any = false;

        for (uint32_t i = 0; i < result->room_count; i++) {
                if (!pw_same_device(pw_room_device(&result->rooms[i]), device) || !result->seqs[i] ||
                    result->seqs[i] >= lost_before)
                        continue;
                pw_bits_add(result->lost, i);
                any = true;
        }
        result->losses += any;
        return any;
}

static void lose_results(struct pw_scheduler *scheduler, const struct pw_device *device, uint64_t lost_before)
{
        struct pw_host_result *result;
        struct pw_device_id id = pw_scheduler_device_id(scheduler, device->number);

        pw_list_each(&scheduler->host_results, result, struct pw_host_result, link) {
                bool lives;

                if (result->donated || result->released || !lose_places(result, id, lost_before))
                        continue;
                lives = pw_type_lives_on(result->type, result->room_count, result->lost);
                if (!lives)
                        lose_result(result, device);
                for (uint32_t i = 0; lives && i < result->room_count; i++)
                        if (pw_same_device(pw_room_device(&result->rooms[i]), id) && pw_bits_has(result->lost, i))
                                lose_place(result, device, i);
        }
}

/* The dead member takes part in its gang with an error: peers go on, and what the gang writes is an error with this cause. */
static void fail_gang(struct pw_scheduler *scheduler, struct pw_device *device, uint64_t seq, enum pw_status status)
{
        struct pw_ordered *ordered = &scheduler->islands[device->island]->log[seq % PW_ORDER_LOG];
        const struct pw_gang *gang = &ordered->fragment->plan->gangs[ordered->gang];
        struct pw_host_run *run = ordered->fragment->run;
        struct pw_message *message = pw_action_message(scheduler, PW_MSG_FAIL_GANG);

        message->host = scheduler->host;
        message->device = device->number;
        message->seq = seq;
        message->status = status;
        message->node = gang->node;
        struct pw_core_message failed = { .kind = PW_CORE_FAILED, .status = status, .node = gang->node,
                                          .device = pw_scheduler_device_id(scheduler, device->number) };

        pw_host_tell(run, &failed, device->lost_text);
        failed.kind = PW_CORE_SPOILED;
        for (uint32_t i = 0; i < gang->result_count; i++) {
                failed.result = run->program->plan.written[gang->first_result + i];
                pw_host_tell(run, &failed, NULL);
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

/* Of a run that is over, or that the device has no part in, nothing is believed. */
void pw_scheduler_report(struct pw_scheduler *scheduler, uint32_t number, const struct pw_report *report, uint64_t now_us)
{
        const struct pw_host_run *run = pw_host_find(scheduler, report->run);
        enum pw_status status = pw_status_told(report->status);
        struct pw_core_message message = { .kind = PW_CORE_FAILED, .status = status, .node = report->node,
                                           .device = pw_scheduler_device_id(scheduler, number) };
        const struct pw_device *lost = NULL;
        struct pw_error error;

        scheduler->now_us = now_us;
        if (!run || !pw_program_device(run->program, number) ||
            (report->result != PW_NODE_NONE && report->result >= run->program->row.result_count))
                return;
        if (report->result == PW_NODE_NONE) {
                if (message.node == PW_NODE_NONE) /* that a device is lost is not theirs to say */
                        message.node = run->program->row.image->node_count;
                pw_host_tell(run, &message, report->text);
                return;
        }
        message.kind = PW_CORE_SPOILED;
        message.result = report->result;
        message.node = report->cause_node;
        message.device = report->cause_device;
        if (status == PW_DEVICE_LOST && message.device.host == scheduler->host)
                lost = pw_scheduler_device(scheduler, message.device.device);
        if (lost && lost->lost_text)
                lost_sentence(scheduler, lost, &error);
        pw_host_tell(run, &message, lost && lost->lost_text ? error.text : NULL);
}
