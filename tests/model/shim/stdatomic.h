/* <stdatomic.h> for code that runs under the explorer: before each operation another thread may be
 * chosen, and what it read becomes part of the reader's history. Found before the compiler's header by the order of -I alone, so
 * the sources under test are those of the product, unchanged. The orders are ignored: one thread runs at a time.
 * tests/model/orders.sh holds that the product's protocol operations are sequentially consistent, which is what this stands for. */
#ifndef PW_MODEL_STDATOMIC_H
#define PW_MODEL_STDATOMIC_H

#include_next <stdatomic.h>

#include "tests/model/point.h"

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_fetch_or
#undef atomic_fetch_and

#ifdef __clang__
#define MODEL_LOAD(place) __c11_atomic_load(place, __ATOMIC_SEQ_CST)
#define MODEL_STORE(place, value) __c11_atomic_store(place, value, __ATOMIC_SEQ_CST)
#define MODEL_MODIFY(operation, place, value) __c11_atomic_##operation(place, value, __ATOMIC_SEQ_CST)
#define MODEL_SWAP(place, expected, value)                                                                             \
        __c11_atomic_compare_exchange_strong(place, expected, value, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#else
#define MODEL_LOAD(place) __atomic_load_n(place, __ATOMIC_SEQ_CST)
#define MODEL_STORE(place, value) __atomic_store_n(place, value, __ATOMIC_SEQ_CST)
#define MODEL_MODIFY(operation, place, value) MODEL_MODIFY_##operation(place, value, __ATOMIC_SEQ_CST)
#define MODEL_MODIFY_exchange __atomic_exchange_n
#define MODEL_MODIFY_fetch_add __atomic_fetch_add
#define MODEL_MODIFY_fetch_sub __atomic_fetch_sub
#define MODEL_MODIFY_fetch_or __atomic_fetch_or
#define MODEL_MODIFY_fetch_and __atomic_fetch_and
#define MODEL_SWAP(place, expected, value)                                                                             \
        __atomic_compare_exchange_n(place, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#endif

#define model_op(place, operation) __extension__ ({                                                                    \
        __auto_type model_place = (place);                                                                             \
        model_point(model_place);                                                                                      \
        __auto_type model_value = operation;                                                                           \
        model_read(model_place, (uint64_t)model_value);                                                                \
        model_value; })
#define model_change(place, operation) __extension__ ({                                                                \
        __auto_type model_changed = (place);                                                                           \
        __auto_type model_before = model_op(model_changed, operation);                                                 \
        model_wrote(model_changed);                                                                                    \
        model_before; })
#define atomic_load(place) model_op(place, MODEL_LOAD(model_place))
#define atomic_store(place, value)                                                                                     \
        ((void)model_change(place, (MODEL_STORE(model_place, (value)), 0)))
#define atomic_exchange(place, value) model_change(place, MODEL_MODIFY(exchange, model_place, (value)))
#define atomic_fetch_add(place, value) model_change(place, MODEL_MODIFY(fetch_add, model_place, (value)))
#define atomic_fetch_sub(place, value) model_change(place, MODEL_MODIFY(fetch_sub, model_place, (value)))
#define atomic_fetch_or(place, value) model_change(place, MODEL_MODIFY(fetch_or, model_place, (value)))
#define atomic_fetch_and(place, value) model_change(place, MODEL_MODIFY(fetch_and, model_place, (value)))
#define atomic_compare_exchange_strong(place, expected, value) __extension__ ({                                        \
        __auto_type model_expected = (expected);                                                                       \
        __auto_type model_swapped = (place);                                                                           \
        bool model_done = model_op(model_swapped, MODEL_SWAP(model_place, model_expected, (value)));                   \
        if (model_done)                                                                                                \
                model_wrote(model_swapped);                                                                            \
        else                                                                                                           \
                model_read(model_swapped, (uint64_t)*model_expected);                                                  \
        model_done; })
#define atomic_compare_exchange_weak(place, expected, value) atomic_compare_exchange_strong(place, expected, value)

#define atomic_load_explicit(place, order) atomic_load(place)
#define atomic_store_explicit(place, value, order) atomic_store(place, value)
#define atomic_exchange_explicit(place, value, order) atomic_exchange(place, value)
#define atomic_compare_exchange_strong_explicit(place, expected, value, good, bad)                                     \
        atomic_compare_exchange_strong(place, expected, value)
#define atomic_compare_exchange_weak_explicit(place, expected, value, good, bad)                                       \
        atomic_compare_exchange_strong(place, expected, value)

#endif
