/* The module `broken`: functions that go wrong, for tests of faults. Each does so on every shard, or, with one u64 as params, on
 * that shard only; elsewhere outputs are the inputs.
 *
 *   fail   returns an error with a text          exit   ends its process, status 3
 *   crash  SIGSEGV                               loop   runs for ever; its time limit is 200 ms
 *   fork   forks a process that tries to write the output; fails unless that ends by SIGSEGV
 *   over   writes one byte past its last output   far   writes 4 KiB past it
 *   term   SIGTERM to itself                     stop   SIGSTOP to itself; its time limit is 200 ms
 *   picky  returns an error, unless the f64 that it is given first is 0;   grim  SIGSEGV then
 *   unready   returns PW_NOT_READY, which is no error
 *   says   returns the status that its parameters say, struct says, and so does its shape function unless that is 0
 *   spoil  blocks all signals, ignores those of children, changes directory and umask
 *   close  closes all descriptors
 *   leave  leaves a forked process behind, whose number its output is
 *   exec   the same of a program, sleep, that it executes;   spawn   the same without a fork of its own: by posix_spawn()
 *   count, seq, tail   writes nonsense into that word of its device's board, and goes on for ever
 *   back   winds the seq of its board back once it is done, for 50 ms;   unmark   clears its marks for 50 ms
 *   head   writes nonsense into the head of the reports;   spoilt   calls all that it ever wrote spoilt; both return
 *   denies   writes into its board that it is in no gang, and ends its process; it has no input.   launches   the same, and that
 *   it launches its own;   arrives   the same, and that it has come to it
 *   hides    writes into its board that it is in no gang, and goes on for ever
 *   silent   clears the bitmaps of who sleeps for whom, and every bell, for 100 ms
 *   late   writes its output, an f64 [12 MiB], once nobody holds the lock of the file whose path is its params
 */
#include "pathways_module.h"
#include "plane/board/board.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_my_turn(const struct pw_task *task)
{
        uint64_t shard;

        if (task->params_bytes < sizeof shard)
                return true;
        memcpy(&shard, task->params, sizeof shard);
        return shard == task->shard;
}

static enum pw_status pass(struct pw_task *task)
{
        for (uint32_t i = 0; i < task->output_count; i++)
                memcpy(task->outputs[i].data, task->inputs[i].data, task->outputs[i].bytes);
        return PW_OK;
}

static enum pw_status fail(struct pw_task *task)
{
        return is_my_turn(task) ? pw_task_fail(task, "shard %u was told to fail", task->shard) : pass(task);
}

static enum pw_status picky(struct pw_task *task)
{
        double given = *(const double *)pw_task_in(task, 0);

        pass(task);
        return given ? pw_task_fail(task, "was given %g", given) : PW_OK;
}

static enum pw_status grim(struct pw_task *task)
{
        if (*(const double *)pw_task_in(task, 0))
                raise(SIGSEGV);
        return pass(task);
}

static enum pw_status unready(struct pw_task *task) { return is_my_turn(task) ? PW_NOT_READY : pass(task); }

struct says { uint32_t shape, run; };

static enum pw_status says(struct pw_task *task) { return (enum pw_status)((const struct says *)task->params)->run; }

static enum pw_status crash(struct pw_task *task)
{
        if (is_my_turn(task))
                raise(SIGSEGV);
        return pass(task);
}

static enum pw_status quit(struct pw_task *task)
{
        if (is_my_turn(task))
                _exit(3);
        return pass(task);
}

static enum pw_status over(struct pw_task *task)
{
        enum pw_status status = pass(task);

        if (is_my_turn(task))
                memset((uint8_t *)pw_task_out(task, task->output_count - 1) + task->outputs[task->output_count - 1].bytes, 0, 1);
        return status;
}

static enum pw_status far(struct pw_task *task)
{
        enum pw_status status = pass(task);

        if (is_my_turn(task))
                memset((uint8_t *)pw_task_out(task, 0) + task->outputs[0].bytes, 0, 4096);
        return status;
}

static enum pw_status loop(struct pw_task *task)
{
        volatile bool forever = is_my_turn(task);

        while (forever)
                ;
        return pass(task);
}

static enum pw_status fork_(struct pw_task *task)
{
        int how = 0;
        pid_t child;

