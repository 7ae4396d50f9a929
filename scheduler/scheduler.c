/* The scheduler's face: events of the daemon go to the part that they concern. */
#include "scheduler/state.h"

#include "base/error.h"
#include "scheduler/coordinator/awaited.h"

struct pw_scheduler *pw_scheduler_new(const struct pw_scheduler_params *params, struct pw_error *ret_err)
{
        const char *policy = params->policy ? params->policy : "fifo";
        struct pw_scheduler *scheduler;

        if (pw_policy_check(policy, ret_err) != PW_OK)
                return NULL;
        if (params->ahead > PW_AHEAD_MAX) {
                pw_error_set(ret_err, PW_BAD_CONFIG, "%u gangs ahead: at most %u", params->ahead, PW_AHEAD_MAX);
                return NULL;
        }
        scheduler = calloc(1, sizeof *scheduler);
        if (!scheduler || !pw_actions_init(&scheduler->actions)) {
                pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a scheduler");
                if (scheduler)
                        pw_actions_done(&scheduler->actions);
                free(scheduler);
                return NULL;
        }
        scheduler->ahead = params->ahead ? params->ahead : PW_AHEAD_DEFAULT;
        pw_scheduler_admit_us(scheduler, params->admit_us);
        scheduler->cancelled_us = params->cancelled_us ? params->cancelled_us : PW_CANCELLED_US_DEFAULT;
        scheduler->linked = params->linked;
        scheduler->host = params->host;
        scheduler->epoch = params->epoch;
        scheduler->policy = pw_policy_find(policy);
        pw_list_init(&scheduler->waiting);
        pw_list_init(&scheduler->all_programs);
        pw_list_init(&scheduler->queue);
        pw_list_init(&scheduler->unadmitted);
        pw_list_init(&scheduler->doomed);
        pw_list_init(&scheduler->telling);
        pw_list_init(&scheduler->gathering);
        pw_list_init(&scheduler->losing);
        pw_list_init(&scheduler->turns);
        pw_list_init(&scheduler->unread);
        pw_list_init(&scheduler->patient);
        pw_list_init(&scheduler->results);
        pw_list_init(&scheduler->host_results);
        pw_list_init(&scheduler->changed_quotas);
        for (uint32_t i = 0; i < PW_RESULT_POOLS; i++) {
                pw_list_init(&scheduler->idle_results[i]);
                pw_list_init(&scheduler->idle_host_results[i]);
        }
        if (pw_scheduler_coordinator_add(scheduler, params->host, params->epoch, ret_err) == PW_OK)
                return scheduler;
        pw_scheduler_free(scheduler);
        return NULL;
}

void pw_scheduler_admit_us(struct pw_scheduler *scheduler, uint64_t admit_us)
{
        scheduler->admit_us = admit_us ? admit_us : PW_ADMIT_US_DEFAULT;
}

void pw_scheduler_observe(struct pw_scheduler *scheduler, const struct pw_observer *observer) { scheduler->observer = observer; }

static void free_results(struct pw_list *list)
{
        struct pw_result *result;

        pw_list_each(list, result, struct pw_result, link)
                pw_result_free(pw_result_live(result));
        pw_list_init(list);
}

/* What is still in flight goes without a word: the daemon has ended its executors. */
static void free_runs(struct pw_scheduler *scheduler)
{
        const struct pw_requester *requester;
        struct pw_live *live;

        for (uint32_t i = 0; (live = pw_numbers_next(&scheduler->runs, &i));)
                pw_live_free(live);
        for (uint32_t a = 0; (requester = pw_requester_next(scheduler, &a));)
                for (uint32_t i = 0; i < requester->run_capacity; i++)
                        if (requester->runs[i])
                                pw_host_run_free(requester->runs[i]);
        pw_numbers_done(&scheduler->runs);
        pw_heap_done(&scheduler->due);
}

