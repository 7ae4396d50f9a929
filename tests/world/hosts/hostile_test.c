/* A host that says what it likes, from a seed: beside what it has to say it says the same with fields changed, as another kind, of
 * other runs, or again; some of it it does not say at all. It has parts of runs of others, who have parts of its own.
 *
 * What must hold on the other hosts: each scheduler's invariants, after each event; once they have given it up, every run of their
 * clients ends, with each result decided once, and all of their memory is free. PW_WORLD_SEED=n plays that seed alone,
 * PW_WORLD_SEEDS=n so many. */
#include "tests/world/hosts/play.h"
#include "tests/world/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOSTILE (PLAY_HOSTS - 1)
#define BODY_MOST 8u /* inputs, rooms and slots of a message that are looked at */

static uint64_t said, taken;

/* --- what it says ------------------------------------------------------------------------------------------------------------- */

/* Something near, something that means something elsewhere, or anything. */
static uint32_t other_than(uint32_t value)
{
        switch (play_below(8)) {
        case 0: return value + 1;
        case 1: return value - 1;
        case 2: return PLAY_FIRST + play_below(PLAY_HOSTS);
        case 3: return UINT32_MAX - play_below(2);
        case 4: return play_below(UINT32_MAX);
        default: return play_below(12);
        }
}

static uint64_t other_than_long(uint64_t value)
{
        return play_below(8) ? (value & ~UINT64_C(0xffffffff)) | other_than((uint32_t)value) : UINT64_C(1) << play_below(64);
}

static void change_field(struct pw_core_message *message)
{
        uint32_t kind = 1 + play_below(PW_CORE_KINDS);

        switch (play_below(13)) {
        case 0: message->kind = (enum pw_core_kind)kind; break;
        case 1: message->status = play_below(2) ? PW_OK : PW_FAILED; break;
        case 2: message->host = other_than(message->host); break;
        case 3: message->island = other_than(message->island); break;
        case 4: message->about = other_than(message->about); break;
        case 5: message->detail = other_than(message->detail); break;
        case 6: message->slot = other_than(message->slot); break;
        case 7: message->device.device = (uint16_t)other_than(message->device.device); break;
        case 8: message->run.coordinator = other_than(message->run.coordinator); break;
        case 9: message->run.number = other_than_long(message->run.number); break;
        case 10: message->serial = other_than_long(message->serial); break;
        case 11: message->arrival = other_than_long(message->arrival); break;
        default: message->run.epoch = other_than(message->run.epoch); break;
        }
}

static void change_input(struct pw_core_input *input)
{
        switch (play_below(7)) {
        case 0: input->source = (enum pw_core_source)play_below(3); break;
        case 1: input->status = play_below(2) ? PW_OK : PW_FAILED; break;
        case 2: input->given = !input->given; break;
        case 3: input->is_inline = !input->is_inline; break;
        case 4: input->run.number = other_than_long(input->run.number); break;
        case 5: input->run.coordinator = other_than(input->run.coordinator); break;
        default: input->slot = other_than(input->slot); break;
        }
}

static void change_room(struct pw_room *room)
{
        switch (play_below(4)) {
        case 0: room->host = (uint16_t)other_than(room->host); break;
        case 1: room->device = (uint16_t)other_than(room->device); break;
        case 2: room->segment = other_than(room->segment); break;
        default: room->bytes = other_than_long(room->bytes); break;
        }
}

struct copies {
        struct pw_core_input inputs[BODY_MOST];
        struct pw_room rooms[BODY_MOST];
        uint32_t slots[BODY_MOST];
};

static uint32_t least(uint32_t count) { return count < BODY_MOST ? count : BODY_MOST; }

