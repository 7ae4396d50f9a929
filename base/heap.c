/* A binary heap: no item has a lesser key than the one above it, at half its place. */
#include "base/heap.h"

#include "base/memory.h"

#define CAPACITY_KEPT 64u

static void put_at(struct pw_heap *heap, uint32_t place, struct pw_heap_item *item)
{
        heap->items[place - 1] = item;
        item->place = place;
}

/* To where it belongs between `place` and the top. */
static void lift(struct pw_heap *heap, uint32_t place, struct pw_heap_item *item)
{
        for (; place > 1 && heap->items[place / 2 - 1]->key > item->key; place /= 2)
                put_at(heap, place, heap->items[place / 2 - 1]);
        put_at(heap, place, item);
}

/* To where it belongs at or below `place`, or above it. */
static void settle(struct pw_heap *heap, uint32_t place, struct pw_heap_item *item)
{
        while (place <= heap->count / 2) {
                uint32_t below = place * 2;

                if (below < heap->count && heap->items[below]->key < heap->items[below - 1]->key)
                        below++;
                if (heap->items[below - 1]->key >= item->key)
                        break;
                put_at(heap, place, heap->items[below - 1]);
                place = below;
        }
        lift(heap, place, item);
}

void pw_heap_done(struct pw_heap *heap)
{
        free(heap->items);
        *heap = (struct pw_heap){ 0 };
}

bool pw_heap_add(struct pw_heap *heap, struct pw_heap_item *item, uint64_t key)
{
        if (heap->count == heap->capacity &&
            !pw_grow((void **)&heap->items, &heap->capacity, heap->count + 1, sizeof(struct pw_heap_item *)))
                return false;
        item->key = key;
        lift(heap, ++heap->count, item);
        return true;
}

void pw_heap_move(struct pw_heap *heap, struct pw_heap_item *item, uint64_t key)
{
        item->key = key;
        settle(heap, item->place, item);
}

/* A heap that was large once gives its places back. */
static void shrink(struct pw_heap *heap)
{
        uint32_t capacity = heap->capacity / 2;
        struct pw_heap_item **items;

        if (heap->capacity <= CAPACITY_KEPT || heap->count >= heap->capacity / 8)
                return;
        items = realloc(heap->items, capacity * sizeof(struct pw_heap_item *));
        if (!items)
                return;
        heap->items = items;
        heap->capacity = capacity;
}

void pw_heap_remove(struct pw_heap *heap, struct pw_heap_item *item)
{
        uint32_t place = item->place;
        struct pw_heap_item *last;

        if (!place)
                return;
        last = heap->items[--heap->count];
        item->place = 0;
        if (last != item)
                settle(heap, place, last);
        shrink(heap);
}