void pw_scheduler_free(struct pw_scheduler *scheduler)
{
        struct pw_sched_program *program;
        struct pw_slice_live *slice;

        if (!scheduler)
                return;
        pw_actions_done(&scheduler->actions);
        pw_awaited_done(scheduler);
        free_runs(scheduler);
        free_results(&scheduler->results);
        for (uint32_t i = 0; i < PW_RESULT_POOLS; i++)
                free_results(&scheduler->idle_results[i]);
        pw_host_results_free(scheduler);
        pw_requesters_done(scheduler);
        pw_handles_done(&scheduler->slots);
        pw_handles_done(&scheduler->run_slots);
        free(scheduler->asking);
        free(scheduler->asking_slots);
        free(scheduler->telling_rooms);
        free(scheduler->telling_slots);
        pw_list_each(&scheduler->all_programs, program, struct pw_sched_program, of_all)
                pw_program_destroy(program);
        for (uint32_t i = 0; (slice = pw_table_next(&scheduler->slices, &i));)
                pw_slice_destroy(slice);
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++)
                pw_device_free(scheduler->devices[i]);
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                pw_island_free(scheduler->islands[i]);
        pw_table_done(&scheduler->programs);
        pw_table_done(&scheduler->slices);
        pw_quotas_done(&scheduler->quotas);
        free(scheduler->free_slots);
        free(scheduler);
}

struct pw_actions *pw_scheduler_actions(struct pw_scheduler *scheduler) { return &scheduler->actions; }

enum pw_status pw_scheduler_device_add(struct pw_scheduler *scheduler, const struct pw_device_add *add, struct pw_error *ret_err)
{
        struct pw_island **island;
        struct pw_device *device;

        if (add->device >= PW_DEVICES_MAX || add->island >= PW_ISLANDS_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "device %u in island %u: at most %u devices in %u islands", add->device,
                                    add->island, PW_DEVICES_MAX, PW_ISLANDS_MAX);
        if (scheduler->devices[add->device])
                return pw_error_set(ret_err, PW_EXISTS, "device %u is there already", add->device);
        island = &scheduler->islands[add->island];
        if (!*island)
                *island = pw_island_new(scheduler, add->island, scheduler->policy);
        device = *island ? pw_device_new(add, scheduler->ahead, scheduler->policy->counts) : NULL;
        if (!device)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for device %u", add->device);
        scheduler->devices[add->device] = device;
        (*island)->members |= UINT64_C(1) << add->device;
        return PW_OK;
}

enum pw_status pw_scheduler_segment(struct pw_scheduler *scheduler, uint32_t number, const char *tenant, uint32_t segment,
                                    uint64_t bytes, struct pw_error *ret_err)
{
        struct pw_device *device = pw_scheduler_device(scheduler, number);
        struct pw_device_quota *quota;

        if (!device)
                return pw_error_set(ret_err, PW_NOT_FOUND, "no device %u", number);
        quota = pw_quota_of(&scheduler->quotas, tenant);
        if (!quota)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the quota of tenant %s", tenant);
        return pw_device_segment(device, quota, segment, bytes, ret_err);
}

bool pw_scheduler_has_segment(const struct pw_scheduler *scheduler, uint32_t number, const char *tenant)
{
        const struct pw_device *device = pw_scheduler_device(scheduler, number);

        return device && pw_device_rooms(device, tenant);
}

bool pw_scheduler_segments_end(struct pw_scheduler *scheduler, const char *tenant)
{
        struct pw_rooms *rooms[PW_DEVICES_MAX] = { 0 };

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                rooms[i] = scheduler->devices[i] ? pw_device_rooms(scheduler->devices[i], tenant) : NULL;
                if (rooms[i] && !pw_rooms_idle(rooms[i]))
                        return false;
        }
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++)
                if (rooms[i])
                        pw_rooms_end(scheduler->devices[i], rooms[i]);
        return true;
}

bool pw_scheduler_progress(struct pw_scheduler *scheduler, uint32_t number, uint64_t done_count, uint64_t now_us)
{
        struct pw_device *device = pw_scheduler_device(scheduler, number);

        scheduler->now_us = now_us;
        if (!device || done_count > device->ordered || done_count <= device->done)
                return false;
        pw_island_progress(scheduler->islands[device->island], device, done_count);
        return true;
}

bool pw_scheduler_counts(const struct pw_scheduler *scheduler) { return scheduler->policy->counts; }

void pw_scheduler_took(struct pw_scheduler *scheduler, uint32_t number, uint64_t index, uint64_t ns)
{
        const struct pw_device *device = pw_scheduler_device(scheduler, number);

        if (device && device->charges && index >= device->done && index < device->ordered)
                pw_device_charge(device, index)->took_ns = ns;
}

struct pw_device_done pw_scheduler_done(const struct pw_scheduler *scheduler, uint32_t number)
{
        const struct pw_device *device = pw_scheduler_device(scheduler, number);

        return device ? (struct pw_device_done){ device->done, device->done_seq } : (struct pw_device_done){ 0, 0 };
}

