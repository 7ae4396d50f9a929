/* The entry: 64 bytes in a segment that say what one object is and whether it is ready. The entry is the message: the maker of an
 * object, for results of runs the daemon, writes here that it is ready, and waiters read it here. The daemon is rung only where the
 * flag RING asks for it.
 *
 * An object's id names a segment (a memfd that processes share, segment.h) and a slot in it: there is its entry. What a client put
 * has its entry and its room in the client's own segment; a frozen value has a memfd of its own that nobody can write. The result
 * of a run has its entry and a list of its shards in its tenant's futures segment, and each shard in a room of a device, behind a
 * head that says who wrote it (struct pw_room_head, image.h). A value of up to 24 bytes that a client put lies in the entry itself.
 * The daemon makes the memfds (daemon/memory/). Its store knows an object's holders, decides which tenant is charged for it, and
 * when it ends: it has a record beside each entry, struct pw_object (store/object.h), which no client sees.
 *
 * An object of another host that somebody here holds has a *proxy*: an entry in its tenant's futures segment, as a result has. It
 * names the id that the object has at its home, which is the one that people see. READY with the flag MOVING, its bytes are not
 * here: all of its list but the place of its shard is good. The swap that clears the flag says that they are. So it is with a
 * result in memory of devices that the processor does not read, whose bytes are fetched into host memory when somebody wants them.
 *
 * The word, from its low bits: state 3 | flags 5 | generation 24 || generation 8 | status 8 | zero 16. A futex is the low half. The
 * generation, of 32 bits, counts the objects that have had this slot.
 * Every step from one word to another is one sequentially consistent compare-and-swap of the whole word. Only a slot that the
 * daemon is about to grant is stored to, as nobody else has it yet.
 *
 *   from                 to       who                                   when
 *   FREE                 PENDING  who was granted the slot; daemon in   the future is made; the generation counts up
 *                                 futures segments, as it grants it
 *   FREE                 TAKEN    daemon                                an idle slot is taken back
 *   TAKEN                FREE     daemon                                its extent is granted again
 *   PENDING              READY    producer; daemon in futures segments  the bytes are written, the fields are in the entry
 *   PENDING              ERROR    producer, daemon                      failed, cancelled, lost, producer ended
 *   READY                LOST     daemon                                the only memory that held it is gone
 *   READY, ERROR, LOST   CLOSING  daemon                                the last reference was dropped
 *   CLOSING              as before daemon                               a REF of it was read meanwhile (a client took one, ring.h)
 *   CLOSING              FREE     daemon                                every ring was read that may hold a REF: there is none
 *
 * The fields besides the word are written by the producer before it swaps to READY and are a claim, not a fact: the daemon
 * checks lengths against what it granted, readers check offsets against the size of the segment.
 */
#ifndef PW_PLANE_ENTRY_H
#define PW_PLANE_ENTRY_H

#include "base/bits.h"
#include "base/id.h"
#include "base/layout.h"

#include <stdatomic.h>

enum pw_entry_state {
        PW_ENTRY_FREE = 0,
        PW_ENTRY_TAKEN = 1,
        PW_ENTRY_PENDING = 2,
        PW_ENTRY_READY = 3,
        PW_ENTRY_ERROR = 4,
        PW_ENTRY_LOST = 5,
        PW_ENTRY_CLOSING = 6,
};

enum pw_entry_flag {
        PW_ENTRY_MOVING = 1u << 3,  /* of a READY entry: the value is being moved, or lies out of reach: ask the daemon first */
        PW_ENTRY_RING = 1u << 4,    /* the daemon wants to be rung when the word leaves PENDING */
        PW_ENTRY_DONATED = 1u << 5, /* no new references */
        PW_ENTRY_FROZEN = 1u << 6,
        PW_ENTRY_SHARDED = 1u << 7, /* room_offset leads to a shard list in the same segment */
};
#define PW_ENTRY_STATE 0x7u
#define PW_ENTRY_FLAGS 0xf8u

#define PW_INLINE_BYTES 24u /* values up to this lie in the entry */
#define PW_ENTRY_DIMS 3u    /* dims up to this rank lie in the entry, where the value does not */

/* Where in the segment the error text of a lost value is; bytes 0: there is none. */
struct pw_loss_text { uint64_t offset, bytes; };
/* Of the id that a proxy's object has at its home: `place`; the rest of it is in the label. */
struct pw_home_place { struct pw_loss_text loss; uint64_t place; };

/* Why a READY value with the flag MOVING is not where its list says. */
enum pw_entry_away {
        PW_ENTRY_HERE = 0,  /* it is being moved */
        PW_ENTRY_PROXY = 1, /* it is on another host; the object is, too */
        PW_ENTRY_APART = 2, /* it is in memory of devices that the processor does not read */
};

