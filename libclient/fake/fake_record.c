/* Records of the fake daemon's lanes, and the results of runs. */
#include "libclient/fake/fake_daemon_private.h"

#include "plane/hint.h"

#include <string.h>

static void on_drop(struct fake_daemon *fake, struct pw_cell cell)
{
        bool futures = pw_cell_segment(cell) == FUTURES_SEGMENT;
        uint32_t slot = pw_cell_slot(cell);
        uint64_t word = pw_entry_load(fake_entry(fake, futures, slot));
        fake->counts.drops++;
        if (pw_word_generation(word) != pw_cell_generation(cell) || pw_word_state(word) < PW_ENTRY_PENDING)
                fake->counts.dropped_unknown++;
        else if (fake->more_refs[futures][slot])
                fake->more_refs[futures][slot]--;
        else
                fake_room_back(fake, futures, slot);
}

static void on_ref(struct fake_daemon *fake, struct pw_cell cell)
{
        bool futures = pw_cell_segment(cell) == FUTURES_SEGMENT;
        uint64_t word = pw_entry_load(fake_entry(fake, futures, pw_cell_slot(cell)));
        fake->counts.refs++;
        if (pw_word_generation(word) == pw_cell_generation(cell) && pw_word_state(word) >= PW_ENTRY_PENDING)
                fake->more_refs[futures][pw_cell_slot(cell)]++;
}

static struct pw_shard_list *shard_list(struct fake_daemon *fake)
{
        return (struct pw_shard_list *)(void *)(fake->futures.map.base + SHARED_OFFSET);
}

static void result_value(struct fake_daemon *fake, struct pw_entry *entry)
{
        const struct fake_value *value = fake->params.value;
        struct pw_shard_list *list = shard_list(fake);
        *list = (struct pw_shard_list){ .shard_count = value->shard_count, .dtype = (uint8_t)value->dtype,
                                        .sharding = value->sharding, .dims = value->dims };
        memcpy(list->mesh, value->mesh, sizeof list->mesh);
        assert(value->shard_count <= SHARDS && value->shard_bytes <= PAGE);
        pw_bits_clear(pw_shard_list_lost(list), list->shard_count);
        for (uint32_t i = 0; i < value->shard_count; i++) {
                uint64_t offset = SHARED_OFFSET + (1 + i) * PAGE;
                list->shards[i] = (struct pw_shard_place){ offset, value->shard_bytes, FUTURES_SEGMENT, { 0, (uint16_t)i } };
                memcpy(fake->futures.map.base + offset, (const uint8_t *)value->data + i * value->shard_bytes, value->shard_bytes);
        }
        entry->room_offset = SHARED_OFFSET;
}

void fake_lose(struct fake_daemon *fake, uint64_t shards)
{
        _Atomic uint64_t bits = shards;

        pw_bits_join(pw_shard_list_lost(shard_list(fake)), &bits, shard_list(fake)->shard_count);
        atomic_fetch_add(&shard_list(fake)->losses, 1);
}

/* i32 [5] over a mesh of 2: shard 0 holds 1 2 3, shard 1 holds 10 20; partial or broadcast: 1 2 3 4 5 and 10 20 30 40 50. */
static void result_shards(struct fake_daemon *fake, struct pw_entry *entry)
{
        static const int32_t split[2][5] = { { 1, 2, 3 }, { 10, 20 } }, whole[2][5] = { { 1, 2, 3, 4, 5 }, { 10, 20, 30, 40, 50 } };
        struct pw_shard_list *list = shard_list(fake);
        bool is_split = fake->params.sharding.axis[0].layout == PW_LAYOUT_SPLIT;
        *list = (struct pw_shard_list){ .shard_count = 2, .dtype = PW_I32, .mesh = { 2, 1 }, .sharding = fake->params.sharding,
                                        .dims = { .rank = 1, .dim = { 5 } } };
        pw_bits_clear(pw_shard_list_lost(list), list->shard_count);
        for (uint32_t i = 0; i < 2; i++) {
                uint64_t offset = SHARED_OFFSET + 1024 + i * 64;
                list->shards[i] = (struct pw_shard_place){ offset, is_split ? 12 - 4 * i : 20, FUTURES_SEGMENT,
                                                           { 0, (uint16_t)i } };
                memcpy(fake->futures.map.base + offset, is_split ? split[i] : whole[i], 20);
        }
        if (fake->params.short_shard)
                list->shards[1].bytes = 4;
        entry->room_offset = SHARED_OFFSET;
}

