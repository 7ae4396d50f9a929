/* Trimming the heap. */
#include "daemon/loop/heap.h"

#include "daemon/daemon.h"
#include "daemon/thread.h"

#include <malloc.h>

uint64_t pw_heap_next_us(const struct pw_daemon *daemon) { return daemon->loop.trim_us; }

static void *trim(void *context)
{
        malloc_trim(0);
        return context;
}

void pw_heap_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        (void)now_us;
        daemon->loop.trim_us = UINT64_MAX;
        (void)pw_thread_start(trim, NULL, 0); /* without one, the next session that goes asks again */
}