        if (!is_my_turn(task))
                return pass(task);
        child = fork();
        if (!child) {
                memset(task->outputs[0].data, 0x5a, task->outputs[0].bytes);
                _exit(0);
        }
        if (child < 0 || waitpid(child, &how, 0) != child)
                return pw_task_fail(task, "no child");
        if (!WIFSIGNALED(how) || WTERMSIG(how) != SIGSEGV)
                return pw_task_fail(task, "a forked process can write the memory of the device");
        return pass(task);
}

static enum pw_status term(struct pw_task *task)
{
        if (is_my_turn(task))
                raise(SIGTERM);
        return pass(task);
}

static enum pw_status stop(struct pw_task *task)
{
        if (is_my_turn(task))
                raise(SIGSTOP);
        return pass(task);
}

static enum pw_status spoil(struct pw_task *task)
{
        sigset_t all;

        sigfillset(&all);
        if (is_my_turn(task) &&
            (sigprocmask(SIG_SETMASK, &all, NULL) || signal(SIGCHLD, SIG_IGN) == SIG_ERR || chdir("/proc/self")))
                return pw_task_fail(task, "the process cannot be spoiled");
        umask(0777);
        return pass(task);
}

static enum pw_status close_(struct pw_task *task)
{
        if (is_my_turn(task))
                close_range(0, ~0U, 0);
        return pass(task);
}

/* Output 0 is an f64: the number of the process that stays behind. */
static enum pw_status leave_one(struct pw_task *task, void (*stay)(void))
{
        pid_t child = fork();

        if (!child) {
                stay();
                _exit(1);
        }
        if (child < 0)
                return pw_task_fail(task, "no child");
        *(double *)pw_task_out(task, 0) = child;
        return PW_OK;
}

static void wait_for_ever(void) { pause(); }
static void sleep_for_ever(void) { execl("/bin/sleep", "sleep", "infinity", NULL); }

static enum pw_status leave(struct pw_task *task) { return leave_one(task, wait_for_ever); }
static enum pw_status exec_(struct pw_task *task) { return leave_one(task, sleep_for_ever); }

static enum pw_status spawn(struct pw_task *task)
{
        char *const args[] = { (char *)"sleep", (char *)"infinity", NULL };
        pid_t child;

        if (posix_spawn(&child, "/bin/sleep", NULL, NULL, args, NULL))
                return pw_task_fail(task, "no child");
        *(double *)pw_task_out(task, 0) = child;
        return PW_OK;
}

/* The map of this name that can be written here: of boards, that of the own device. */
static void *own_map(const char *name)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[256];
        void *map = NULL;

        while (maps && !map && fgets(line, sizeof line, maps))
                if (strstr(line, "rw-s") && strstr(line, name))
                        sscanf(line, "%p", &map);
        if (maps)
                fclose(maps);
        return map;
}

static enum pw_status after_scribbling(struct pw_task *task, void (*scribble)(struct pw_device_board *))
{
        struct pw_device_board *board = own_map("pathways-device-board");

        if (!board)
                return pw_task_fail(task, "no board");
        if (!is_my_turn(task))
                return pass(task);
        scribble(board);
        for (;;)
                pause();
}

static void scribble_count(struct pw_device_board *board) { atomic_store(&board->done.count, UINT64_C(1) << 60); }
static void scribble_seq(struct pw_device_board *board) { atomic_store(&board->done.seq, UINT64_C(1) << 60); }
static void scribble_tail(struct pw_device_board *board) { atomic_fetch_add(&board->report_tail, PW_REPORTS + 1); }
static void scribble_place(struct pw_device_board *board)
{
        atomic_store(&board->running, 0);
        atomic_store(&board->running_since_ns, 0);
        atomic_store(&board->launching, 0);
}
static enum pw_status count(struct pw_task *task) { return after_scribbling(task, scribble_count); }
static enum pw_status seq(struct pw_task *task) { return after_scribbling(task, scribble_seq); }
static enum pw_status tail(struct pw_task *task) { return after_scribbling(task, scribble_tail); }
static enum pw_status hides(struct pw_task *task) { return after_scribbling(task, scribble_place); }

/* In none, as the daemon sees it. */
static enum pw_status vanish(struct pw_task *task, bool launching, bool marked)
{
        struct pw_device_board *board = own_map("pathways-device-board");
        uint64_t own;

