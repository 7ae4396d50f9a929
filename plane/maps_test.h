/* For tests: one memfd mapped twice, as two processes would see it.
 */
#ifndef PW_PLANE_MAPS_TEST_H
#define PW_PLANE_MAPS_TEST_H

#include "base/memory.h"
#include "plane/segment.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct maps { void *ours, *theirs; struct pw_map map[2]; };

static inline struct maps maps_new(uint64_t bytes)
{
        pw_auto_close int fd = -1;
        struct maps maps;

        assert_int_equal(pw_memfd_create("test", bytes, &fd, NULL), PW_OK);
        for (int i = 0; i < 2; i++)
                assert_int_equal(pw_map_fd(fd, bytes, true, &maps.map[i], NULL), PW_OK);
        maps.ours = maps.map[0].base;
        maps.theirs = maps.map[1].base;
        assert_ptr_not_equal(maps.ours, maps.theirs);
        return maps;
}

static inline void maps_done(struct maps *maps)
{
        pw_unmap(&maps->map[0]);
        pw_unmap(&maps->map[1]);
}

#endif
