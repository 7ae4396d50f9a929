/* The module `gpu`: functions that go wrong on GPUs, each in its own way. Input 0 is like output 0.
 *
 *   fault   kernel says fault 2, which has a sentence   unnamed  fault 9, which has none
 *   spill   writes past its output, in its room         beyond   past the room, too
 *   trap    its kernel traps                            hang     its kernel never ends; its time limit is 300 ms
 *   refuse  says that it failed, before any launch      lost     names a kernel that is not there
 *   empty   writes nothing                              ahead    code for a GPU that is yet to come
 *   newer   code of a compiler that is yet to come      moody   copies; shard 2: 7, never ends; 8, fault 1; 9, takes its time
 *   hostly  has no form for GPUs                    stuck    never returns; its time limit is 300 ms
 *   again   the same, from when a process calls it for the second time; endless   the same, without a limit
 *   slowly  takes 0.4 s, likewise
 *   forgot  asks for a kernel that is not there, and says that all is well;   wide, holed  for a block, an argument that cannot be
 *   few     gives a kernel less than it takes
 */
#include "pathways_module.h"

#include <unistd.h>

static const char code[] =
#include "tests/integration/modules/gpu.ptx.inc"
        ;
static const char of_tomorrow[] = ".version 7.7\n.target sm_999\n.address_size 64\n.visible .entry gpu_later()\n{\nret;\n}\n";
static const char of_a_newer[] = ".version 99.0\n.target sm_75\n.address_size 64\n.visible .entry gpu_newer()\n{\nret;\n}\n";
static const struct pw_code codes[] = { { "gpu", code, sizeof code }, { "tomorrow", of_tomorrow, sizeof of_tomorrow },
                                        { "newer", of_a_newer, sizeof of_a_newer } };
static const char *const faults[] = { "the first fault", "the second fault" };

static enum pw_status launch(struct pw_task *task, const char *of, const char *name, const void *const *args)
{
        const struct pw_kernel kernel = { .code = of, .name = name, .grid = { 1 }, .block = { 32 }, .args = args,
                                          .arg_count = !args ? 0 : args[1] ? 2 : 1 };

        return task->services->launch(task, &kernel);
}

static enum pw_status say(struct pw_task *task, uint32_t number)
{
        const void *const args[] = { &number, &task->fault };

        return launch(task, "gpu", "gpu_fault", args);
}

static enum pw_status fault(struct pw_task *task) { return say(task, 2); }
static enum pw_status unnamed(struct pw_task *task) { return say(task, 9); }

static enum pw_status fill(struct pw_task *task, uint64_t more)
{
        void *to = pw_task_out(task, 0);
        uint64_t bytes = task->outputs[0].bytes + more;
        const void *const args[] = { &to, &bytes };

        return launch(task, "gpu", "gpu_write", args);
}

static enum pw_status spill(struct pw_task *task) { return fill(task, 8); }
static enum pw_status beyond(struct pw_task *task) { return fill(task, 4096); }

static enum pw_status hang(struct pw_task *task)
{
        void *word = pw_task_out(task, 0);
        const void *const args[] = { &word, NULL };

        return launch(task, "gpu", "gpu_hang", args);
}

static enum pw_status trap(struct pw_task *task)
{
        uint32_t number = task->shard;
        const void *const args[] = { &number, NULL };

        return launch(task, "gpu", "gpu_trap", args);
}

static enum pw_status refuse(struct pw_task *task) { return pw_task_fail(task, "shard %u \033[2Jwill not", task->shard); }
static enum pw_status lost(struct pw_task *task) { return launch(task, "gpu", "gpu_nowhere", NULL); }
static enum pw_status ahead(struct pw_task *task) { return launch(task, "tomorrow", "gpu_later", NULL); }
static enum pw_status newer(struct pw_task *task) { return launch(task, "newer", "gpu_newer", NULL); }

static enum pw_status moody(struct pw_task *task)
{
        const void *from = pw_task_in(task, 0);
        void *to = pw_task_out(task, 0);
        uint64_t count = task->outputs[0].bytes / sizeof(double);
        const void *const args[] = { &from, &to, &count, &task->shard, &task->fault };
        const struct pw_kernel kernel = { .code = "gpu", .name = "gpu_moody", .grid = { 1 }, .block = { 32 }, .args = args,
                                          .arg_count = 5 };

        return task->services->launch(task, &kernel);
}

static enum pw_status empty(struct pw_task *task)
{
        (void)task;
        return PW_OK;
}

static enum pw_status forgot(struct pw_task *task) { return lost(task) == PW_OK ? PW_FAILED : empty(task); }

static enum pw_status wide(struct pw_task *task)
{
        const void *const args[] = { &task->shard };
        const struct pw_kernel kernel = { .code = "gpu", .name = "gpu_trap", .grid = { 1, 3 }, .block = { 2000 }, .args = args,
                                          .arg_count = 1 };

        return task->services->launch(task, &kernel);
}

static enum pw_status few(struct pw_task *task)
{
        const void *const args[] = { &task->fault, NULL };

        return launch(task, "gpu", "gpu_write", args);
}

static enum pw_status holed(struct pw_task *task)
{
        const void *const args[] = { &task->fault, NULL };
        const struct pw_kernel kernel = { .code = "gpu", .name = "gpu_write", .args = args, .arg_count = 2 };

        return task->services->launch(task, &kernel);
}

static enum pw_status stuck(struct pw_task *task)
{
        (void)task;
        while (pause() < 0) {
        }
        return PW_OK;
}

static uint32_t calls_of_again, calls_of_endless, calls_of_slowly;

static enum pw_status again(struct pw_task *task) { return calls_of_again++ ? stuck(task) : PW_OK; }

static enum pw_status endless(struct pw_task *task) { return calls_of_endless++ ? stuck(task) : PW_OK; }

static enum pw_status slowly(struct pw_task *task)
{
        (void)task;
        if (calls_of_slowly++)
                usleep(400000);
        return PW_OK;
}

#define ON_GPU(function, ...)                                                                                          \
        { .name = #function, .cuda = (function), .shape = pw_shape_as_input_0, .faults = faults, .fault_count = 2, __VA_ARGS__ }
PW_MODULE_WITH("gpu", codes, ON_GPU(fault), ON_GPU(unnamed), ON_GPU(spill), ON_GPU(beyond), ON_GPU(trap),
               ON_GPU(hang, .time_limit_us = 300000), ON_GPU(refuse), ON_GPU(lost), ON_GPU(ahead), ON_GPU(newer), ON_GPU(empty),
               ON_GPU(moody), ON_GPU(forgot), ON_GPU(wide), ON_GPU(holed), ON_GPU(few),
               ON_GPU(stuck, .time_limit_us = 300000), ON_GPU(again, .time_limit_us = 300000), ON_GPU(endless), ON_GPU(slowly),
               { .name = "hostly", .run = empty, .shape = pw_shape_as_input_0 });
