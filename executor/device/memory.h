/* The memory of a device, as executors move bytes in it. The plain kind is memory_host.c: rooms that the processor reads.
 *
 * An address of a room is what the table says it is: where the memory is apart (PW_DEVICE_APART), it means nothing to anybody but
 * the table and the functions that run on the device. What is asked for is done in order, behind what was launched before, and
 * later perhaps: the call that asks for it (struct pw_device_call, `move`) ends when it is done. Memory of the processor that is
 * read has been read at the return, but what is pinned only when it is done.
 * Threads: the executor's launching thread.
 */
#ifndef PW_EXECUTOR_DEVICE_MEMORY_H
#define PW_EXECUTOR_DEVICE_MEMORY_H

#include "base/error.h"
#include "base/layout.h"

struct pw_exec_device;

/* Elements of `part`, from the row-major array of one box into that of another. */
struct pw_box_move {
        uint8_t *to;
        const void *from;
        const struct pw_box *to_box, *from_box, *part;
        enum pw_dtype dtype;
        bool from_host; /* `from` is an address of the processor; `to` never is */
};

/* What a descriptor names: all rooms of a device, the own one or another of the kind. */
struct pw_arena { int fd; bool own; uint64_t bytes; };

/* Errors of all: PW_DEVICE_LOST (nothing more can be done with the device), PW_NO_SPACE, PW_SYSTEM. */
struct pw_device_memory {
        /* Memory of `bytes`, zeroed, for all rooms of the device. Own: *ret_fd names it, also to other processes and when this one
         * has ended; the caller closes it. Errors: PW_UNSUPPORTED (rooms are made by the daemon). */
        enum pw_status (*make)(struct pw_exec_device *device, uint64_t bytes, int *ret_fd, struct pw_error *ret_err);
        /* Bring an arena within reach, the own memory to be written, that of another device to be read. Own: *ret_base is
         * given back with unmap(); the descriptor stays the caller's. */
        enum pw_status (*map)(struct pw_exec_device *device, const struct pw_arena *arena, uint8_t **ret_base,
                              struct pw_error *ret_err);
        void (*unmap)(struct pw_exec_device *device, uint8_t *base, uint64_t bytes);
        enum pw_status (*zero)(struct pw_exec_device *device, uint8_t *to, uint64_t bytes, struct pw_error *ret_err);
        /* Of a value that is whole, to memory of the processor: it is there at the return.   Blocks: until then, not for what is
         * under way. */
        enum pw_status (*copy_out)(struct pw_exec_device *device, void *to, const uint8_t *from, uint64_t bytes,
                                   struct pw_error *ret_err);
        enum pw_status (*copy_box)(struct pw_exec_device *device, const struct pw_box_move *move, struct pw_error *ret_err);
        /* Errors: also PW_UNSUPPORTED (there is no such reduction). */
        enum pw_status (*reduce_box)(struct pw_exec_device *device, const struct pw_box_move *move, enum pw_op op,
                                     struct pw_error *ret_err);
        /* Have the device reach memory of the processor by itself, whole pages, until unpin(): they do not move, and stay its
         * own when their file gives them back. Where it does, copies of what lies there are faster. False: it does not, as a device
         * that needs none of that, or whose driver cannot.   Blocks: while pages are looked up, 60 ms for 1 GiB. */
        bool (*pin)(struct pw_exec_device *device, uint8_t *base, uint64_t bytes, bool writable);
        /* What pin() was given, once nothing that was asked for reads or writes there.   Blocks: 20 ms for 1 GiB. */
        void (*unpin)(struct pw_exec_device *device, uint8_t *base, uint64_t bytes);
};

/* The pin() and unpin() of a device to which all memory of the processor is alike. */
bool pw_memory_pins_nothing(struct pw_exec_device *device, uint8_t *base, uint64_t bytes, bool writable);
void pw_memory_unpins_nothing(struct pw_exec_device *device, uint8_t *base, uint64_t bytes);

/* Rooms in memory of the processor, whose addresses are its own. */
extern const struct pw_device_memory pw_memory_host;

#endif