        if (!board)
                return pw_task_fail(task, "no board");
        own = atomic_load(&board->running);
        if (launching)
                atomic_store(&board->launching, own);
        if (marked)
                atomic_store(&board->marks[own % PW_ORDER_LOG].seq, own);
        atomic_store(&board->running, 0);
        return (enum pw_status)kill(getpid(), SIGKILL);
}

static enum pw_status denies(struct pw_task *task) { return vanish(task, false, false); }
static enum pw_status launches(struct pw_task *task) { return vanish(task, true, false); }
static enum pw_status arrives(struct pw_task *task) { return vanish(task, false, true); }

/* --- what goes on behind its back -------------------------------------------------------------------------------------------- */

struct scribbler {
        struct pw_device_board *board;
        struct pw_bells *bells;
        uint64_t seq, ms;
        void (*stroke)(const struct scribbler *);
};

static void *scribble_on(void *context)
{
        struct scribbler *scribbler = context;
        struct timespec now, start;

        clock_gettime(CLOCK_MONOTONIC, &start);
        do {
                scribbler->stroke(scribbler);
                clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((uint64_t)((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000) < scribbler->ms);
        free(scribbler);
        return NULL;
}

static enum pw_status behind_its_back(struct pw_task *task, uint64_t ms, void (*stroke)(const struct scribbler *))
{
        struct scribbler *scribbler = calloc(1, sizeof *scribbler);
        pthread_t thread;

        if (!is_my_turn(task)) {
                free(scribbler);
                return pass(task);
        }
        *scribbler = (struct scribbler){ own_map("pathways-device-board"), own_map("pathways-bells"), 0, ms, stroke };
        if (!scribbler->board || !scribbler->bells)
                return pw_task_fail(task, "no board");
        scribbler->seq = atomic_load(&scribbler->board->done.seq);
        if (!ms)
                scribble_on(scribbler);
        else if (pthread_create(&thread, NULL, scribble_on, scribbler))
                return pw_task_fail(task, "no thread");
        else
                pthread_detach(thread);
        return pass(task);
}

static void stroke_back(const struct scribbler *scribbler) { atomic_store(&scribbler->board->done.seq, scribbler->seq); }
static void stroke_marks(const struct scribbler *scribbler)
{
        for (uint32_t i = 0; i < PW_ORDER_LOG; i++)
                atomic_store(&scribbler->board->marks[i].seq, 0);
}
static void stroke_head(const struct scribbler *scribbler) { atomic_store(&scribbler->board->report_head, 1u << 20); }
static void stroke_spoilt(const struct scribbler *scribbler) { atomic_store(&scribbler->board->spoilt_before, UINT64_MAX); }
static void stroke_bells(const struct scribbler *scribbler)
{
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                atomic_store(&scribbler->bells->sleepers[i].bits, 0);
                atomic_store(&scribbler->bells->bell[i].word, 0);
        }
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                atomic_store(&scribbler->bells->order_sleepers[i].bits, 0);
}
static enum pw_status back(struct pw_task *task) { return behind_its_back(task, 50, stroke_back); }
static enum pw_status unmark(struct pw_task *task) { return behind_its_back(task, 50, stroke_marks); }
static enum pw_status head(struct pw_task *task) { return behind_its_back(task, 0, stroke_head); }
static enum pw_status spoilt(struct pw_task *task) { return behind_its_back(task, 0, stroke_spoilt); }
static enum pw_status silent(struct pw_task *task) { return behind_its_back(task, 100, stroke_bells); }

/* What it writes is -1 everywhere. */
static enum pw_status late(struct pw_task *task)
{
        double *out = pw_task_out(task, 0);
        int gate = open((const char *)task->params, O_RDONLY | O_CLOEXEC);

        if (gate >= 0) { /* else it is open for good */
                flock(gate, LOCK_SH);
                close(gate);
        }
        for (uint64_t i = 0; i < task->outputs[0].bytes / sizeof *out; i++)
                out[i] = -1;
        return PW_OK;
}

static enum pw_status late_shape(struct pw_shape_task *task)
{
        task->outputs[0].dtype = PW_F64;
        task->outputs[0].dims = (struct pw_dims){ .rank = 1, .dim = { (12 << 20) / sizeof(double) } };
        return PW_OK;
}

/* Output i is as input i. */
static enum pw_status shape(struct pw_shape_task *task)
{
        if (task->output_count > task->input_count)
                return pw_shape_fail(task, "takes as many inputs as it has outputs");
        for (uint32_t i = 0; i < task->output_count; i++) {
                task->outputs[i].dtype = task->inputs[i].dtype;
                task->outputs[i].dims = task->inputs[i].dims;
        }
        return PW_OK;
}

static enum pw_status shape_says(struct pw_shape_task *task)
{
        uint32_t status = ((const struct says *)task->params)->shape;

        return status ? (enum pw_status)status : shape(task);
}

/* It has no input, so that its gang is the only one of its run. */
static enum pw_status shape_lone(struct pw_shape_task *task)
{
        for (uint32_t i = 0; i < task->output_count; i++) {
                task->outputs[i].dtype = PW_U8;
                task->outputs[i].dims = (struct pw_dims){ .rank = 1, .dim = { 1 } };
        }
        return PW_OK;
}

/* Its shape function ends the describing executor. */
static enum pw_status shape_crash(struct pw_shape_task *task)
{
        raise(SIGSEGV);
        return shape(task);
}

/* Its shape function does not come to an end. */
static enum pw_status shape_hang(struct pw_shape_task *task)
{
        while (task->output_count)
                pause();
        return PW_OK;
}

/* Its shape function takes a quarter of a second of the first processor. */
static enum pw_status shape_slow(struct pw_shape_task *task)
{
        struct timespec now, end;
        cpu_set_t all, first;

        CPU_ZERO(&first);
        if (sched_getaffinity(0, sizeof all, &all))
                return PW_FAILED;
        for (int i = 0; !CPU_COUNT(&first) && i < CPU_SETSIZE; i++)
                if (CPU_ISSET(i, &all))
                        CPU_SET(i, &first);
        if (sched_setaffinity(0, sizeof first, &first))
                return PW_FAILED;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        end.tv_nsec += 250000000;
        do
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec);
        return sched_setaffinity(0, sizeof all, &all) ? PW_FAILED : shape(task);
}

