/* Questions about a driver and its GPUs, a line of JSON for each answer: versions, names, whether memory outlives who made it,
 * registration of pages that may only be read, the end of a process whose kernel hangs. Exit 1: what kind cuda stands on does not
 * hold, and a sentence says what.
 *
 * Each is asked of processes of its own; the first one has called no driver, so it may fork.
 */
#include "executor/collective/nccl_library.h"
#include "tests/gpu/raw.h"
#include "tests/gpu/report.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEAD_WITHIN_S 10.0

static const char *driver_name;
static uint32_t wrong;

static void expect(const char *question, bool holds)
{
        gpu_answer(question, holds);
        if (holds)
                return;
        fprintf(stderr, "%s: no\n", question);
        wrong++;
}

/* Run `work` in a process, whose end is its answer. */
static void in_child(void (*work)(const void *context), const void *context)
{
        pid_t pid = fork();
        int status = 0;

        if (!pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                work(context);
                exit(0);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (pid < 0 || status)
                exit(1);
}

/* --- versions ----------------------------------------------------------------------------------------------------------------- */

static void ask_device(const struct gpu_raw *raw, int ordinal)
{
        static const struct { enum pw_cuda_attribute attribute; const char *name; } asked[] = {
#define ROW(name, number) { PW_CUDA_ATTRIBUTE_##name, #name },
                PW_CUDA_ATTRIBUTE_MAP(ROW)
#undef ROW
        };
        char name[100] = "", question[100];
        size_t bytes = 0;
        int device, value;

        gpu_must(raw, raw->driver->cuDeviceGet(&device, ordinal), "a GPU");
        gpu_must(raw, raw->driver->cuDeviceGetName(name, sizeof name, device), "the name of a GPU");
        gpu_must(raw, raw->driver->cuDeviceTotalMem(&bytes, device), "the memory of a GPU");
        snprintf(question, sizeof question, "gpu%d name", ordinal);
        gpu_answer_text(question, name);
        snprintf(question, sizeof question, "gpu%d bytes", ordinal);
        gpu_answer(question, (double)bytes);
        for (size_t i = 0; i < sizeof asked / sizeof *asked && !ordinal; i++) {
                if (raw->driver->cuDeviceGetAttribute(&value, asked[i].attribute, device) != PW_CUDA_SUCCESS)
                        continue;
                snprintf(question, sizeof question, "gpu%d %s", ordinal, asked[i].name);
                gpu_answer(question, value);
        }
}

/* Where it was found. */
static void ask_path(const char *question, void *library)
{
        struct link_map *map = NULL;

        if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
                gpu_answer_text(question, map->l_name);
}

static void ask_versions(const void *context)
{
        const struct gpu_options *options = context;
        struct pw_nccl_library *nccl;
        struct pw_error err;
        struct gpu_raw raw;

        if (!gpu_raw_start(&raw, options->driver, &err)) {
                fprintf(stderr, "%s\n", err.text);
                exit(1);
        }
        ask_path("driver", raw.driver->library);
        gpu_answer("driver_version", raw.driver->version);
        gpu_answer("gpus", raw.count);
        for (int i = 0; i < raw.count; i++)
                ask_device(&raw, i);
        if (pw_nccl_library_open(options->nccl, &nccl, &err) != PW_OK) {
                gpu_answer_text("nccl_version", err.text);
                return;
        }
        ask_path("nccl", nccl->library);
        gpu_answer("nccl_version", nccl->version);
}

/* --- memory and its processes ------------------------------------------------------------------------------------------------- */

/* A process with memory of a GPU: its own, whose descriptor it sends, or what a descriptor names. It does what it is told. */
enum order { READ_WORD, WRITE_WORD, HANG };
struct message { enum order order; uint32_t word; };
struct worker { pid_t pid; int socket; };

static void do_order(const struct gpu_raw *raw, unsigned long long at, struct message *message)
{
        unsigned long long word = at + 4096;

        switch (message->order) {
        case READ_WORD:
                gpu_must(raw, raw->driver->cuMemcpyDtoHAsync(&message->word, at, sizeof message->word, raw->stream), "reading");
                break;
        case WRITE_WORD:
                gpu_must(raw, raw->driver->cuMemsetD32Async(at, message->word, 1, raw->stream), "writing");
                break;
        case HANG:
                gpu_raw_launch(raw, gpu_raw_kernel(raw, "measure_hang"), (void *[]){ &word });
                return;
        }
        gpu_must(raw, raw->driver->cuStreamSynchronize(raw->stream), "reading and writing");
}

static void send_fd(int socket, int fd)
{
        union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { { 0 } };
        struct iovec data = { &(char){ 0 }, 1 };
        struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        struct cmsghdr *part = CMSG_FIRSTHDR(&header);

        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(part), &fd, sizeof fd);
        if (sendmsg(socket, &header, 0) != 1)
                exit(1);
}

static int receive_fd(int socket)
{
        union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
        char byte;
        struct iovec data = { &byte, 1 };
        struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        int fd = -1;

        if (recvmsg(socket, &header, 0) != 1 || !CMSG_FIRSTHDR(&header))
                exit(1); /* it has said why */
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof fd);
        return fd;
}

static void work(int socket, int fd)
{
        bool makes = fd < 0;
        unsigned long long at;
        struct message message;
        struct gpu_raw raw;

        gpu_raw_open(&raw, driver_name, 0);
        if (makes)
                fd = gpu_raw_make(&raw, GPU_MEMORY_BYTES);
        at = gpu_raw_map(&raw, fd, GPU_MEMORY_BYTES);
        if (makes)
                send_fd(socket, fd);
        while (read(socket, &message, sizeof message) == sizeof message) {
                do_order(&raw, at, &message);
                if (write(socket, &message, sizeof message) != sizeof message)
                        break;
        }
        exit(0);
}

