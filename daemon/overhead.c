/* Measured memory. */
#include "daemon/overhead.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/module.h"
#include "daemon/segment.h"
#include "daemon/session.h"

static uint64_t allocated(int fd)
{
        uint64_t bytes;

        return fd >= 0 && pw_memfd_allocated(fd, &bytes, NULL) == PW_OK ? bytes : 0;
}

void pw_overhead_grants(struct pw_daemon *daemon)
{
        struct pw_backing *backing;
        struct pw_segment *segment;

        pw_list_each(&daemon->backings, backing, struct pw_backing, of_daemon)
                backing->granted_bytes = 0; /* also where no segment is left */
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));)
                segment->backed.backing->granted_bytes = 0;
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));)
                if (segment->layout.kind == PW_SEGMENT_CLIENT)
                        segment->backed.backing->granted_bytes += pw_store_segment_bytes(daemon->store, segment->number);
}

static uint64_t measure(struct pw_daemon *daemon)
{
        uint64_t sum = allocated(daemon->bells_fd) + pw_modules_bytes(daemon->modules), bytes;
        struct pw_backing *backing;
        struct pw_tenant *tenant;

        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                sum += allocated(daemon->islands[i].fd);
        for (uint32_t i = 0; i < daemon->device_count; i++)
                sum += allocated(daemon->children[i].board_fd);
        pw_overhead_grants(daemon);
        pw_list_each(&daemon->backings, backing, struct pw_backing, of_daemon) {
                bytes = allocated(backing->fd);
                backing->counted = backing->works > 0;
                sum += bytes - pw_min_u64(bytes, backing->granted_bytes + backing->leaving_bytes); /* lanes and rings */
        }
        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->tenants, &i));)
                sum += allocated(tenant->hints_fd) + allocated(tenant->futures->backed.backing->fd);
        return sum;
}

void pw_overhead_refresh(struct pw_daemon *daemon)
{
        uint64_t bytes = measure(daemon);

        pw_store_overhead(daemon->store, (int64_t)bytes - (int64_t)daemon->overhead_bytes);
        daemon->overhead_bytes = bytes;
}
