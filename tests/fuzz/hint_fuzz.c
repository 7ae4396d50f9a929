/* The hint page of a tenant as one of its clients leaves it: any counts, any bells; and notes that a dead waiter left. Who rings,
 * waits or clears up comes back in time, a count is never taken below 0, and what a waiter counted it takes back. */
#include "plane/control.h"
#include "plane/wide.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

struct scene {
        struct pw_hint_page page;
        struct pw_entry entry;
        _Atomic uint64_t notes[PW_NOTES_MAX];
        _Atomic uint32_t life;
};

static void scribble(struct scene *scene, struct fuzz_bytes *bytes)
{
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);
        uint32_t at = (uint32_t)fuzz_take(bytes, 2);
        uint64_t any = fuzz_take(bytes, shape & 4 ? 8 : 1);

        if ((shape & 3) == 0)
                atomic_store(&scene->page.waiters[at % PW_HINT_BUCKETS], (uint32_t)any);
        else if ((shape & 3) == 1)
                atomic_store(&scene->page.bells[at % PW_HINT_BELLS], (uint32_t)any);
        else if ((shape & 3) == 2)
                atomic_store(&scene->notes[at % PW_NOTES_MAX],
                             shape & 8 ? any : pw_note_make(shape >> 4 & 3, at % (PW_HINT_BUCKETS + 2), 1, (uint32_t)any));
        else
                atomic_store(&scene->entry.word, any << (shape >> 4));
}

/* Counts under the one that was there, or none: nothing wraps. */
static void forget(struct scene *scene)
{
        static uint32_t before[PW_HINT_BUCKETS];
        struct pw_hint_marks marks = { .wide = 0 };

        memcpy(before, (void *)scene->page.waiters, sizeof before);
        pw_hint_forget(&scene->page, scene->notes, PW_NOTES_MAX, &marks);
        pw_hint_forget_wide(&scene->page, &marks);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                assert(atomic_load(&scene->page.waiters[i]) <= before[i]);
        for (uint32_t i = 0; i < PW_NOTES_MAX; i++)
                assert(!atomic_load(&scene->notes[i]));
}

/* Deadlines are over: every wait looks, counts itself, takes that back. */
static void wait_for(struct scene *scene, struct fuzz_bytes *bytes)
{
        struct pw_wait_place place = { &scene->page, scene->notes, &scene->life, 0 };
        struct pw_wait_item item = { &scene->entry, (uint32_t)fuzz_take(bytes, 1), 1, (uint32_t)fuzz_take(bytes, 1), false };
        struct pw_wide wide;

        (void)pw_wait_any(&place, &item, 1, 1);
        pw_wide_begin(&wide, &place, fuzz_take(bytes, 8), &item);
        pw_wide_arm(&wide);
        (void)pw_wide_sleep(&wide, pw_now_ns() + 1000);
        pw_wide_end(&wide);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        struct fuzz_bytes bytes = { data, count };
        static struct scene scene;

        memset((void *)&scene, 0, sizeof scene);
        while (bytes.left) {
                uint8_t op = (uint8_t)fuzz_take(&bytes, 1);

                if (op % 8 < 5)
                        scribble(&scene, &bytes);
                else if (op % 8 == 5)
                        forget(&scene);
                else if (op % 8 == 6)
                        wait_for(&scene, &bytes);
                else
                        (void)pw_hint_wake(&scene.page, &scene.entry, 1, op);
        }
        forget(&scene);
        return 0;
}