struct pw_entry {
        _Atomic uint64_t word;
        uint64_t bytes;        /* of the value; ERROR in a futures segment: of the error text */
        uint64_t room_offset;  /* from the start of the segment; SHARDED: of the shard list; ERROR: of the error text */
        uint32_t room_segment; /* the segment of room_offset */
        uint8_t dtype;
        uint8_t rank;
        uint8_t is_inline; /* the value lies in `body` */
        _Atomic uint8_t away; /* enum pw_entry_away, believed in futures segments alone */
        union {
                uint8_t value[PW_INLINE_BYTES];
                uint64_t dims[PW_ENTRY_DIMS];
                struct pw_loss_text loss;  /* SHARDED and LOST */
                struct pw_home_place home; /* of a proxy */
        } body;
        /* The producer's note for listings: 0, or the handle of the program that made it. Of a proxy: see pw_entry_home(). */
        uint64_t label;
};
_Static_assert(sizeof(struct pw_entry) == 64, "an entry is one line");

static inline enum pw_entry_state pw_word_state(uint64_t word) { return (enum pw_entry_state)(word & PW_ENTRY_STATE); }
static inline uint32_t pw_word_flags(uint64_t word) { return (uint32_t)word & PW_ENTRY_FLAGS; }
static inline uint32_t pw_word_generation(uint64_t word)
{
        return ((uint32_t)word >> 8) | (uint32_t)(word >> 32 & 0xff) << 24;
}
static inline enum pw_status pw_word_status(uint64_t word) { return (enum pw_status)(word >> 40 & 0xff); }
/* The status in an ERROR or LOST word. Its writer is not trusted: a status that no value can be ready with is read as
 * PW_PROTOCOL. */
static inline enum pw_status pw_word_error(uint64_t word)
{
        enum pw_status status = pw_word_status(word);
        return pw_status_of_value(status) ? status : PW_PROTOCOL;
}
static inline uint64_t pw_word_make(enum pw_entry_state state, uint32_t flags, uint32_t generation, enum pw_status status)
{
        return (uint64_t)state | flags | (uint64_t)(generation & 0xffffff) << 8 | (uint64_t)(generation >> 24) << 32 |
               (uint64_t)(status & 0xff) << 40;
}
static inline uint64_t pw_word_with_state(uint64_t word, enum pw_entry_state state)
{
        return (word & ~(uint64_t)PW_ENTRY_STATE) | state;
}
/* Of a proxy: the id that its object has at its home, which does not change while somebody holds it. */
static inline struct pw_id pw_entry_home(const struct pw_entry *entry)
{
        return (struct pw_id){ entry->body.home.place, (uint32_t)entry->label, (uint32_t)(entry->label >> 32) };
}
static inline void pw_entry_set_home(struct pw_entry *entry, struct pw_id id)
{
        entry->body.home.place = id.place;
        entry->label = id.epoch | (uint64_t)id.generation << 32;
}
/* Ready with a value or an error: what waiters wait for. CLOSING counts as ready: nobody who holds a reference sees it. */
static inline bool pw_word_decided(uint64_t word) { return (word & PW_ENTRY_STATE) >= PW_ENTRY_READY; }

static inline uint64_t pw_entry_load(const struct pw_entry *entry)
{
        return atomic_load_explicit(&((struct pw_entry *)(uintptr_t)entry)->word, memory_order_seq_cst);
}
static inline bool pw_entry_swap(struct pw_entry *entry, uint64_t *expected, uint64_t desired)
{
        return atomic_compare_exchange_strong(&entry->word, expected, desired);
}

/* Take a granted slot: FREE to PENDING of the next generation. False if it is not FREE (the daemon took it back) or its
 * generations are used up. */
static inline bool pw_entry_take(struct pw_entry *entry, uint32_t *ret_generation)
{
        uint64_t word = pw_entry_load(entry);
        uint32_t generation = pw_word_generation(word) + 1;

        if (pw_word_state(word) != PW_ENTRY_FREE || !generation)
                return false;
        if (!pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_PENDING, 0, generation, PW_OK)))
                return false;
        *ret_generation = generation;
        return true;
}

/* Leave PENDING of `generation`: to READY (status PW_OK) or ERROR, adding `flags`. Repeats while only flags changed.
 * On true *ret_old is the word before: its flags say whether to ring the daemon. False: somebody else decided first, and the
 * caller drops its value. `tries`: how often at most (the daemon bounds it, a producer passes UINT32_MAX). After the last one it
 * is false too, and the word still PENDING: a client keeps changing it, and the daemon ends its session for that. */
