/* What a late device was given and has not done: its part, and what its executor sees of it. */
#include "tests/world/executor/gang.h"

enum state {
        GIVEN, /* the device has not begun it */
        BEGUN, /* it has read its inputs */
        DONE,  /* its bytes lie where they should; nobody knows yet */
        SAID,  /* its heads are written; it is not published */
};

struct flight {
        struct pw_order order;
        uint64_t seq, value;
        enum state state;
        uint32_t ticks;    /* of the device's clock, until the next state */
        enum world_flight_kind kind;
        bool refused;      /* a call: an input was in error when it was to begin */
        bool same;         /* bytes that are moved: all sources were the same */
};

struct world_flights {
        uint32_t first, count;
        bool between; /* the one before the first is published as done, the first not as what the device is at */
        struct flight all[WORLD_FLIGHTS];
};

bool world_is_late(const struct world *world) { return world->kind != WORLD_EARLY; }
uint32_t world_flights_count(const struct world_executor *self) { return self->flights->count; }
struct world_flights *world_flights_new(void) { return calloc(1, sizeof(struct world_flights)); }
void world_flights_lose(struct world_flights *flights) { memset(flights, 0, sizeof *flights); }

static struct flight *flight_at(struct world_flights *flights, uint32_t i)
{
        return &flights->all[(flights->first + i) % WORLD_FLIGHTS];
}

static struct world_gang gang_at(struct world *world, struct world_executor *self, const struct flight *flight)
{
        return world_gang_of(world, self, &flight->order, flight->seq);
}

static uint32_t own_place(const struct world_gang *gang, uint32_t value)
{
        return world_place_of(world_slice_of(gang, pw_image_value(gang->image, value)->slice), gang->self->device);
}

/* --- launches --------------------------------------------------------------------------------------------------------------- */

static bool writes(const struct world_gang *gang, enum world_flight_kind kind, const struct pw_room_head *room)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);

        for (uint32_t i = 0; kind <= WORLD_MOVES && i < gang->node->output_count; i++)
                if (world_room_of(gang, outputs[i], own_place(gang, outputs[i])) == room)
                        return true;
        return false;
}

static bool is_to_be_written(const struct world_gang *gang, const struct pw_room_head *room)
{
        struct world_flights *flights = gang->self->flights;

        for (uint32_t i = 0; i < flights->count; i++) {
                const struct flight *flight = flight_at(flights, i);
                struct world_gang ahead = gang_at(gang->world, gang->self, flight);
                if (writes(&ahead, flight->kind, room))
                        return true;
        }
        return false;
}

/* Most are short. */
static uint32_t ticks_of(struct world *world)
{
        return world_random(world, 16) ? world_random(world, 4) : world_random(world, 40);
}

static enum world_launch launch(const struct world_gang *gang, enum world_flight_kind kind)
{
        struct world_executor *self = gang->self;
        struct world_flights *flights = self->flights;

        if (flights->count == WORLD_FLIGHTS)
                return WORLD_LATER;
        *flight_at(flights, flights->count++) = (struct flight){ .order = self->order, .seq = gang->seq, .kind = kind,
                                                                 .state = kind <= WORLD_MOVES ? GIVEN : DONE,
                                                                 .ticks = ticks_of(gang->world) };
        world_log(gang->world, "  device %u: gang %lu is launched, %u under way", self->device, (unsigned long)gang->seq,
                  flights->count);
        gang->world->ahead[kind] += flights->count > 1;
        if (flights->count == 1 && atomic_load(&self->board->running) != gang->seq)
                world_gang_begins(gang);
        return WORLD_LAUNCHED;
}

/* Of what is yet to be written nobody knows what it will be. */
static enum world_launch launch_call(const struct world_gang *gang)
{
        const uint32_t *inputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs);

        for (uint32_t i = 0; i < gang->node->input_count; i++) {
                uint32_t place = own_place(gang, inputs[i]);
                if (!is_to_be_written(gang, world_room_of(gang, inputs[i], place)) &&
                    world_read_value(gang, inputs[i], place).status != PW_OK)
                        return WORLD_NEVER;
        }
        return launch(gang, WORLD_CALLS);
}

static enum world_launch launch_move(const struct world_gang *gang)
{
        struct world_shard all;

        return world_sources_read(gang, &all) && all.status == PW_OK ? launch(gang, WORLD_MOVES) : WORLD_NEVER;
}

/* A source of its own is there when it is read; so it is when its mark says that. */
static enum world_launch launch_transfer(const struct world_gang *gang)
{
        uint32_t place = world_sender_place(gang);

