/* One GPU, twice. */
#include "tests/gpu/site.h"

#include "base/memory.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void gpu_ok(enum pw_status status, const struct pw_error *err)
{
        if (status == PW_OK)
                return;
        fprintf(stderr, "%s\n", err->text);
        exit(1);
}

static void no_ring(void *context) { (void)context; }

__attribute__((noreturn)) static void lost(void *context, const char *how)
{
        (void)context;
        fprintf(stderr, "the device is lost: %s\n", how);
        exit(1);
}

void gpu_site_open(struct gpu_site *site, const struct gpu_options *options, uint32_t ordinal, uint64_t bytes)
{
        struct pw_device_params params = { .number = ordinal, .ordinal = ordinal, .ring = no_ring, .lost = lost };
        struct pw_arena arena = { .own = true, .bytes = bytes + 4096 };
        struct pw_error err;

        *site = (struct gpu_site){ .options = options, .kind = pw_device_kind("cuda"), .bytes = bytes };
        snprintf(params.library, sizeof params.library, "%s", options->driver);
        gpu_ok(site->kind->open(&params, &site->device, &err), &err);
        gpu_raw_open(&site->raw, options->driver, (int)ordinal);
        site->memory = site->kind->memory(site->device);
        gpu_ok(site->memory->make(site->device, arena.bytes, &arena.fd, &err), &err);
        gpu_ok(site->memory->map(site->device, &arena, &site->base, &err), &err);
        close(arena.fd);
}

void gpu_site_close(struct gpu_site *site)
{
        site->memory->unmap(site->device, site->base, site->bytes + 4096);
        site->kind->close(site->device);
}

void gpu_await(const struct gpu_site *site)
{
        struct pw_device_end end = { .status = PW_OK };

        while (!site->kind->done(site->device, &end))
                sched_yield();
        if (end.status == PW_OK && end.guard == PW_GUARD_WHOLE)
                return;
        fprintf(stderr, "a call ended with status %d, guard %d\n", (int)end.status, (int)end.guard);
        exit(1);
}

static enum pw_status nothing(const struct pw_device_call *call)
{
        (void)call;
        return PW_OK;
}

void gpu_settle(const struct gpu_site *site)
{
        const struct pw_device_call call = { .move = nothing };
        struct pw_error err;

        (void)pw_error_set(&err, PW_SYSTEM, "the device takes no call");
        gpu_ok(site->kind->launch(site->device, &call, NULL), &err);
        gpu_await(site);
}

void gpu_say(struct gpu_site *site, const struct gpu_figure *figure)
{
        if (!gpu_figure_say(site->options, figure))
                site->misses = true;
}