static inline bool pw_entry_decide(struct pw_entry *entry, uint32_t generation, enum pw_status status, uint32_t flags,
                                   uint32_t tries, uint64_t *ret_old)
{
        enum pw_entry_state state = status == PW_OK ? PW_ENTRY_READY : PW_ENTRY_ERROR;
        uint64_t word = pw_entry_load(entry);

        for (; tries; tries--) {
                if (pw_word_state(word) != PW_ENTRY_PENDING || pw_word_generation(word) != generation)
                        return false;
                if (pw_entry_swap(entry, &word, pw_word_make(state, pw_word_flags(word) | flags, generation, status))) {
                        *ret_old = word;
                        return true;
                }
        }
        return false;
}

/* Set or clear one flag while the entry stays in `state` of `generation`. False if it is there no more, or if somebody kept
 * changing the word for PW_ENTRY_FLAG_TRIES tries. */
#define PW_ENTRY_FLAG_TRIES 1000u
static inline bool pw_entry_flag(struct pw_entry *entry, enum pw_entry_state state, uint32_t generation, uint32_t flag, bool set)
{
        uint64_t word = pw_entry_load(entry);

        for (uint32_t tries = PW_ENTRY_FLAG_TRIES; tries; tries--) {
                if (pw_word_state(word) != state || pw_word_generation(word) != generation)
                        return false;
                if (pw_entry_swap(entry, &word, set ? word | flag : word & ~(uint64_t)flag))
                        return true;
        }
        return false;
}

/* What an object is, read once from an entry that the caller holds a reference to. */
struct pw_described {
        uint64_t bytes;
        uint64_t room_offset; /* 0 and is_inline: the value is in the entry */
        uint32_t room_segment;
        enum pw_dtype dtype;
        struct pw_dims dims; /* opaque: rank 1, {bytes} */
        bool is_inline;
};
/* Bytes of room that a value needs: 0 if and only if it lies in the entry, which small values do whose dims follow from their
 * bytes (opaque, or of rank 0 or 1). Dims of a rank above PW_ENTRY_DIMS lie behind the value, at the next multiple of 8.
 * UINT64_MAX if that overflows. `dims` of an opaque value is not looked at. */
uint64_t pw_entry_room_bytes(uint64_t bytes, enum pw_dtype dtype, const struct pw_dims *dims);
/* Write the fields of an object that is not SHARDED; `room` is its room or NULL, `room_offset` its place in `room_segment`.
 * A value in the entry (is_inline) and the label are written by the caller. */
void pw_entry_fill(struct pw_entry *entry, const struct pw_described *described, uint8_t *room);
/* Read them back, checked, each field once: segment_bytes is the size of the map of room_segment, `map` its start (for dims
 * behind the value; NULL leaves dims of a high rank opaque). Errors: PW_PROTOCOL (fields that cannot be). */
PW_MUST_CHECK enum pw_status pw_entry_describe(const struct pw_entry *entry, const uint8_t *map, uint64_t segment_bytes,
                                               struct pw_described *ret_described);

/* A sharded object's list, daemon-written, in the futures segment of its tenant. */
#define PW_SHARD_IN_HOST UINT16_MAX /* as device: it lies in the memory of its host, in the room of a client */
struct pw_shard_place {
        uint64_t offset; /* of the shard's bytes in `segment` */
        uint64_t bytes;
        uint32_t segment;
        struct pw_device_id device;
};
struct pw_shard_list {
        uint32_t shard_count;
        uint8_t dtype, zero[3];
        uint32_t mesh[PW_MESH_AXES_MAX];
        struct pw_sharding sharding;
        struct pw_dims dims; /* of the whole value */
        _Atomic uint64_t losses; /* counts up when shards were lost, after their bits are set in pw_shard_list_lost() */
        struct pw_shard_place shards[];
};
/* Of the list with the bits behind its shards: */
#define PW_SHARD_LIST_BYTES(count)                                                                                     \
        (sizeof(struct pw_shard_list) + (count) * sizeof(struct pw_shard_place) + PW_BITS_WORDS(count) * sizeof(uint64_t))
/* Bytes of an element of its value, opaque bytes for themselves; 0: there is no such dtype. */
static inline size_t pw_list_element_bytes(const struct pw_shard_list *list)
{
        return list->dtype == PW_OPAQUE ? 1 : pw_dtype_bytes((enum pw_dtype)list->dtype);
}
/* Shards whose devices were lost, a bit each (base/bits.h). While the value is READY others hold the same bytes. */
static inline _Atomic uint64_t *pw_shard_list_lost(const struct pw_shard_list *list)
{
        return (_Atomic uint64_t *)(uintptr_t)(list->shards + list->shard_count);
}

#endif
