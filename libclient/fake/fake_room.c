/* Rooms and slots of the fake daemon: granted, given back, waited for. */
#include "libclient/fake/fake_daemon_private.h"

#include "base/size.h"
#include "plane/hint.h"

static uint32_t class_of(const Pathways__Wire__RoomRequest *ask) { return ask->futures ? FUTURES_CLASS : ask->size_class; }

static void future_arm(struct fake_daemon *fake, uint32_t slot)
{
        uint32_t generation;
        bool taken = pw_entry_take(fake_entry(fake, true, slot), &generation);
        assert(taken);
        (void)taken;
}

static void grant(struct fake_daemon *fake, uint64_t id, const Pathways__Wire__RoomRequest *ask, uint32_t count,
                  uint64_t room_bytes)
{
        assert(fake->extent_count < EXTENTS && fake->next_slot[ask->futures] + count <= SLOTS);
        struct fake_extent *extent = &fake->extents[fake->extent_count];
        *extent = (struct fake_extent){ .first_slot = fake->next_slot[ask->futures], .slot_count = count, .futures = ask->futures,
                                   .lane = ask->lane, .size_class = class_of(ask) };
        for (uint32_t i = 0; i < count; i++) {
                fake->extent_of[ask->futures][extent->first_slot + i] = fake->extent_count;
                if (ask->futures)
                        future_arm(fake, extent->first_slot + i);
        }
        extent->returns = pw_return_ring_init((struct pw_return_ring *)(void *)((uint8_t *)fake->control + fake->next_ring), count);
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__RoomGrant room = PATHWAYS__WIRE__ROOM_GRANT__INIT;
        room.extent = fake->extent_count++;
        room.segment = ask->futures ? FUTURES_SEGMENT : OWN_SEGMENT;
        room.first_slot = extent->first_slot;
        room.slot_count = count;
        room.room_offset = fake->next_room;
        room.room_bytes = room_bytes;
        room.return_ring = fake->next_ring;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_ROOM;
        reply.room = &room;
        fake->next_slot[ask->futures] += count;
        fake->futures_left -= ask->futures ? count : 0;
        fake->next_room += count * room_bytes;
        fake->next_ring += pw_return_ring_bytes(count);
        fake->counts.grants++;
        fake_reply(fake, id, &reply, NULL, 0);
}

/* Have at least `count` rooms of the class, or futures, come back to the lane since it was last told? */
static bool rooms_came_back(struct fake_daemon *fake, uint32_t lane, uint32_t size_class, uint64_t count)
{
        uint64_t back = 0;
        for (int pass = 0; pass < 2; pass++) {
                for (uint32_t i = 0; i < fake->extent_count; i++) {
                        struct fake_extent *extent = &fake->extents[i];
                        if (extent->lane != lane || extent->size_class != size_class)
                                continue;
                        back += extent->back;
                        if (pass)
                                extent->back = 0;
                }
                if (back < count)
                        return false;
        }
        return true;
}

static void say_look(struct fake_daemon *fake, uint64_t id)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__RoomGrant room = PATHWAYS__WIRE__ROOM_GRANT__INIT;
        room.look = true;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_ROOM;
        reply.room = &room;
        fake_reply(fake, id, &reply, NULL, 0);
}

void fake_room(struct fake_daemon *fake, uint64_t id, const Pathways__Wire__RoomRequest *ask)
{
        uint64_t room_bytes = ask->futures || ask->inline_only ? 0 : pw_class_bytes(ask->size_class);
        uint64_t fits = ask->count;
        if (room_bytes)
                fits = (fake->rooms_end - fake->next_room) / room_bytes;
        else if (ask->futures)
                fits = fake->futures_left;
        if (room_bytes && rooms_came_back(fake, ask->lane, ask->size_class, ask->count)) {
                say_look(fake, id);
        } else if (fits) {
                grant(fake, id, ask, (uint32_t)pw_min_u64(fits, ask->count), room_bytes);
        } else if (rooms_came_back(fake, ask->lane, class_of(ask), 1)) {
                say_look(fake, id);
        } else {
                fake->waiting_id = id;
                fake->waiting_bytes = ask->room_bytes;
                fake->waiting_lane = ask->lane;
                fake->waiting_class = class_of(ask);
                fake->waiting_until_ns = ask->timeout_us < 0 ? INT64_MAX : pw_now_ns() + ask->timeout_us * 1000;
        }
}

void fake_serve_waiting(struct fake_daemon *fake)
{
        if (!fake->waiting_id)
                return;
        uint64_t id = fake->waiting_id;
        if (rooms_came_back(fake, fake->waiting_lane, fake->waiting_class, 1)) {
                fake->waiting_id = 0;
                say_look(fake, id);
        } else if (pw_now_ns() >= fake->waiting_until_ns) {
                fake->waiting_id = 0;
                fake_reply_status(fake, id, PW_NO_SPACE, "all of it held by the test itself");
        }
}

void fake_room_back(struct fake_daemon *fake, bool futures, uint32_t slot)
{
        struct pw_entry *entry = fake_entry(fake, futures, slot);
        struct fake_extent *extent = &fake->extents[fake->extent_of[futures][slot]];
        uint64_t word = pw_entry_load(entry);
        atomic_store(&entry->word, pw_word_make(PW_ENTRY_FREE, 0, pw_word_generation(word), PW_OK));
        if (futures)
                future_arm(fake, slot);
        extent->back++;
        pw_return_give(&extent->returns, slot);
}