void pw_scheduler_peak(struct pw_scheduler *scheduler, uint32_t number, uint64_t run, uint64_t bytes)
{
        struct pw_host_run *here = pw_host_find(scheduler, run);
        const struct pw_device *device = pw_scheduler_device(scheduler, number);

        if (here && bytes > here->program->row.measured_peak_bytes && device && bytes <= device->capacity &&
            pw_program_device(here->program, number))
                here->program->row.measured_peak_bytes = bytes;
}

/* One that comes alone need not wait for the turn. */
void pw_scheduler_submit(struct pw_scheduler *scheduler, struct pw_run *run, uint64_t now_us)
{
        scheduler->now_us = now_us;
        pw_live_submit(pw_live_of(run));
        if (scheduler->queue_count == 1) {
                pw_doomed_fail(scheduler);
                pw_admission_scan(scheduler);
        }
}

void pw_scheduler_input_ready(struct pw_scheduler *scheduler, struct pw_run *run, uint32_t input, enum pw_status status,
                              const char *text, uint64_t now_us)
{
        scheduler->now_us = now_us;
        pw_input_ready(pw_live_of(run), input, status, text);
        pw_admission_scan(scheduler);
}

void pw_scheduler_cancel(struct pw_scheduler *scheduler, uint64_t number, const char *by, uint64_t now_us)
{
        struct pw_live *live = pw_live_find(scheduler, number);

        scheduler->now_us = now_us;
        if (!live)
                return;
        pw_live_cancel(live, by);
        pw_admission_scan(scheduler);
}

void pw_scheduler_unheld(struct pw_scheduler *scheduler, uint64_t number, uint64_t now_us)
{
        struct pw_live *live = pw_live_find(scheduler, number);

        if (live && pw_live_unheld(live))
                pw_scheduler_cancel(scheduler, number, NULL, now_us);
}

void pw_scheduler_give_up(struct pw_scheduler *scheduler, uint32_t host, const char *why, uint64_t now_us)
{
        struct pw_requester *requester = pw_table_get(&scheduler->requesters, host);

        scheduler->now_us = now_us;
        if (!requester || requester == scheduler->own || requester->given_up)
                return;
        scheduler->gave_up = true;
        pw_requester_give_up(scheduler, requester);
        pw_coordinator_give_up(scheduler, host, why);
}

void pw_scheduler_turn(struct pw_scheduler *scheduler, uint64_t now_us)
{
        scheduler->now_us = now_us;
        pw_unread_drop(scheduler);
        pw_gathering_go_on(scheduler);
        pw_doomed_fail(scheduler);
        pw_admission_scan(scheduler);
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (scheduler->islands[i] && scheduler->islands[i]->dirty)
                        pw_island_turn(scheduler->islands[i]);
}

bool pw_scheduler_waits_for_holders(const struct pw_scheduler *scheduler) { return scheduler->deferred_count > 0; }

uint64_t pw_scheduler_next_us(const struct pw_scheduler *scheduler)
{
        if ((scheduler->scan && !pw_list_empty(&scheduler->queue)) || !pw_list_empty(&scheduler->unread) ||
            !pw_list_empty(&scheduler->doomed) || !pw_list_empty(&scheduler->gathering) ||
            !pw_list_empty(&scheduler->telling))
                return 0;
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (scheduler->islands[i] && scheduler->islands[i]->dirty)
                        return 0;
        return scheduler->gave_up ? pw_min_u64(pw_deadlines_next_us(scheduler), pw_requesters_next_us(scheduler)) :
                                    pw_deadlines_next_us(scheduler);
}

void pw_scheduler_tick(struct pw_scheduler *scheduler, uint64_t now_us)
{
        scheduler->now_us = now_us;
        pw_deadlines_expire(scheduler, now_us);
        if (scheduler->gave_up)
                pw_requesters_expire(scheduler, now_us);
}

uint64_t pw_scheduler_ring_at(const struct pw_scheduler *scheduler, uint32_t number)
{
        const struct pw_device *device = pw_scheduler_device(scheduler, number);
        uint64_t at = UINT64_MAX, window;

        if (!device || device->done == device->ordered)
                return UINT64_MAX;
        if (device->marker_first != device->marker_end)
                at = device->markers[device->marker_first & device->seq_mask].count;
        if (!pw_list_empty(&device->leaving))
                at = pw_min_u64(at, pw_list_first(&device->leaving, struct pw_stand, leaving)->leaves_at);
        if (!device->window_wanted)
                return at;
        window = device->ordered > scheduler->ahead / 2 ? device->ordered - scheduler->ahead / 2 : 0;
        return pw_min_u64(at, pw_max_u64(window, device->done + 1));
}