/* What comes along, sometimes more or less of it. */
static void change_body(struct pw_core_body *body, struct copies *copies)
{
        *copies = (struct copies){ 0 };
        body->input_count = least(body->input_count);
        body->room_count = least(body->room_count);
        body->slot_count = least(body->slot_count);
        if (body->input_count)
                memcpy(copies->inputs, body->inputs, body->input_count * sizeof *body->inputs);
        if (body->room_count)
                memcpy(copies->rooms, body->rooms, body->room_count * sizeof *body->rooms);
        if (body->slot_count)
                memcpy(copies->slots, body->slots, body->slot_count * sizeof *body->slots);
        body->inputs = copies->inputs;
        body->rooms = copies->rooms;
        body->slots = copies->slots;
        if (!play_below(3))
                change_input(&copies->inputs[body->input_count ? play_below(body->input_count) : 0]);
        if (!play_below(3))
                change_room(&copies->rooms[body->room_count ? play_below(body->room_count) : 0]);
        if (!play_below(3))
                copies->slots[body->slot_count ? play_below(body->slot_count) : 0] = play_below(24);
        if (!play_below(8))
                body->input_count = play_below(3);
        if (!play_below(8))
                body->room_count = play_below(5);
        if (!play_below(8))
                body->slot_count = play_below(3);
}

static void hear(uint32_t to, const struct pw_core_message *message, const struct pw_core_body *body)
{
        struct play_frame frame = { .length = pw_core_bytes(body), .from = PLAY_FIRST + HOSTILE };
        enum pw_core_kind kind;
        enum pw_status status;
        struct pw_error err;

        frame.bytes = malloc(frame.length);
        assert_non_null(frame.bytes);
        pw_core_encode(message, body, frame.bytes);
        if (!play_below(64))
                frame.bytes[play_below((uint32_t)frame.length)] ^= (uint8_t)(1u << play_below(8));
        if (getenv("PW_WORLD_TRACE"))
                fprintf(stderr, "it says to h%u: message %d of run %u.%lu of host %u, slot %u, about %u, %u, serial %lu\n",
                        PLAY_FIRST + to, (int)message->kind, message->run.coordinator, (unsigned long)message->run.number,
                        message->host, message->slot, message->about, message->detail, (unsigned long)message->serial);
        status = play_take(to, &frame, &kind, &err);
        said++;
        taken += status == PW_OK;
        free(frame.bytes);
}

/* The same, with something else in it; for a third host at times. */
static void lie(uint32_t to, const struct play_frame *frame)
{
        struct pw_core_message message;
        struct pw_core_body body;
        struct copies copies;
        struct pw_error err;
        void *space;

        assert_int_equal(pw_core_decode(frame->bytes, frame->length, &message, &body, &space, &err), PW_OK);
        for (uint32_t n = play_below(3); n--;)
                change_field(&message);
        if (play_below(2))
                change_body(&body, &copies);
        if (!play_below(8))
                to = play_below(HOSTILE);
        hear(to, &message, &body);
        free(space);
}

static bool deliver(uint32_t from, uint32_t to)
{
        const struct play_frame *kept = &play->kept[play_below(PLAY_KEPT)];
        struct play_link *link = &play->links[from][to];

        if (from != HOSTILE || to == HOSTILE || !link->count)
                return play_deliver(from, to);
        if (!play_below(play->slow ? 16 : 2))
                lie(to, &link->frames[0]);
        if (!play_below(8) && kept->bytes && kept->from == PLAY_FIRST + HOSTILE)
                lie(to, kept);
        if (!play->slow && !play_below(64)) { /* never said */
                free(link->frames[0].bytes);
                memmove(link->frames, link->frames + 1, --link->count * sizeof *link->frames);
                return true;
        }
        return play_deliver(from, to);
}

static void event(void)
{
        struct play_run *run = &play->runs[play_below(PLAY_RUNS)];
        uint32_t what = play_below(100);

        if (what < 12) {
                play_submit();
        } else if (what < 14 && run->run) {
                play_cancel(run);
        } else if (what < 22 && run->result) {
                play_let_go(run);
        } else if (what < 26) {
                play_tick();
        } else if (what < 28) {
                uint32_t at = play_below(PLAY_HOSTS), device = play_below(PLAY_DEVICES);

                pw_scheduler_device_down(play->hosts[at].scheduler, device, 0, PW_CRASHED, "SIGKILL", play->now_us);
                pw_scheduler_device_up(play->hosts[at].scheduler, device, play->now_us);
                play_turn(at);
        } else if (what < 60) {
                play_step(play_below(PLAY_HOSTS), play_below(PLAY_DEVICES));
        } else {
                for (uint32_t n = 8; n--;)
                        deliver(play_below(PLAY_HOSTS), play_below(PLAY_HOSTS));
        }
}

