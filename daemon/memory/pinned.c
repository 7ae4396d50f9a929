/* Works of pages that an executor may have registered with its device. That would go on reading pages that were given back, and
 * keep them. So punches wait until all executors have let go of them, and what makes pages in the same place waits behind. */
#include "daemon/memory/worker.h"

#include "daemon/child/child.h"
#include "daemon/memory/backing.h"

struct kept {
        struct pw_list link;
        struct pw_memory_work work;
        struct pw_unpin_asked asked; /* of executors; nothing: it only waits for others */
};

static bool is_near(const struct kept *kept, const struct pw_backing *backing, uint64_t offset, uint64_t bytes)
{
        return kept->work.backing == backing && kept->work.offset < offset + bytes && offset < kept->work.offset + kept->work.bytes;
}

/* One ahead of `before` is of the same pages; NULL: any. */
static bool is_behind(struct pw_daemon *daemon, const struct pw_memory_work *work, const struct kept *before)
{
        const struct kept *kept;

        pw_list_each(&daemon->memory.pinned, kept, struct kept, link) {
                if (kept == before)
                        break;
                if (is_near(kept, work->backing, work->offset, work->bytes) ||
                    (work->from && is_near(kept, work->from, work->from_offset, work->bytes)))
                        return true;
        }
        return false;
}

enum pw_work_way pw_pinned_keep(struct pw_daemon *daemon, const struct pw_memory_work *work)
{
        struct pw_unpin_pages pages = { work->backing->file, work->offset, work->bytes };
        struct pw_unpin_asked asked = { 0, 0 };
        struct kept *kept;

        if (work->punch && !work->unpinned && !work->measure)
                asked = pw_children_unpin(daemon, &pages);
        if (work->unpinned || work->measure || (!asked.number && !is_behind(daemon, work, NULL)))
                return PW_WORK_NOW;
        kept = malloc(sizeof *kept);
        if (!kept)
                return PW_WORK_NEVER;
        *kept = (struct kept){ .work = *work, .asked = asked };
        kept->work.unpinned = true;
        work->backing->leaving_bytes += work->leaving.bytes;
        pw_backing_work(work->backing);
        if (work->from)
                pw_backing_work(work->from);
        pw_list_append(&daemon->memory.pinned, &kept->link);
        return PW_WORK_LATER;
}

static void let_go(struct kept *kept)
{
        kept->work.backing->leaving_bytes -= kept->work.leaving.bytes;
        pw_backing_worked(kept->work.backing);
        if (kept->work.from)
                pw_backing_worked(kept->work.from);
        free(kept);
}

void pw_pinned_turn(struct pw_daemon *daemon)
{
        struct kept *kept;

        if (daemon->memory.unpin_answers == daemon->children.unpin_answers)
                return;
        daemon->memory.unpin_answers = daemon->children.unpin_answers;
        pw_list_each(&daemon->memory.pinned, kept, struct kept, link) {
                if (!pw_children_unpinned(daemon, &kept->asked) || is_behind(daemon, &kept->work, kept))
                        continue;
                pw_list_remove(&kept->link);
                pw_worker_ask(daemon->memory.worker, &kept->work);
                let_go(kept);
        }
}

void pw_pinned_done(struct pw_daemon *daemon)
{
        struct kept *kept;

        pw_list_each(&daemon->memory.pinned, kept, struct kept, link) {
                pw_list_remove(&kept->link);
                pw_unmap(&kept->work.unmap);
                let_go(kept);
        }
}
