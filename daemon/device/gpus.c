/* The thread that asks NVML, and what it found. */
#include "daemon/device/gpus.h"

#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/device/nvml_library.h"
#include "daemon/thread.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESSES 256u /* on one GPU, of which its executor is looked for */
#define SYSTEM_PIDS 0xEFFFFFFCu /* the namespace of processes that the system began with: include/linux/proc_ns.h */
#define LEAVE_US 200000u /* how long the end waits for the thread */

struct gpu { bool is; uint32_t ordinal; };

struct pw_gpus {
        struct pw_daemon *daemon;     /* the loop's, as what follows */
        struct event *event;
        struct pw_gpu_facts *facts;   /* of each device */
        uint64_t read_us;             /* when the driver answered last, or could not; 0: never */
        bool busy;                    /* the thread was asked, and has not told: `found` and `err` are its own */
        char said[sizeof(struct pw_error)]; /* what the log has of NVML that cannot be used; "": nothing */

        struct gpu *all;              /* of each device; set before the thread begins, as what follows */
        uint32_t count;
        char *path;                   /* NULL: the system's */
        bool sees_pids;               /* as the driver numbers them */
        int pipe_fds[2];

        struct pw_nvml_library *library; /* the thread's; NULL: it could not be opened */

        pthread_mutex_t lock;         /* of all that follows */
        pthread_cond_t changed;
        bool asked, runs, stop;
        pid_t *executors;             /* of each device */
        struct pw_gpu_facts *found;   /* of each device */
        struct pw_error err;          /* PW_OK: NVML can be used */
};

/* --- on the thread -------------------------------------------------------------------------------------------------------- */

/* True: `fact` is known. One that is not supported is no error, others are told by the first. */
static bool is_known(const struct pw_gpus *gpus, struct pw_gpu_facts *facts, unsigned fact, const char *call,
                     enum pw_nvml_result result)
{
        if (result == PW_NVML_SUCCESS)
                facts->known |= fact;
        else if (result != PW_NVML_NOT_SUPPORTED && !facts->error[0])
                snprintf(facts->error, sizeof facts->error, "%s: %s", call, gpus->library->nvmlErrorString(result));
        return result == PW_NVML_SUCCESS;
}

/* What the executor has of the GPU: context, code, communicators, and all that it allocated. */
static void read_executor(const struct pw_gpus *gpus, struct nvmlDevice_st *device, struct pw_gpu_facts *facts)
{
        struct pw_nvml_process all[PROCESSES];
        unsigned count = PROCESSES;
        enum pw_nvml_result result;
        bool is_there = false;

        if (!gpus->sees_pids) {
                facts->hides = "pathwaysd has a namespace of processes of its own, and drivers count in the system's";
                return;
        }
        if (!gpus->library->nvmlDeviceGetComputeRunningProcesses_v2)
                return;
        result = gpus->library->nvmlDeviceGetComputeRunningProcesses_v2(device, &count, all);
        if (result == PW_NVML_INSUFFICIENT_SIZE) {
                facts->hides = "more processes have the GPU than pathwaysd looks through";
                return;
        }
        if (!is_known(gpus, facts, 0, "nvmlDeviceGetComputeRunningProcesses", result))
                return;
        for (unsigned i = 0; i < pw_min_u64(count, PROCESSES); i++) {
                if (all[i].pid != (unsigned)facts->executor)
                        continue;
                if (all[i].used == PW_NVML_NOT_AVAILABLE)
                        return;
                is_there = true;
                facts->executor_bytes += pw_min_u64(all[i].used, UINT64_MAX - facts->executor_bytes);
        }
        facts->known |= is_there ? PW_GPU_EXECUTOR : 0;
        facts->hides = "its executor is not among the processes that its driver lists";
}

static void read_one(const struct pw_gpus *gpus, uint32_t ordinal, pid_t executor, struct pw_gpu_facts *facts)
{
        const struct pw_nvml_library *nvml = gpus->library;
        struct pw_nvml_memory memory = { 0 };
        struct nvmlDevice_st *device = NULL;
        unsigned power = 0, celsius = 0;
        unsigned long long errors = 0;

        *facts = (struct pw_gpu_facts){ .executor = executor, .hides = "its driver does not say what a process has" };
        /* NVML counts by the PCI bus, as executors tell CUDA to. */
        if (is_known(gpus, facts, 0, "nvmlDeviceGetHandleByIndex", nvml->nvmlDeviceGetHandleByIndex_v2(ordinal, &device))) {
                is_known(gpus, facts, PW_GPU_MEMORY, "nvmlDeviceGetMemoryInfo", nvml->nvmlDeviceGetMemoryInfo(device, &memory));
                is_known(gpus, facts, PW_GPU_POWER, "nvmlDeviceGetPowerUsage", nvml->nvmlDeviceGetPowerUsage(device, &power));
                is_known(gpus, facts, PW_GPU_TEMPERATURE, "nvmlDeviceGetTemperature",
                         nvml->nvmlDeviceGetTemperature(device, PW_NVML_SENSOR_GPU, &celsius));
                is_known(gpus, facts, PW_GPU_ECC, "nvmlDeviceGetTotalEccErrors",
                         nvml->nvmlDeviceGetTotalEccErrors(device, PW_NVML_UNCORRECTED, PW_NVML_VOLATILE, &errors));
                if (executor)
                        read_executor(gpus, device, facts);
        }
        facts->total_bytes = memory.total;
        facts->used_bytes = memory.used;
        facts->power_mw = power;
        facts->celsius = celsius;
        facts->ecc_errors = errors;
        facts->read_us = pw_now_us();
}

