/* Segments by number: a number is never used again, since it is part of ids. */
#include "daemon/memory/segment.h"

#include "base/id.h"
#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/session/tenant.h"

static void free_segment(struct pw_daemon *daemon, struct pw_segment *segment, const struct pw_store_leaving *leaving)
{
        pw_segment_unlend(segment);
        pw_list_remove(&segment->of_backing);
        if (segment->backed.backing)
                pw_backing_thaw(segment->backed.backing);
        pw_backed_unmap(daemon, &segment->backed, &segment->map, leaving);
        if (segment->heads.backing)
                pw_backed_done(daemon, &segment->heads);
        free(segment);
}

static enum pw_status make_memory(struct pw_segment *segment, struct pw_error *ret_err)
{
        static const char *const names[] = { "", "pathways-client", "pathways-futures", "pathways-device" };
        const struct pw_segment_layout *layout = &segment->layout;
        enum pw_status status = PW_OK;
        struct pw_window window;

        if (!segment->backed.backing && !segment->apart)
                status = pw_backing_sole(names[layout->kind], layout->bytes, segment->tenant, &segment->backed, ret_err);
        if (status == PW_OK && layout->kind == PW_SEGMENT_DEVICE)
                return pw_backing_sole("pathways-heads", pw_segment_heads(layout->bytes), segment->tenant, &segment->heads,
                                       ret_err);
        if (status != PW_OK)
                return status;
        window = pw_backed_window(&segment->backed);
        if (layout->kind == PW_SEGMENT_CLIENT && !segment->backed.backing->frozen)
                window.bytes = layout->room_offset;
        return pw_map_window(&window, true, &segment->map, ret_err);
}

static enum pw_status tell_store(struct pw_daemon *daemon, struct pw_segment *segment, struct pw_error *ret_err)
{
        if (segment->layout.kind == PW_SEGMENT_DEVICE)
                return PW_OK;
        return pw_store_segment_add(daemon->store,
                                    &(struct pw_store_segment_params){ .segment = segment->number,
                                                                       .layout = segment->layout,
                                                                       .tenant = segment->tenant->name,
                                                                       .session = segment->session,
                                                                       .frozen = segment->backed.backing->frozen,
                                                                       .map = segment->map,
                                                                       .hints = segment->tenant->hints },
                                    ret_err);
}

/* A number that named something never names anything else; one whose segment was never granted from, it serves again. */
static uint32_t take_number(struct pw_memory *memory)
{
        return memory->spare_segment_count ? memory->spare_segments[--memory->spare_segment_count] : ++memory->next_segment;
}

static void give_number(struct pw_memory *memory, uint32_t number)
{
        if (pw_grow((void **)&memory->spare_segments, &memory->spare_segment_capacity, memory->spare_segment_count + 1,
                    sizeof number))
                memory->spare_segments[memory->spare_segment_count++] = number;
}

enum pw_status pw_segment_begin(struct pw_daemon *daemon, struct pw_segment *segment, struct pw_error *ret_err)
{
        enum pw_status status;

        if (segment->number)
                return PW_OK;
        segment->number = take_number(&daemon->memory);
        status = segment->number > PW_SEGMENT_MAX
                         ? pw_error_set(ret_err, PW_LIMIT, "pathwaysd: segment numbers are used up, restart it")
                         : make_memory(segment, ret_err);
        if (status == PW_OK && !pw_table_put(&daemon->memory.segments, segment->number, segment))
                status = pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a segment");
        if (status == PW_OK)
                status = tell_store(daemon, segment, ret_err);
        if (status == PW_OK)
                return PW_OK;
        pw_table_remove(&daemon->memory.segments, segment->number);
        pw_unmap(&segment->map);
        give_number(&daemon->memory, segment->number);
        segment->number = 0;
        return status;
}

enum pw_status pw_segment_reserve(struct pw_daemon *daemon, const struct pw_segment *like, struct pw_segment **ret_segment,
                                  struct pw_error *ret_err)
{
        struct pw_segment *segment = calloc(1, sizeof *segment);

        (void)daemon;
        if (!segment)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a segment");
        *segment = *like;
        pw_list_init(&segment->lent);
        pw_list_init(&segment->of_backing);
        if (like->backed.backing)
                pw_list_append(&like->backed.backing->segments_in, &segment->of_backing);
        segment->tenant->segments++;
        *ret_segment = segment;
        return PW_OK;
}

enum pw_status pw_segment_new(struct pw_daemon *daemon, const struct pw_segment *like, struct pw_segment **ret_segment,
                              struct pw_error *ret_err)
{
        struct pw_segment *segment;
        enum pw_status status = pw_segment_reserve(daemon, like, &segment, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_segment_begin(daemon, segment, ret_err);
        if (status != PW_OK) {
                if (like->backed.backing)
                        segment->backed = (struct pw_backed){ 0 };
                segment->tenant->segments--;
                free_segment(daemon, segment, &(struct pw_store_leaving){ NULL, 0 });
                return status;
        }
        *ret_segment = segment;
        return PW_OK;
}

void pw_segment_quiet(struct pw_segment *segment) { pw_unmap(&segment->map); }

struct pw_segment *pw_segment_get(const struct pw_memory *memory, uint32_t number)
{
        return pw_table_get(&memory->segments, number);
}

void pw_segment_remove(struct pw_daemon *daemon, struct pw_segment *segment)
{
        struct pw_store_leaving leaving = { NULL, 0 };

        if (segment->number && segment->layout.kind != PW_SEGMENT_DEVICE) {
                if (!pw_store_segment_bytes(daemon->store, segment->number) && daemon->phase != PW_STOPPING)
                        give_number(&daemon->memory, segment->number);
                leaving = pw_store_segment_remove(daemon->store, segment->number);
        }
        if (segment->number)
                pw_children_segment_gone(daemon, segment->number);
        if (segment->number)
                pw_table_remove(&daemon->memory.segments, segment->number);
        segment->tenant->segments--;
        free_segment(daemon, segment, &leaving);
}
