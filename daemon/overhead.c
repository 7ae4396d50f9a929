/* Measured memory. */
#include "daemon/overhead.h"

#include "base/size.h"
#include "daemon/child.h"
#include "daemon/segment.h"
#include "daemon/session.h"

#include <stdio.h>

static uint64_t allocated(int fd)
{
        uint64_t bytes;

        return fd >= 0 && pw_memfd_allocated(fd, &bytes, NULL) == PW_OK ? bytes : 0;
}

static uint64_t measure(struct pw_daemon *daemon)
{
        uint64_t sum = allocated(daemon->bells_fd);
        struct pw_dsession *session;
        struct pw_tenant *tenant;

        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                sum += allocated(daemon->islands[i].fd);
        for (uint32_t i = 0; i < daemon->device_count; i++)
                sum += allocated(daemon->children[i].board_fd);
        for (uint32_t i = 0; (session = pw_table_next(&daemon->sessions, &i));)
                sum += allocated(session->control_fd);
        for (uint32_t i = 0; (tenant = pw_table_next(&daemon->tenants, &i));)
                sum += allocated(tenant->hints_fd) + allocated(tenant->futures->fd);
        return sum;
}

void pw_overhead_refresh(struct pw_daemon *daemon)
{
        uint64_t bytes = measure(daemon);

        pw_store_overhead(daemon->store, (int64_t)bytes - (int64_t)daemon->overhead_bytes);
        daemon->overhead_bytes = bytes;
}

void pw_overhead_audit(struct pw_daemon *daemon, void (*found)(void *context, const char *where, const char *problem), void *context)
{
        struct pw_segment *segment;

        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));) {
                uint64_t granted, has;
                char where[64], text[160], has_text[16], granted_text[16];

                if (segment->layout.kind != PW_SEGMENT_CLIENT)
                        continue;
                granted = pw_store_segment_bytes(daemon->store, segment->number);
                has = allocated(segment->fd);
                if (has <= granted)
                        continue;
                snprintf(where, sizeof where, "segment %x of session %u", segment->number, segment->session);
                snprintf(text, sizeof text, "its memfd takes %s, granted are %s: its producer wrote beyond its grant", pw_size_format(has, has_text),
                         pw_size_format(granted, granted_text));
                found(context, where, text);
        }
}