/* --- the end ------------------------------------------------------------------------------------------------------------------ */

static void give_up(uint32_t from, uint32_t to)
{
        struct play_link *link = &play->links[from][to];

        for (uint32_t i = 0; i < link->count; i++)
                free(link->frames[i].bytes);
        link->count = 0;
        link->cut = link->given_up = true;
        pw_scheduler_give_up(play->hosts[to].scheduler, PLAY_FIRST + from, "it was not heard of", play->now_us);
        play_turn(to);
}

static bool waits(const struct play_run *run) { return run->run && run->coordinator != HOSTILE; }

static bool any_waits(void)
{
        bool any = false;

        for (uint32_t i = 0; i < play->run_count; i++)
                any |= waits(&play->runs[i]);
        return any;
}

/* Runs whose inputs are in one another's way end at their deadlines. */
static void finish(void)
{
        for (uint32_t at = 0; at < HOSTILE; at++) {
                give_up(HOSTILE, at);
                give_up(at, HOSTILE);
        }
        while (play_go_on())
                ;
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].result) {
                        play_let_go(&play->runs[i]);
                        while (play_go_on())
                                ;
                }
        for (uint32_t n = 0; any_waits() && n < PLAY_RUNS; n++) {
                play->now_us += 2 * PW_ADMIT_US_DEFAULT;
                play_tick();
                while (play_go_on())
                        ;
        }
        if (any_waits())
                play_failed("the end", "a run waits for ever");
        for (uint32_t at = 0; at < HOSTILE; at++)
                play_memory_is_free(at);
        for (uint32_t p = 0; p < PLAY_PROGRAMS; p++) /* they went with their host */
                for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                        if (at == HOSTILE || play->programs[p].coordinator == HOSTILE)
                                play->programs[p].handle[at] = 0;
}

/* Most have a part there; some, whoever coordinates them, have no part anywhere else. */
static uint32_t hosts_of(uint32_t p)
{
        uint32_t hosts = 1u << play->programs[p].coordinator | 1u << play_below(HOSTILE) | 1u << play_below(HOSTILE);

        if (!play_below(8))
                return play->programs[p].coordinator == HOSTILE ? 1u << play_below(HOSTILE) : 1u << HOSTILE;
        return play_below(4) ? hosts | 1u << HOSTILE : hosts;
}

static void play_seed(uint64_t seed)
{
        static struct play one; /* large */
        uint64_t capacity;

        one = (struct play){ .seed = seed, .hostile = 1 + HOSTILE, .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
        play = &one;
        play->refuses = !play_below(4);
        play->slow = play_below(2); /* it lies rarely, so that runs come further */
        capacity = (128 + 16 * play_below(8)) / 3 * pw_room_bytes(64 * sizeof(int32_t)); /* a run of the largest fits */
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, capacity, play_below(2));
        for (uint32_t p = 0; p < PLAY_PROGRAMS; p++) {
                play->programs[p].coordinator = p ? play_below(PLAY_HOSTS) : HOSTILE;
                play_begin_program_over(&play->programs[p], hosts_of(p), &(struct play_shape){ .nodes = 1 + play_below(4) },
                                        play_below(2) ? (struct pw_sharding)PW_SPLIT(0) : (struct pw_sharding)PW_BROADCAST);
        }
        for (uint32_t n = 0; n < 1500; n++)
                event();
        finish();
        play_end();
}

static void test_seeds(void **state)
{
        struct world_seeds seeds = world_seeds(1, 40, 10);
        uint64_t runs = 0, good = 0;

        (void)state;
        for (uint64_t i = 0; i < seeds.count + seeds.fresh; i++) {
                play_seed(world_seed(&seeds, i));
                runs += play->run_count;
                good += play->admitted;
        }
        print_message("%lu plays: %lu runs, %lu good; of %lu lies %lu changed something\n",
                      (unsigned long)(seeds.count + seeds.fresh), (unsigned long)runs, (unsigned long)good, (unsigned long)said,
                      (unsigned long)taken);
        if (!getenv("PW_WORLD_SEED"))
                assert_true(said > runs / 2 && taken > runs / 5 && good > runs / 10);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_seeds) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
