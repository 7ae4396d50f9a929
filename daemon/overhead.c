/* Measured memory. */
#include "daemon/overhead.h"

#include "base/size.h"
#include "daemon/child/child.h"
#include "daemon/segment.h"
#include "daemon/session.h"

#include <stdio.h>

static uint64_t allocated(int fd)
{
        uint64_t bytes;

        return fd >= 0 && pw_memfd_allocated(fd, &bytes, NULL) == PW_OK ? bytes : 0;
}

/* What its segments were granted, per memfd of sessions. */
static void sum_grants(struct pw_daemon *daemon)
{
        struct pw_backing *backing;
        struct pw_segment *segment;

        pw_list_each(&daemon->backings, backing, struct pw_backing, of_daemon)
                backing->granted_bytes = 0; /* also where no segment is left */
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));)
                segment->backed.backing->granted_bytes = segment->backed.backing->has_bytes = 0;
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));)
                if (segment->layout.kind == PW_SEGMENT_CLIENT)
                        segment->backed.backing->granted_bytes += pw_store_segment_bytes(daemon->store, segment->number);
}

static uint64_t measure(struct pw_daemon *daemon)
{
        uint64_t sum = allocated(daemon->bells_fd), bytes;
        struct pw_backing *backing;
        struct pw_tenant *tenant;

        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                sum += allocated(daemon->islands[i].fd);
        for (uint32_t i = 0; i < daemon->device_count; i++)
                sum += allocated(daemon->children[i].board_fd);
        sum_grants(daemon);
        pw_list_each(&daemon->backings, backing, struct pw_backing, of_daemon) {
                bytes = allocated(backing->fd);
                sum += bytes > backing->granted_bytes ? bytes - backing->granted_bytes : 0; /* lanes and rings */
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

static uint64_t touched(struct pw_window window)
{
        uint64_t bytes;

        return pw_window_touched(&window, &bytes, NULL) == PW_OK ? bytes : 0;
}

/* Besides segments: lanes and rings may be touched anywhere, and so may places whose session has ended, by who still has them mapped:
 * even a look at a page that was taken back makes one. Clients go on meanwhile: what a segment has is read first, then what the memfd
 * takes, then what all of it has, so that a page that comes in between is no one's fault. */
static void add_places(struct pw_daemon *daemon)
{
        struct pw_backing *backing;
        struct pw_segment *segment;

        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));)
                if (segment->layout.kind == PW_SEGMENT_CLIENT && segment->backed.backing->tenant)
                        segment->backed.backing->granted_bytes -= touched(pw_backed_window(&segment->backed));
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));)
                if (!segment->backed.backing->has_bytes) /* once for each memfd: sessions share them */
                        segment->backed.backing->has_bytes = allocated(segment->backed.backing->fd);
        pw_list_each(&daemon->backings, backing, struct pw_backing, of_daemon)
                backing->granted_bytes += touched((struct pw_window){ backing->fd, 0, backing->taken * backing->place_bytes });
}

/* Pages that the store has given up in this turn are there until the worker is asked. */
static void add_given_up(struct pw_daemon *daemon)
{
        const struct pw_store_actions *actions = pw_store_actions(daemon->store);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_segment *segment = actions->items[i].kind == PW_STORE_PUNCH ? pw_segment_get(daemon, actions->items[i].segment) : NULL;

                if (segment)
                        segment->backed.backing->granted_bytes += actions->items[i].bytes;
        }
}

void pw_overhead_audit(struct pw_daemon *daemon, void (*found)(void *context, const char *where, const char *problem), void *context)
{
        struct pw_segment *segment;

        sum_grants(daemon);
        add_places(daemon);
        add_given_up(daemon);
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->segments, &i));) {
                struct pw_backing *backing = segment->backed.backing;
                uint64_t granted = backing->granted_bytes, has = backing->has_bytes;
                char where[64], text[200], has_text[16], granted_text[16];

                if (segment->layout.kind != PW_SEGMENT_CLIENT || backing->works || has <= granted)
                        continue;
                backing->granted_bytes = UINT64_MAX; /* it is told once */
                snprintf(where, sizeof where, "segment %x of session %u", segment->number, segment->session);
                snprintf(text, sizeof text, "its memfd takes %s, granted are %s: %s", pw_size_format(has, has_text), pw_size_format(granted, granted_text),
                         backing->refused ? "the system did not take pages back, the log says why; they count as overhead"
                                          : "its producer wrote beyond its grant");
                found(context, where, text);
        }
}