static struct worker worker_begin(int fd)
{
        struct worker worker = { .pid = 0 };
        int sockets[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
                exit(1);
        worker.socket = sockets[0];
        worker.pid = fork();
        if (!worker.pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(sockets[0]);
                work(sockets[1], fd);
        }
        close(sockets[1]);
        return worker;
}

static uint32_t tell(const struct worker *worker, enum order order, uint32_t word)
{
        struct message message = { order, word };

        if (write(worker->socket, &message, sizeof message) != sizeof message ||
            read(worker->socket, &message, sizeof message) != sizeof message)
                exit(1);
        return message.word;
}

/* Seconds that it takes to be gone. */
static double worker_kill(struct worker *worker)
{
        double since = gpu_now_s();

        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        close(worker->socket);
        return gpu_now_s() - since;
}

static void ask_memory(void)
{
        struct worker maker = worker_begin(-1), reader, writer, last;
        int fd = receive_fd(maker.socket);
        double took;

        tell(&maker, WRITE_WORD, 0x11111111);
        reader = worker_begin(fd);
        expect("an importer reads what the exporter wrote", tell(&reader, READ_WORD, 0) == 0x11111111);
        gpu_answer("seconds until an exporter that is killed is gone", worker_kill(&maker));
        expect("memory outlives its exporter, for who had imported it", tell(&reader, READ_WORD, 0) == 0x11111111);
        writer = worker_begin(fd);
        expect("memory outlives its exporter, for who imports it later", tell(&writer, READ_WORD, 0) == 0x11111111);
        tell(&writer, WRITE_WORD, 0x22222222);
        expect("an importer reads what another importer wrote", tell(&reader, READ_WORD, 0) == 0x22222222);
        tell(&writer, HANG, 0);
        took = worker_kill(&writer);
        gpu_answer("seconds until a process with a hung kernel is gone", took);
        expect("a process with a hung kernel is gone in 10 s", took < DEAD_WITHIN_S);
        expect("importers stay good after the end of a hung kernel", tell(&reader, READ_WORD, 0) == 0x22222222);
        tell(&reader, WRITE_WORD, 0x33333333);
        worker_kill(&reader);
        last = worker_begin(fd);
        expect("memory lives by its descriptor alone", tell(&last, READ_WORD, 0) == 0x33333333);
        worker_kill(&last);
        close(fd);
}

/* --- registration ------------------------------------------------------------------------------------------------------------- */

/* Does a copy from there come out as it was? */
static bool copies(const struct gpu_raw *raw, const uint8_t *from)
{
        unsigned long long at = gpu_raw_map(raw, gpu_raw_make(raw, GPU_MEMORY_BYTES), GPU_MEMORY_BYTES);
        uint8_t *seen = malloc(GPU_MEMORY_BYTES);

        gpu_must(raw, raw->driver->cuMemcpyHtoDAsync(at, from, GPU_MEMORY_BYTES, raw->stream), "a copy of read-only pages");
        gpu_must(raw, raw->driver->cuMemcpyDtoHAsync(seen, at, GPU_MEMORY_BYTES, raw->stream), "a copy to the host");
        gpu_must(raw, raw->driver->cuStreamSynchronize(raw->stream), "copies");
        return !memcmp(seen, from, GPU_MEMORY_BYTES);
}

static void ask_registration(const void *context)
{
        static const struct { const char *question; unsigned flags; } ways[] = {
                { "cuMemHostRegister of read-only pages, as such",
                  PW_CUDA_HOST_REGISTER_PORTABLE | PW_CUDA_HOST_REGISTER_READ_ONLY },
                { "cuMemHostRegister of read-only pages, as others", PW_CUDA_HOST_REGISTER_PORTABLE },
        };
        int fd = memfd_create("pages", MFD_CLOEXEC);
        uint8_t *pages;
        struct gpu_raw raw;

        (void)context;
        gpu_raw_open(&raw, driver_name, 0);
        if (fd < 0 || ftruncate(fd, (off_t)GPU_MEMORY_BYTES))
                exit(1);
        pages = mmap(NULL, GPU_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        for (uint64_t i = 0; i < GPU_MEMORY_BYTES; i++)
                pages[i] = (uint8_t)(i * 7 + i / 251);
        munmap(pages, GPU_MEMORY_BYTES);
        pages = mmap(NULL, GPU_MEMORY_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                enum pw_cuda_result result = raw.driver->cuMemHostRegister(pages, GPU_MEMORY_BYTES, ways[i].flags);

                gpu_answer_text(ways[i].question, gpu_raw_name(&raw, result));
                if (result == PW_CUDA_SUCCESS && !copies(&raw, pages)) {
                        fprintf(stderr, "%s: other bytes come out\n", ways[i].question);
                        exit(1);
                }
                if (result == PW_CUDA_SUCCESS)
                        gpu_must(&raw, raw.driver->cuMemHostUnregister(pages), "cuMemHostUnregister");
        }
}

int main(int argc, char **argv)
{
        struct gpu_options options = gpu_options_of(argc, argv);

        driver_name = options.driver;
        in_child(ask_versions, &options);
        ask_memory();
        in_child(ask_registration, NULL);
        return wrong ? 1 : 0;
}