        if (place != PW_PLACE_NONE && world_receiver_place(gang) == PW_PLACE_NONE)
                return gang->self->flights->count && !gang->self->marked ? launch(gang, WORLD_SENDS) : WORLD_NEVER;
        if (world_receiver_place(gang) == PW_PLACE_NONE)
                return WORLD_NEVER;
        if (place == PW_PLACE_NONE)
                return launch_move(gang);
        if (is_to_be_written(gang, world_room_of(gang, PW_IMAGE_AT(gang->image, uint32_t, gang->node->inputs)[0], place)))
                return WORLD_LATER;
        if (gang->self->marked)
                return launch_move(gang);
        world_arrive(gang);
        gang->self->marked = true;
        return WORLD_SAID;
}

enum world_launch world_flight_launch(const struct world_gang *gang)
{
        if (gang->node->kind == PW_NODE_CALL)
                return launch_call(gang);
        if (gang->node->kind == PW_NODE_TRANSFER)
                return launch_transfer(gang);
        if (!world_input_of(gang, gang->node->input_index)->in_place)
                return launch_move(gang);
        return gang->self->flights->count ? launch(gang, WORLD_PASSES) : WORLD_NEVER;
}

/* --- the device ------------------------------------------------------------------------------------------------------------- */

/* It reads. What a call was to compute with is an error, and the device can ask: nothing of it runs. */
static void begin(const struct world_gang *gang, struct flight *flight)
{
        struct world_shard out;

        if (flight->kind == WORLD_MOVES) {
                flight->value = world_sources_take(gang, &flight->same);
                return;
        }
        out = world_call(gang);
        flight->value = out.value;
        flight->refused = gang->world->kind == WORLD_LATE && out.status != PW_OK;
}

/* It has ended. A copy reads until then: what lay there when it began, or what does by now. */
static void write_all(const struct world_gang *gang, struct flight *flight)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);

        if (flight->kind == WORLD_MOVES && world_random(gang->world, 2))
                flight->value = world_sources_take(gang, &flight->same);
        if (flight->kind == WORLD_MOVES)
                world_write_bytes(gang, outputs[0], flight->value);
        for (uint32_t i = 0; flight->kind == WORLD_CALLS && !flight->refused && i < gang->node->output_count; i++)
                world_write_bytes(gang, outputs[i], world_mix(flight->value, i));
}

static bool device_moves(struct world *world, struct world_executor *self)
{
        struct world_flights *flights = self->flights;
        struct flight *flight = NULL;
        struct world_gang gang;
        uint32_t i = 0;

        while (i < flights->count && flight_at(flights, i)->state >= DONE)
                i++;
        if (i == flights->count || (i && world->kind == WORLD_LATE))
                return false;
        flight = flight_at(flights, i);
        if (flight->ticks) {
                flight->ticks--;
                return true;
        }
        flight->ticks = ticks_of(world);
        gang = gang_at(world, self, flight);
        if (flight->state == GIVEN)
                begin(&gang, flight);
        else
                write_all(&gang, flight);
        flight->state++;
        return true;
}

/* --- its end ---------------------------------------------------------------------------------------------------------------- */

/* What those ahead of it have become is known by now. */
static void say(const struct world_gang *gang, const struct flight *flight)
{
        const uint32_t *outputs = PW_IMAGE_AT(gang->image, uint32_t, gang->node->outputs);
        struct world_shard out = { .status = PW_OK };

        if (flight->kind == WORLD_SENDS)
                world_arrive(gang);
        else if (flight->kind == WORLD_MOVES)
                out = world_sources_again(gang);
        else if (flight->kind == WORLD_CALLS)
                out = world_call_ends(gang, world_call(gang));
        if (flight->kind == WORLD_MOVES && out.status == PW_OK && !flight->same)
                world_sources_differ(gang);
        for (uint32_t i = 0; flight->kind <= WORLD_MOVES && i < gang->node->output_count; i++)
                world_write_head(gang, outputs[i], &out);
}

static bool is_seen(struct world *world, struct world_executor *self)
{
        struct world_flights *flights = self->flights;
        struct flight *flight = flight_at(flights, 0);
        struct world_gang gang;

        if (flight->state < DONE)
                return false;
        gang = gang_at(world, self, flight);
        if (flight->state++ == DONE)
                return say(&gang, flight), true;
        world_gang_ends(&gang);
        flights->first = (flights->first + 1) % WORLD_FLIGHTS;
        flights->between = --flights->count > 0;
        return true;
}

static void first_begins(struct world *world, struct world_executor *self)
{
        struct world_gang gang = gang_at(world, self, flight_at(self->flights, 0));

        self->flights->between = false;
        world_gang_begins(&gang);
}

bool world_flight_step(struct world *world, struct world_executor *self)
{
        if (!self->flights->count)
                return false;
        if (self->flights->between)
                return first_begins(world, self), true;
        if (world_random(world, 2))
                return is_seen(world, self) || device_moves(world, self);
        return device_moves(world, self) || is_seen(world, self);
}
