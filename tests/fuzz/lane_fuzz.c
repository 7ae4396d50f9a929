/* Lanes of a client that writes anything into its control memory, its entries and the hints of its tenant: cells, tails, runs whose
 * inputs and results are whatever it likes. Its session ends at most; the run of its neighbour ends well. */
#include "daemon/client/lane.h"
#include "tests/fuzz/stand_in/host.h"

#define LANES 3u

static struct pw_cell any_object(struct fuzz_host *host, struct fuzz_bytes *bytes, uint8_t top)
{
        static const uint32_t segments[] = { FIXTURE_FUTURES, 10, 20, 0xffffff };
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);
        uint32_t segment = segments[shape & 3], slot = (uint32_t)fuzz_take(bytes, 1) % (2 * FUZZ_SLOTS);
        uint32_t generation = 1 + (shape >> 4 & 3);

        if (!(shape & 4) && segment == FIXTURE_FUTURES)
                slot = host->clients[0].futures.first_slot + slot % FUZZ_SLOTS;
        if (shape & 8)
                generation = (uint32_t)fuzz_take(bytes, 4);
        return pw_cell_object(top, segment, slot, generation);
}

static void any_run(struct fuzz_host *host, struct fuzz_bytes *bytes, uint32_t lane)
{
        static const uint8_t inputs[] = { 1, 2, 1, 0 }, results[] = { 1, 2, 1, 0 };
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);
        struct pw_cell taken[4], made[4];
        struct fuzz_run run = { shape % 4 < FUZZ_PROGRAMS ? host->programs[shape % 4] : 99, taken, inputs[shape % 4], made,
                                results[shape % 4] };

        if (shape & 0x80)
                run.input_count = shape >> 4 & 3;
        if (shape & 0x40)
                run.result_count = shape >> 2 & 3;
        for (uint32_t i = 0; i < run.input_count; i++)
                taken[i] = any_object(host, bytes, shape >> 3 & 1);
        for (uint32_t i = 0; i < run.result_count; i++)
                made[i] = any_object(host, bytes, 0);
        fuzz_host_run(&host->clients[0], lane, &run);
}

static void scribble_control(struct fuzz_host *host, struct fuzz_bytes *bytes)
{
        struct pw_control *control = host->clients[0].session.control;
        struct pw_lane *lane = &control->lanes[fuzz_take(bytes, 1) % LANES];
        uint32_t any = (uint32_t)fuzz_take(bytes, 4);

        switch (fuzz_take(bytes, 1) % 7) {
        case 0: atomic_store(&control->lane_count, any); break;
        case 1: atomic_store(&lane->ring.tail, any); break;
        case 2: atomic_store(&lane->ring.head, any); break;
        case 3: atomic_store(&lane->ring.watch, any); break;
        case 4: atomic_store(&lane->notes[any % PW_NOTES_MAX], fuzz_take(bytes, 8)); break;
        case 5: lane->ring.cells[any % 32] = (struct pw_cell){ fuzz_take(bytes, 8), fuzz_take(bytes, 8) }; break;
        default:
                ((_Atomic uint32_t *)(void *)host->tenant.hints)[any % (sizeof *host->tenant.hints / 4)] =
                        (uint32_t)fuzz_take(bytes, 1);
        }
}

static void scribble_entry(struct fuzz_host *host, struct fuzz_bytes *bytes)
{
        struct fuzz_client *client = &host->clients[0];
        struct pw_entry *entry = pw_map_entry(&client->memory->map, client->rooms.first_slot + fuzz_take(bytes, 1) % FUZZ_SLOTS);
        uint64_t shape = fuzz_take(bytes, 1);

        entry->bytes = shape & 8 ? fuzz_take(bytes, 8) : 256;
        entry->room_offset = shape & 16 ? fuzz_take(bytes, 8) : client->rooms.room_offset;
        entry->room_segment = shape & 32 ? (uint32_t)fuzz_take(bytes, 4) : client->memory->segment;
        entry->dtype = shape & 64 ? (uint8_t)fuzz_take(bytes, 1) : 0;
        entry->rank = shape & 64 ? (uint8_t)fuzz_take(bytes, 1) : 1;
        entry->is_inline = shape >> 7 & 1;
        for (uint32_t i = 0; i < 3; i++)
                entry->body.dims[i] = shape & 64 ? fuzz_take(bytes, 2) : 256;
        if (shape % 8 == 7)
                atomic_store(&entry->word, fuzz_take(bytes, 8));
        else
                atomic_store(&entry->word,
                             pw_word_make((enum pw_entry_state)(shape % 8), 0, 1 + (uint32_t)fuzz_take(bytes, 1) % 3, PW_OK));
}

/* The store's own entries are true to its records; those that the client may write, and hints, are what it made of them. */
static void found(void *context, const char *where, const char *problem)
{
        (void)context;
        if (!strncmp(where, "h0.7/a.", 7))
                return;
        fprintf(stderr, "%s: %s\n", where, problem);
        abort();
}

static void one_step(struct fuzz_host *host, struct fuzz_bytes *bytes)
{
        struct fuzz_client *client = &host->clients[0];
        uint8_t op = (uint8_t)fuzz_take(bytes, 1);
        uint32_t lane = op / 16u % LANES;

        switch (op % 16) {
        case 0:
        case 1: fuzz_host_cell(client, lane, any_object(host, bytes, PW_RING_DROP)); break;
        case 2: fuzz_host_cell(client, lane, any_object(host, bytes, PW_RING_REF)); break;
        case 3:
        case 4:
        case 5: any_run(host, bytes, lane); break;
        case 6:
        case 7: scribble_control(host, bytes); break;
        case 8:
        case 9: scribble_entry(host, bytes); break;
        case 10: fuzz_host_work(host, lane); break;
        case 11: host->now_us += fuzz_take(bytes, 4); break;
        case 12:
        case 13:
                if (!client->session.ended)
                        pw_lanes_rung(&client->session);
                break;
        case 14: fuzz_host_turn(host); break;
        default:
                if (op == 0xff)
                        fuzz_host_end(host, client, fuzz_take(bytes, 1) & 1);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        static struct fuzz_host host;
        struct fuzz_bytes bytes = { data, count };

        fuzz_host_open(&host);
        while (bytes.left && !host.clients[0].session.ended)
                one_step(&host, &bytes);
        fuzz_host_turn(&host);
        pw_store_check(host.fixture.store, found, NULL);
        fuzz_host_close(&host);
        return 0;
}