static void result_error(struct fake_daemon *fake, struct pw_entry *entry)
{
        static const char text[] = "function test/fails returned an error on device h0:0, run 1";
        entry->room_offset = SHARED_OFFSET;
        entry->bytes = sizeof text - 1;
        memcpy(fake->futures.map.base + entry->room_offset, text, sizeof text);
}

static void result_decide(struct fake_daemon *fake, uint32_t slot, uint32_t generation)
{
        struct pw_entry *entry = fake_entry(fake, true, slot);
        uint64_t old, number = fake->counts.runs;
        struct pw_described described = { .bytes = sizeof number, .dtype = PW_I64, .dims = { .rank = 0 }, .is_inline = true,
                                          .room_segment = FUTURES_SEGMENT };
        if (fake->params.fail_runs) {
                result_error(fake, entry);
        } else if (fake->params.value) {
                result_value(fake, entry);
        } else if (fake->params.sharded) {
                result_shards(fake, entry);
        } else {
                pw_entry_fill(entry, &described, NULL);
                memcpy(entry->body.value, &number, sizeof number);
        }
        if (pw_entry_decide(entry, generation, fake->params.fail_runs ? PW_FAILED : PW_OK,
                            fake->params.sharded || fake->params.value ? PW_ENTRY_SHARDED : 0, UINT32_MAX, &old))
                pw_hint_wake((struct pw_hint_page *)(void *)fake->hints.map.base, entry, FUTURES_SEGMENT, slot);
}

static uint32_t on_run(struct fake_daemon *fake, const struct pw_ring_reader *reader)
{
        struct pw_cell header = pw_ring_peek(reader, 0);
        uint32_t inputs = pw_cell_run_inputs(header), results = pw_cell_run_results(header);
        fake->counts.runs++;
        for (uint32_t i = 0; i < inputs; i++) {
                struct pw_cell cell = pw_ring_peek(reader, 2 + i);
                if (pw_cell_top(cell) & PW_RUN_INPUT_DONATED) {
                        fake->counts.donated++;
                        on_drop(fake, cell);
                        fake->counts.drops--;
                }
        }
        for (uint32_t i = 0; i < results; i++) {
                struct pw_cell cell = pw_ring_peek(reader, 2 + inputs + i);
                if (fake->params.hold_runs && fake->held_count < HELD_MAX) {
                        fake->held[fake->held_count].slot = pw_cell_slot(cell);
                        fake->held[fake->held_count++].generation = pw_cell_generation(cell);
                } else {
                        result_decide(fake, pw_cell_slot(cell), pw_cell_generation(cell));
                }
        }
        return 2 + inputs + results;
}

static void read_lane(struct fake_daemon *fake, struct pw_ring_reader *reader)
{
        uint32_t cells, done = 0;
        bool sane = pw_ring_available(reader, &cells);
        assert(sane);
        (void)sane;
        while (done < cells) {
                struct pw_cell cell = pw_ring_peek(reader, 0);
                uint32_t used = 1;
                if (pw_cell_top(cell) == PW_RING_DROP)
                        on_drop(fake, cell);
                else if (pw_cell_top(cell) == PW_RING_REF)
                        on_ref(fake, cell);
                else
                        used = on_run(fake, reader);
                pw_ring_consume(reader, used);
                done += used;
        }
}

void fake_read_rings(struct fake_daemon *fake)
{
        for (uint32_t i = 0; i < PW_LANES_MAX && !fake->unread_rings; i++) {
                fake->readers[i].ring = &fake->control->lanes[i].ring;
                pw_ring_wake(&fake->readers[i]);
                do {
                        read_lane(fake, &fake->readers[i]);
                } while (!pw_ring_sleep(&fake->readers[i], fake->waiting_id != 0));
        }
        fake_serve_waiting(fake);
}

void fake_release_held(struct fake_daemon *fake)
{
        for (uint32_t i = 0; i < fake->held_count; i++)
                result_decide(fake, fake->held[i].slot, fake->held[i].generation);
        fake->held_count = 0;
}