/* Whose memory on it is asked for. False: the thread is to end. */
static bool executor_find(struct pw_gpus *gpus, uint32_t device, pid_t *ret_executor)
{
        bool stop;

        pthread_mutex_lock(&gpus->lock);
        stop = gpus->stop;
        *ret_executor = gpus->executors[device];
        pthread_mutex_unlock(&gpus->lock);
        return !stop;
}

static void read_all(struct pw_gpus *gpus)
{
        pid_t executor;

        if (!gpus->library && pw_nvml_library_open(gpus->path, &gpus->library, &gpus->err) != PW_OK)
                return;
        gpus->err = (struct pw_error){ PW_OK, "" };
        for (uint32_t i = 0; i < gpus->count && executor_find(gpus, i, &executor); i++)
                if (gpus->all[i].is)
                        read_one(gpus, gpus->all[i].ordinal, executor, &gpus->found[i]);
}

static void *ask_loop(void *context)
{
        struct pw_gpus *gpus = context;

        pthread_mutex_lock(&gpus->lock);
        while (!gpus->stop) {
                if (!gpus->asked) {
                        pw_thread_wait(&gpus->changed, &gpus->lock, UINT64_MAX);
                        continue;
                }
                gpus->asked = false;
                pthread_mutex_unlock(&gpus->lock);
                read_all(gpus);
                pthread_mutex_lock(&gpus->lock);
                if (!gpus->stop && TEMP_FAILURE_RETRY(write(gpus->pipe_fds[1], "", 1)) < 0 && errno != EAGAIN)
                        gpus->stop = true; /* the pipe is gone: so is the loop */
        }
        pthread_mutex_unlock(&gpus->lock);
        pw_nvml_library_close(gpus->library);
        pthread_mutex_lock(&gpus->lock);
        gpus->runs = false;
        pthread_cond_broadcast(&gpus->changed);
        pthread_mutex_unlock(&gpus->lock);
        return NULL;
}

/* --- on the loop ------------------------------------------------------------------------------------------------------------ */

/* Once for each reason, and again when it had gone. */
static void say(struct pw_gpus *gpus, const struct pw_error *err)
{
        bool is_new = err->status != PW_OK && strcmp(gpus->said, err->text) != 0;

        snprintf(gpus->said, sizeof gpus->said, "%s", err->status == PW_OK ? "" : err->text);
        if (is_new)
                pw_log(&gpus->daemon->log, PW_LOG_INFO, "what the driver says of GPUs is not shown reason=\"%s\"", gpus->said);
}

static void on_found(evutil_socket_t fd, short what, void *context)
{
        struct pw_gpus *gpus = context;
        char bytes[64];

        (void)what;
        pw_woken(&gpus->daemon->loop);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pthread_mutex_lock(&gpus->lock); /* what the thread wrote before it told is seen */
        memcpy(gpus->facts, gpus->found, gpus->count * sizeof *gpus->facts);
        pthread_mutex_unlock(&gpus->lock);
        gpus->busy = false;
        gpus->read_us = pw_now_us();
        say(gpus, &gpus->err);
}

void pw_gpus_executor(struct pw_gpus *gpus, uint32_t device, pid_t executor)
{
        if (!gpus || !gpus->all[device].is)
                return;
        pthread_mutex_lock(&gpus->lock);
        gpus->executors[device] = executor;
        pthread_mutex_unlock(&gpus->lock);
        gpus->read_us = 0; /* who wants to know has it asked, however fresh that is */
}

void pw_gpus_ask(struct pw_gpus *gpus, uint64_t now_us)
{
        if (!gpus || gpus->busy || (gpus->read_us && now_us < gpus->read_us + PW_GPUS_FRESH_US))
                return;
        gpus->busy = true;
        pthread_mutex_lock(&gpus->lock);
        gpus->asked = true;
        pthread_cond_broadcast(&gpus->changed);
        pthread_mutex_unlock(&gpus->lock);
}