static enum pw_status slow_shape(struct pw_task *task) { return pass(task); }
static enum pw_status endless(struct pw_task *task) { return pass(task); }
static enum pw_status shapeless(struct pw_task *task) { return pass(task); }

PW_MODULE("broken",
          PW_FUNCTION(fail, .shape = shape),
          PW_FUNCTION(picky, .shape = shape),
          PW_FUNCTION(grim, .shape = shape),
          PW_FUNCTION(unready, .shape = shape),
          PW_FUNCTION(says, .shape = shape_says),
          PW_FUNCTION(crash, .shape = shape),
          { .name = "lone", .run = crash, .shape = shape_lone },
          { .name = "exit", .run = quit, .shape = shape },
          PW_FUNCTION(over, .shape = shape),
          PW_FUNCTION(far, .shape = shape),
          PW_FUNCTION(loop, .shape = shape, .time_limit_us = 200000),
          { .name = "fork", .run = fork_, .shape = shape },
          PW_FUNCTION(term, .shape = shape),
          PW_FUNCTION(stop, .shape = shape, .time_limit_us = 200000),
          PW_FUNCTION(spoil, .shape = shape),
          { .name = "close", .run = close_, .shape = shape },
          PW_FUNCTION(leave, .shape = shape),
          PW_FUNCTION(spawn, .shape = shape),
          { .name = "exec", .run = exec_, .shape = shape },
          PW_FUNCTION(count, .shape = shape),
          PW_FUNCTION(seq, .shape = shape),
          PW_FUNCTION(tail, .shape = shape),
          PW_FUNCTION(hides, .shape = shape),
          PW_FUNCTION(denies, .shape = shape_lone),
          PW_FUNCTION(launches, .shape = shape_lone),
          PW_FUNCTION(arrives, .shape = shape_lone),
          PW_FUNCTION(back, .shape = shape),
          PW_FUNCTION(unmark, .shape = shape),
          PW_FUNCTION(head, .shape = shape),
          PW_FUNCTION(spoilt, .shape = shape),
          PW_FUNCTION(silent, .shape = shape),
          PW_FUNCTION(late, .shape = late_shape),
          PW_FUNCTION(endless, .shape = shape_hang),
          PW_FUNCTION(slow_shape, .shape = shape_slow),
          PW_FUNCTION(shapeless, .shape = shape_crash));
