/* A device that does what is launched when it is let, for tests of what is under way.
 */
#ifndef PW_EXECUTOR_DEVICE_SPYING_H
#define PW_EXECUTOR_DEVICE_SPYING_H

#include "executor/device/hostly.h"
#include "executor/gang/failure.h"
#include "executor/gang/flight.h"

#include "base/memory.h"

/* --- a device that does what is launched when it is let ---------------------------------------------------------------------- */

struct pw_exec_device {
        const struct pw_device_call *launched[2 * PW_FLIGHTS];
        uint32_t first, count, most, let, waits; /* waits: how often somebody asked when there will be more, and let one be done */
        uint32_t together; /* that end so from the next one on */
        _Atomic uint64_t *asks; /* whoever asks next when there will be more comes too early, and this counts up; NULL: not so */
};
static struct pw_exec_device *spy; /* the one that is open */

static enum pw_status spy_open(const struct pw_device_params *params, struct pw_exec_device **ret_device, struct pw_error *ret_err)
{
        (void)params, (void)ret_err;
        *ret_device = spy = calloc(1, sizeof *spy);
        return PW_OK;
}
static void spy_close(struct pw_exec_device *device) { free(device); }
static void spy_name_of(const struct pw_exec_device *device, char *text, size_t text_bytes)
{
        (void)device, (void)text, (void)text_bytes;
}
static uint32_t spy_caps(const struct pw_exec_device *device)
{
        (void)device;
        return 0;
}
static const struct pw_device_memory *spy_memory(const struct pw_exec_device *device)
{
        (void)device;
        return &pw_memory_host;
}
static enum pw_status spy_launch(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end)
{
        (void)ret_end;
        device->launched[(device->first + device->count++) % pw_array_count(device->launched)] = call;
        device->most = pw_max_u64(device->most, device->count);
        return PW_OK;
}
static bool spy_done(struct pw_exec_device *device, struct pw_device_end *ret_end)
{
        static const struct pw_task_services none = { 0 };

        if (!device->count || !device->let)
                return false;
        pw_hostly_run(device->launched[device->first], &none, ret_end);
        ret_end->together = device->together;
        device->together -= device->together > 0;
        device->first = (device->first + 1) % pw_array_count(device->launched);
        device->count--;
        device->let--;
        return true;
}
static uint64_t spy_next_ns(struct pw_exec_device *device)
{
        if (!device->count)
                return UINT64_MAX;
        if (device->asks) {
                atomic_fetch_add(device->asks, 1);
                device->asks = NULL;
                return 0;
        }
        device->let++;
        device->waits++;
        return 0;
}
static void spy_moved(struct pw_exec_device *device, uint64_t bytes) { (void)device, (void)bytes; }
static uint64_t spy_ended_ns(struct pw_exec_device *device, uint64_t now_ns)
{
        (void)device;
        return now_ns;
}
static void spy_not_before(struct pw_exec_device *device, uint64_t ns) { (void)device, (void)ns; }
static void spy_idle(struct pw_exec_device *device) { assert_int_equal(device->count, 0); }

static const struct pw_device_kind spying = { .name = "spying", .about = "does what it is told to", .open = spy_open,
                                              .close = spy_close, .name_of = spy_name_of, .caps = spy_caps, .memory = spy_memory,
                                              .launch = spy_launch, .done = spy_done, .next_ns = spy_next_ns, .moved = spy_moved,
                                              .ended_ns = spy_ended_ns, .not_before = spy_not_before, .idle = spy_idle };

/* --- what tests share -------------------------------------------------------------------------------------------------------- */

struct scene { struct trial trial; struct pw_launch *launch; };

static inline struct pw_device_board *board_of(const struct scene *scene) { return scene->trial.world.boards[0]; }
static inline uint64_t done_seq(const struct scene *scene) { return atomic_load(&board_of(scene)->done.seq); }
static inline uint64_t running(const struct scene *scene) { return atomic_load(&board_of(scene)->running); }

/* Its functions have run before: what runs for the first time is waited for. */
static inline void begin(struct scene *scene, struct build *build_take)
{
        trial_init(&scene->trial, 1, 1, build_take);
        scene->launch = world_launch(&scene->trial.world, 0, &spying);
        assert_non_null(scene->launch);
        run_init(&scene->trial.run, &scene->trial.program, &input_one);
        run_order_all(&scene->trial.run);
        pw_launch_turn(scene->launch);
        assert_int_equal(spy->count, 0);
        assert_int_equal(spy->most, 1);
        assert_int_equal(done_seq(scene), atomic_load(&scene->trial.world.islands[0]->head));
        run_init(&scene->trial.run, &scene->trial.program, &input_one);
        spy->most = spy->waits = 0;
}

static inline void end(struct scene *scene)
{
        pw_launch_free(scene->launch);
        spying.close(spy);
        trial_done(&scene->trial);
}

/* `count` more are done, and known. */
static inline void let(struct scene *scene, uint32_t count)
{
        spy->let += count;
        pw_launch_turn(scene->launch);
        assert_int_equal(spy->let, 0);
}

static inline uint32_t scalar(struct build *build, uint32_t slice)
{
        return build_value(build, slice, PW_F64, PW_SCALAR, PW_BROADCAST);
}

static inline uint32_t scale(struct build *build, uint32_t from, uint32_t to)
{
        return build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { from }, .input_count = 1, .output = to });
}

#endif
