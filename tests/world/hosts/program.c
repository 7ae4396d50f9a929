/* Programs over some of the hosts. */
#include "tests/world/hosts/play.h"

#include "pathways.h"
#include "program/lower/lower.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A row of calls over devices of some hosts. The last updates what it reads in place. */
static uint32_t make_row(struct pw_graph *graph, uint32_t nodes, struct pw_sharding sharding)
{
        uint32_t input = pw_make_input(graph, 0, PW_DIMS(8 * 64), sharding, PW_DONATED), value = input;

        for (uint32_t n = 0; n < nodes; n++)
                value = PW_MAKE_CALL(graph, 0, "m/like0", sharding, value);
        return PW_MAKE_CALL(graph, 0, "m/update", sharding, input, value);
}

/* One call that reads an input of so many bytes on each device, beside a small one. */
static uint32_t make_large(struct pw_graph *graph, uint64_t bytes, uint32_t devices, struct pw_sharding sharding)
{
        uint32_t large = pw_make_input(graph, 0, PW_DIMS(bytes / 4 * devices), sharding, 0);

        return PW_MAKE_CALL(graph, 0, "m/like1", sharding, large, pw_make_input(graph, 0, PW_DIMS(8 * 64), sharding, 0));
}

/* A slice over the hosts' devices, which are open nowhere but at their coordinator. */
static void add_slice(struct pw_graph *graph, struct pw_scheduler *coordinator, uint32_t hosts, struct pw_slice_place *places)
{
        const struct pw_slice_map *open;
        struct pw_slice_map map = { .places = places };
        struct pw_error err;

        assert_int_equal(pw_scheduler_slice_open(coordinator, &(struct pw_slice_ask){ .tenant = "t", .device_count = 1 }, &open,
                                                 &err), PW_OK);
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                for (uint16_t d = 0; hosts >> at & 1 && d < PLAY_DEVICES; d++)
                        places[map.device_count++] = (struct pw_slice_place){ (uint16_t)(PLAY_FIRST + at), d, d };
        map.id = open->id;
        map.mesh[0] = map.device_count;
        assert_true(pw_graph_add_slice(graph, &map));
}

static void make_apart(struct pw_graph *graph, struct pw_scheduler *coordinator, uint32_t hosts, struct pw_slice_place *places)
{
        struct pw_sharding sharding = PW_SPLIT(0);

        for (uint32_t slice = 0; hosts; hosts &= hosts - 1, slice++) {
                uint32_t input;

                add_slice(graph, coordinator, hosts & -hosts, places + slice * PLAY_DEVICES);
                input = pw_make_input(graph, slice, PW_DIMS(8 * 64), sharding, 0);
                assert_true(pw_graph_add_result(graph, PW_MAKE_CALL(graph, slice, "m/like0", sharding, input)));
        }
}

static struct pw_graph *make(struct play_program *program, uint32_t hosts, const struct play_shape *shape,
                             struct pw_sharding sharding)
{
        struct pw_scheduler *coordinator = play->hosts[program->coordinator].scheduler;
        struct pw_graph *graph = pw_graph_new("row");
        uint32_t result;

        if (shape->apart) {
                make_apart(graph, coordinator, hosts, program->slice.places);
                return graph;
        }
        add_slice(graph, coordinator, hosts, program->slice.places);
        result = shape->nodes ? make_row(graph, shape->nodes, sharding) :
                                make_large(graph, shape->block_bytes, graph->slices[0].device_count, sharding);
        assert_true(pw_graph_add_result(graph, result));
        return graph;
}

static struct pw_program_row *compile(const struct pw_graph *graph, uint32_t host)
{
        struct pw_image *image = NULL;
        struct pw_program_row *row;
        struct pw_error err;

        assert_int_equal(pw_lower(graph, &image, &err), PW_OK);
        assert_int_equal(pw_program_make(image, graph->slices, &(struct pw_program_of){ "t", 0, host }, &row, &err), PW_OK);
        return row;
}

void play_begin_program_over(struct play_program *program, uint32_t hosts, const struct play_shape *shape,
                             struct pw_sharding sharding)
{
        struct pw_scheduler *scheduler = play->hosts[program->coordinator].scheduler;
        struct pw_program_row *row;
        struct pw_graph *graph;
        struct pw_error err;

        graph = make(program, hosts, shape, sharding);
        assert_int_equal(pw_graph_check(graph, &err), PW_OK);
        assert_int_equal(pw_make_shapes(graph, &err), PW_OK);
        row = compile(graph, PLAY_FIRST + program->coordinator);
        assert_int_equal(pw_scheduler_program_install(scheduler, row, &err), PW_OK);
        program->handle[program->coordinator] = row->program;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++) {
                struct pw_program_requester requester = { PLAY_FIRST + program->coordinator, PLAY_EPOCH,
                                                          program->handle[program->coordinator] };
                if (at == program->coordinator || !(hosts >> at & 1))
                        continue;
                row = compile(graph, PLAY_FIRST + at);
                assert_int_equal(pw_scheduler_program_install_for(play->hosts[at].scheduler, &requester, row, &err), PW_OK);
                program->handle[at] = row->program;
        }
        pw_graph_free(graph);
}

void play_begin_program(struct play_program *program)
{
        uint32_t hosts = 1 + play_below((1u << PLAY_HOSTS) - 1), first = (uint32_t)__builtin_ctz(hosts);

        *program = (struct play_program){ 0 };
        program->coordinator = play_below(4) ? first : play_below(PLAY_HOSTS);
        hosts |= 1u << program->coordinator;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                if (play->links[program->coordinator][at].cut)
                        hosts &= ~(1u << at);
        if (play->remote && hosts & ~(1u << program->coordinator) && play_below(2))
                hosts &= ~(1u << program->coordinator);
        play_begin_program_over(program, hosts, &(struct play_shape){ .nodes = 1 + play_below(4) },
                                (struct pw_sharding)PW_SPLIT(0));
}

/* No run of it is left, but on hosts that its coordinator's last word has not reached yet, or never does. */
void play_end_program(struct play_program *program)
{
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                if (program->handle[at]) {
                        pw_scheduler_program_free(play->hosts[at].scheduler, program->handle[at]);
                        play_act(at);
                        if (pw_scheduler_program(play->hosts[at].scheduler, program->handle[at]) &&
                            !play->links[program->coordinator][at].cut && !play->links[program->coordinator][at].count)
                                play_failed("a program was freed", "and is there");
                }
}
