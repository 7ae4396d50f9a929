/* How much of everything there is. */
#include "store/parts.h"

static bool count_object(void *context, const struct pw_object_row *row)
{
        struct pw_store_counts *counts = context;
        uint32_t state = pw_word_state(row->word);

        counts->refs += row->refs;
        if (state == PW_ENTRY_PENDING)
                counts->pending++;
        else if (state == PW_ENTRY_READY)
                counts->ready++;
        else
                counts->failed++;
        return true;
}

void pw_store_count(struct pw_store *store, struct pw_store_counts *ret_counts)
{
        *ret_counts = (struct pw_store_counts){ 0 };
        pw_store_each_object(store, count_object, ret_counts);
}

uint64_t pw_store_names(const struct pw_store *store)
{
        return store->names.count;
}

uint64_t pw_store_puts_waiting(const struct pw_store *store)
{
        uint64_t count = 0;

        for (const struct pw_list *node = store->queue.next; node != &store->queue; node = node->next)
                count++;
        return count;
}