const struct pw_gpu_facts *pw_gpus_peek(const struct pw_gpus *gpus, uint32_t device)
{
        return gpus && gpus->facts[device].read_us ? &gpus->facts[device] : NULL;
}

const char *pw_gpus_silence(const struct pw_gpus *gpus) { return gpus->said[0] ? gpus->said : "NVML has not answered yet"; }

/* --- begin and end ---------------------------------------------------------------------------------------------------------- */

static enum pw_status make_room(struct pw_gpus *gpus, const struct pw_settings *settings, struct pw_error *ret_err)
{
        struct stat names;

        gpus->count = settings->kinds.count;
        gpus->all = calloc(gpus->count, sizeof *gpus->all);
        gpus->facts = calloc(gpus->count, sizeof *gpus->facts);
        gpus->found = calloc(gpus->count, sizeof *gpus->found);
        gpus->executors = calloc(gpus->count, sizeof *gpus->executors);
        gpus->path = settings->nvml ? strdup(settings->nvml) : NULL;
        if (!gpus->all || !gpus->facts || !gpus->found || !gpus->executors || (settings->nvml && !gpus->path))
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what is known of GPUs");
        gpus->sees_pids = stat("/proc/self/ns/pid", &names) == 0 && names.st_ino == SYSTEM_PIDS;
        for (uint32_t i = 0; i < gpus->count; i++)
                gpus->all[i] = (struct gpu){ !strcmp(settings->kinds.of[i].name, "cuda"), settings->kinds.of[i].ordinal };
        return PW_OK;
}

static enum pw_status thread_begin(struct pw_gpus *gpus, struct pw_error *ret_err)
{
        int number = 0;

        if (pipe2(gpus->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return pw_error_errno(ret_err, errno, "pipe of the thread that asks NVML");
        gpus->event = event_new(gpus->daemon->loop.base, gpus->pipe_fds[0], EV_READ | EV_PERSIST, on_found, gpus);
        if (!gpus->event || event_add(gpus->event, NULL) < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for the thread that asks NVML");
        gpus->busy = gpus->asked = gpus->runs = true;
        number = pw_thread_start(ask_loop, gpus, 0);
        if (!number)
                return PW_OK;
        gpus->runs = false;
        return pw_error_errno(ret_err, number, "thread that asks NVML");
}

static bool has_gpus(const struct pw_settings *settings)
{
        for (uint32_t i = 0; i < settings->kinds.count; i++)
                if (!strcmp(settings->kinds.of[i].name, "cuda"))
                        return true;
        return false;
}

enum pw_status pw_gpus_new(struct pw_daemon *daemon, struct pw_gpus **ret_gpus, struct pw_error *ret_err)
{
        struct pw_gpus *gpus;
        enum pw_status status;

        if (!has_gpus(&daemon->settings)) {
                *ret_gpus = NULL;
                return PW_OK;
        }
        gpus = calloc(1, sizeof *gpus);
        if (!gpus)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what is known of GPUs");
        gpus->daemon = daemon;
        gpus->pipe_fds[0] = gpus->pipe_fds[1] = -1;
        pthread_mutex_init(&gpus->lock, NULL);
        pthread_cond_init(&gpus->changed, NULL);
        status = make_room(gpus, &daemon->settings, ret_err);
        if (status == PW_OK)
                status = thread_begin(gpus, ret_err);
        if (status != PW_OK) {
                pw_gpus_free(gpus);
                return status;
        }
        *ret_gpus = gpus;
        return PW_OK;
}

static bool stop_thread(struct pw_gpus *gpus)
{
        uint64_t until_us = pw_now_us() + LEAVE_US;
        bool stopped;

        pthread_mutex_lock(&gpus->lock);
        gpus->stop = true;
        pthread_cond_broadcast(&gpus->changed);
        while (gpus->runs && pw_now_us() < until_us)
                pw_thread_wait(&gpus->changed, &gpus->lock, until_us);
        stopped = !gpus->runs;
        pthread_mutex_unlock(&gpus->lock);
        return stopped;
}

void pw_gpus_free(struct pw_gpus *gpus)
{
        if (!gpus)
                return;
        bool stopped = stop_thread(gpus);
        if (gpus->event)
                event_free(gpus->event);
        pw_close_fd(&gpus->pipe_fds[0]);
        if (!stopped)
                return; /* it is the thread's: the process is about to end */
        pw_close_fd(&gpus->pipe_fds[1]);
        pthread_cond_destroy(&gpus->changed);
        pthread_mutex_destroy(&gpus->lock);
        free(gpus->all);
        free(gpus->facts);
        free(gpus->found);
        free(gpus->executors);
        free(gpus->path);
        free(gpus);
}
