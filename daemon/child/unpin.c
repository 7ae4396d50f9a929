/* Who has pages registered, what he is asked, and what he answered. */
#include "daemon/child/unpin.h"

#include "base/memory.h"
#include "daemon/child/child.h"

static bool joins(const struct pw_unpin_pages *before, const struct pw_unpin_pages *pages)
{
        return before->file == pages->file && before->offset + before->bytes == pages->offset;
}

static void keep(struct pw_child_unpins *unpins, const struct pw_unpin_pages *pages)
{
        if (unpins->all)
                return;
        if (unpins->count && joins(&unpins->pages[unpins->count - 1], pages))
                unpins->pages[unpins->count - 1].bytes += pages->bytes;
        else if (unpins->count == PW_UNPIN_MOST)
                unpins->all = true;
        else
                unpins->pages[unpins->count++] = *pages;
}

static void ask(struct pw_child *child, uint64_t number, const struct pw_unpin_pages *pages)
{
        struct pw_children *children = &child->daemon->children;
        bool is_first = child->unpins.told == child->unpins.asked;

        child->unpins.asked = number;
        keep(&child->unpins, pages);
        if (!is_first)
                return; /* it was told that there is something, and has not asked yet */
        atomic_fetch_add(&children->islands[child->island].board->leaving[child->number], 1);
        pw_bells_ring_one(children->bells, child->number);
}

void pw_child_unpin_may(struct pw_daemon *daemon, uint32_t device, uint64_t file)
{
        struct pw_child *child = &daemon->children.all[device];
        struct pw_child_unpins *unpins = &child->unpins;

        if (unpins->any_file)
                return;
        unpins->any_file = unpins->files.count >= PW_UNPIN_FILES || !pw_table_put(&unpins->files, file, child);
        if (!unpins->any_file)
                return;
        pw_table_done(&unpins->files);
        unpins->files = (struct pw_table){ 0 };
}

static bool may_have(const struct pw_child *child, uint64_t file)
{
        return child->board && atomic_load(&child->board->pins) &&
               (child->unpins.any_file || pw_table_get(&child->unpins.files, file));
}

struct pw_unpin_asked pw_children_unpin(struct pw_daemon *daemon, const struct pw_unpin_pages *pages)
{
        struct pw_unpin_asked asked = { 0, 0 };

        for (uint32_t i = 0; daemon->children.all && i < daemon->device_count; i++) {
                struct pw_child *child = &daemon->children.all[i];
                if (!may_have(child, pages->file))
                        continue;
                asked.number = asked.number ? asked.number : ++daemon->children.unpins;
                asked.devices |= UINT64_C(1) << i;
                ask(child, asked.number, pages);
        }
        return asked;
}

bool pw_children_unpinned(const struct pw_daemon *daemon, const struct pw_unpin_asked *asked)
{
        for (uint64_t rest = asked->devices; rest; rest &= rest - 1)
                if (daemon->children.all[__builtin_ctzll(rest)].unpins.answered < asked->number)
                        return false;
        return true;
}

static void answered(struct pw_child *child, uint64_t upto)
{
        if (upto <= child->unpins.answered)
                return;
        child->unpins.answered = upto;
        child->daemon->children.unpin_answers++;
        child->daemon->loop.more = true;
}

const struct pw_child_unpins *pw_child_unpinned(struct pw_daemon *daemon, uint32_t device, uint64_t upto)
{
        struct pw_child *child = &daemon->children.all[device];

        answered(child, pw_min_u64(upto, child->unpins.told));
        return &child->unpins;
}

static void told(struct pw_child *child)
{
        child->unpins.count = 0;
        child->unpins.all = false;
        child->unpins.told = child->unpins.asked;
}

void pw_child_unpin_told(struct pw_daemon *daemon, uint32_t device) { told(&daemon->children.all[device]); }

void pw_child_unpin_none(struct pw_child *child)
{
        if (child->board)
                atomic_store(&child->board->pins, 0);
        pw_table_done(&child->unpins.files);
        child->unpins.files = (struct pw_table){ 0 };
        child->unpins.any_file = false;
        told(child);
        answered(child, child->unpins.asked);
}
