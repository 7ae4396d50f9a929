/* What comes first: a binary heap of items that lie in other structs, by a key such as a time. Adding, removing and taking the
 * first cost the logarithm of the count, wherever in the order the item is. One owner; no locks.
 */
#ifndef PW_BASE_HEAP_H
#define PW_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: in no heap. */
struct pw_heap_item { uint64_t key; uint32_t place; /* in `items`, from 1 on; 0: in no heap */ };
/* Zeroed: empty. */
struct pw_heap { struct pw_heap_item **items; uint32_t count, capacity; };

void pw_heap_done(struct pw_heap *heap); /* frees the places, not the items */
/* `item` is in no heap. False: out of memory, nothing changed. */
bool pw_heap_add(struct pw_heap *heap, struct pw_heap_item *item, uint64_t key);
void pw_heap_move(struct pw_heap *heap, struct pw_heap_item *item, uint64_t key); /* it is in the heap: under another key */
void pw_heap_remove(struct pw_heap *heap, struct pw_heap_item *item); /* nothing, if it is in no heap */
static inline struct pw_heap_item *pw_heap_first(const struct pw_heap *heap) /* with the least key; NULL: empty */
{
        return heap->count ? heap->items[0] : 0;
}
static inline uint64_t pw_heap_first_key(const struct pw_heap *heap) { return heap->count ? heap->items[0]->key : UINT64_MAX; }

#endif
