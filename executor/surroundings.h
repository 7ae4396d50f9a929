/* What the launch loop asks of its surroundings: the daemon in pathways-executor, plain functions in tests.
 *
 * Threads: called from the launching thread.   Blocks: segment(), rooms() and module() may wait for an answer, doorbell() never.
 */
#ifndef PW_EXECUTOR_SURROUNDINGS_H
#define PW_EXECUTOR_SURROUNDINGS_H

#include "plane/segment.h"

/* A segment of a device, and the heads of its rooms. apart: the rooms lie in the device's arena, which stays mapped, and their
 * addresses are those of its memory's table (device/memory.h). */
struct pw_rooms_map { struct pw_map rooms, heads; bool apart; };
/* A segment of host memory; and where it lies: in which memfd (pw_memfd_file()), from where on. */
struct pw_host_map { struct pw_map map; uint64_t file, offset; };

/* Pages of a memfd that are to be given back once the device has let go of them. */
struct pw_leaving_pages { uint64_t file, offset, bytes; };
#define PW_LEAVING_MAX 64u
/* upto: the daemon's number of the last that this has. all: more than can be said, so all that is pinned. */
struct pw_leaving { uint64_t upto; bool all; uint32_t count; struct pw_leaving_pages pages[PW_LEAVING_MAX]; };

/* A value of the own device that is to be copied to host memory; and what became of that. */
struct pw_wanted_value { uint64_t token, from_offset, bytes, to_offset; uint32_t from_segment, to_segment; };
struct pw_fetched { uint64_t token; struct pw_error err; }; /* status PW_OK: it is there */
#define PW_FETCHES_MAX 64u

struct pw_surroundings {
        void *context;
        /* Map segment `segment` of host memory, to read. Own: the caller unmaps. Errors: what the daemon says. */
        enum pw_status (*segment)(void *context, uint32_t segment, struct pw_host_map *ret_map, struct pw_error *ret_err);
        /* The same of a device, both writable if it is the own one. */
        enum pw_status (*rooms)(void *context, uint32_t segment, struct pw_rooms_map *ret_map, struct pw_error *ret_err);
        /* Ask which segments were mapped and are no more: gone() tells it. NULL: there are none. */
        void (*ask_gone)(void *context);
        /* Segments that were mapped and are no more, one by one, as the answers up to now said: false when all were told. Nothing
         * of them is used by what is ordered. NULL: there are none. */
        bool (*gone)(void *context, uint32_t *ret_segment);
        /* Say which values were fetched, and be told which are to be: at most PW_FETCHES_MAX. Returns how many; UINT32_MAX: it
         * could not be asked, and nothing was heard. NULL: there are none.   Blocks: for the answer. */
        uint32_t (*fetches)(void *context, const struct pw_fetched *fetched, uint32_t count, struct pw_wanted_value *ret_tasks);
        /* Say that nothing is pinned any more of what was to leave up to number `upto`, and be told what else is. False: it could
         * not be asked, and nothing was heard. NULL: there is none.   Blocks: for the answer. */
        bool (*leaving)(void *context, uint64_t upto, struct pw_leaving *ret_leaving);
        /* Open version `digest` of module `name`. Own: the caller closes *ret_fd. Errors: PW_NOT_FOUND, what the daemon says. */
        enum pw_status (*module)(void *context, const char *name, uint64_t digest, int *ret_fd, struct pw_error *ret_err);
        /* End the process if its way to the daemon was closed: asked where a function ran for the first time, which is to blame
         * then. NULL: there is none. */
        void (*detached)(void *context);
        /* The daemon sleeps and has something to read on the boards. */
        void (*doorbell)(void *context);
};

#endif
