/* How fast kind cuda is, beside what the same process does with the driver alone: a line of JSON for each figure. Exit 1: a bar
 * does not hold, or something fails.
 */
#include "base/memory.h"
#include "tests/gpu/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* Memory as clients have it: pages of a memfd, all there. */
static uint8_t *pages_make(uint64_t bytes)
{
        int fd = memfd_create("pages", MFD_CLOEXEC);
        uint8_t *pages = fd < 0 || ftruncate(fd, (off_t)bytes)
                                 ? MAP_FAILED
                                 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

        if (pages == MAP_FAILED) {
                perror("memory of the host");
                exit(1);
        }
        close(fd);
        memset(pages, 0x5a, bytes);
        return pages;
}

static void move(const struct gpu_site *site, uint8_t *to, const void *from, bool from_host)
{
        struct pw_box all = { .rank = 1, .size = { site->bytes } };
        struct pw_error err;

        gpu_ok(site->memory->copy_box(site->device, &(struct pw_box_move){ to, from, &all, &all, &all, PW_U8, from_host }, &err),
               &err);
        gpu_settle(site);
}

static void await_copies(const struct gpu_site *site)
{
        gpu_must(&site->raw, site->raw.driver->cuStreamSynchronize(site->raw.stream), "copies");
}

static double best(double so_far, double since) { return gpu_now_s() - since < so_far ? gpu_now_s() - since : so_far; }

static void rate(struct gpu_site *site, const char *name, double took_s, double floor_s, double bar)
{
        double bytes = (double)site->bytes / 1e9;

        gpu_say(site, &(struct gpu_figure){ .name = name, .unit = "GB/s", .value = bytes / took_s, .floor = bytes / floor_s,
                                            .bar = bar, .rule = GPU_AT_LEAST, .count = site->bytes });
}

/* Both directions, of pages that are registered as an executor has them; floors are copies of pinned memory. */
static void host_copies(struct gpu_site *site)
{
        const struct pw_cuda_driver *driver = site->raw.driver;
        double in = 1e9, out = 1e9, floor_in = 1e9, floor_out = 1e9, since;
        uint8_t *pages = pages_make(site->bytes), *pinned;
        unsigned long long base = (uintptr_t)site->base;
        struct pw_error err;

        gpu_must(&site->raw, driver->cuMemHostAlloc((void **)&pinned, site->bytes, PW_CUDA_HOST_ALLOC_PORTABLE), "pinned memory");
        memset(pinned, 0xa5, site->bytes);
        if (!site->memory->pin(site->device, pages, site->bytes, true))
                fprintf(stderr, "the driver does not register pages of clients: they go by way of pinned ones\n");
        for (uint32_t i = 0; i < GPU_TIMES; i++) {
                since = gpu_now_s();
                gpu_must(&site->raw, driver->cuMemcpyHtoDAsync(base, pinned, site->bytes, site->raw.stream), "h2d");
                await_copies(site);
                floor_in = best(floor_in, since);
                since = gpu_now_s();
                move(site, site->base, pages, true);
                in = best(in, since);
                since = gpu_now_s();
                gpu_must(&site->raw, driver->cuMemcpyDtoHAsync(pinned, base, site->bytes, site->raw.stream), "d2h");
                await_copies(site);
                floor_out = best(floor_out, since);
                memset(pages, 0, site->bytes);
                since = gpu_now_s();
                gpu_ok(site->memory->copy_out(site->device, pages, site->base, site->bytes, &err), &err);
                out = best(out, since);
        }
        if (pages[0] != 0x5a || memcmp(pages, pages + 1, site->bytes - 1) || memcmp(pages, pinned, site->bytes)) {
                fprintf(stderr, "other bytes come out than went in\n");
                exit(1);
        }
        rate(site, "h2d_1g", in, floor_in, 0.95);
        rate(site, "d2h_1g", out, floor_out, 0.95);
        gpu_must(&site->raw, driver->cuMemFreeHost(pinned), "pinned memory");
        site->memory->unpin(site->device, pages, site->bytes);
        munmap(pages, site->bytes);
}

/* Memory of the GPU `ordinal`, which goes by its descriptor: its maker is gone. */
static int other_arena(const struct gpu_options *options, int ordinal, uint64_t bytes)
{
        struct gpu_raw raw;

        gpu_raw_open(&raw, options->driver, ordinal);
        return gpu_raw_make(&raw, bytes);
}

/* What lies in the memory of another GPU, of the next one where there are several. */
static void peer_copies(struct gpu_site *site, int fd, const char *name)
{
        double took = 1e9, floor = 1e9, since;
        struct pw_arena arena = { .fd = fd, .own = false, .bytes = site->bytes };
        struct pw_error err;
        uint8_t *other;

        gpu_ok(site->memory->map(site->device, &arena, &other, &err), &err);
        for (uint32_t i = 0; i < GPU_TIMES; i++) {
                since = gpu_now_s();
                gpu_must(&site->raw, site->raw.driver->cuMemcpyDtoDAsync((uintptr_t)site->base, (uintptr_t)other, site->bytes,
                                                                         site->raw.stream), "a copy between GPUs");
                await_copies(site);
                floor = best(floor, since);
                since = gpu_now_s();
                move(site, site->base, other, false);
                took = best(took, since);
        }
        rate(site, name, took, floor, 0.9);
        site->memory->unmap(site->device, other, site->bytes);
}

int main(int argc, char **argv)
{
        struct gpu_options options = gpu_options_of(argc, argv);
        uint64_t peer_bytes = options.small ? 4 * MIB : 256 * MIB;
        struct gpu_site site;
        int fd = -1;

        gpu_site_open(&site, &options, 0, options.small ? 16 * MIB : GIB);
        host_copies(&site);
        gpu_launches(&site);
        fd = other_arena(&options, site.raw.count > 1 ? 1 : 0, peer_bytes);
        gpu_must(&site.raw, site.raw.driver->cuCtxSetCurrent(site.raw.context), "a context");
        site.bytes = peer_bytes;
        peer_copies(&site, fd, site.raw.count > 1 ? "peer_256m" : "peer_256m_on_one_gpu");
        if (site.raw.count < 2)
                gpu_figure_skipped("peer_256m", "there is one GPU: peer_256m_on_one_gpu is between two arenas of it");
        close(fd);
        site.bytes = options.small ? 16 * MIB : GIB;
        gpu_site_close(&site);
        return site.misses ? 1 : 0;
}
