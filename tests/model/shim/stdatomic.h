/* <stdatomic.h> for code that runs under the explorer: before each operation another thread may be
 * chosen, and what it read becomes part of the reader's history. Found before the compiler's header by the order of -I alone, so the sources
 * under test are those of the product, unchanged. The orders are ignored: one thread runs at a time. tests/model/orders.sh
 * holds that the product's protocol operations are sequentially consistent, which is what this stands for. */
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

#define model_op(place, operation) __extension__ ({                                                                    \
        __auto_type model_place = (place);                                                                             \
        model_point(model_place);                                                                                      \
        __auto_type model_value = operation;                                                                           \
        model_read(model_place, (uint64_t)model_value);                                                                \
        model_value; })
#define atomic_load(place) model_op(place, __atomic_load_n(model_place, __ATOMIC_SEQ_CST))
#define atomic_store(place, value)                                                                                     \
        ((void)model_op(place, (__atomic_store_n(model_place, (value), __ATOMIC_SEQ_CST), 0)))
#define atomic_exchange(place, value) model_op(place, __atomic_exchange_n(model_place, (value), __ATOMIC_SEQ_CST))
#define atomic_fetch_add(place, value) model_op(place, __atomic_fetch_add(model_place, (value), __ATOMIC_SEQ_CST))
#define atomic_fetch_sub(place, value) model_op(place, __atomic_fetch_sub(model_place, (value), __ATOMIC_SEQ_CST))
#define atomic_fetch_or(place, value) model_op(place, __atomic_fetch_or(model_place, (value), __ATOMIC_SEQ_CST))
#define atomic_fetch_and(place, value) model_op(place, __atomic_fetch_and(model_place, (value), __ATOMIC_SEQ_CST))
#define atomic_compare_exchange_strong(place, expected, value) __extension__ ({                                        \
        __auto_type model_expected = (expected);                                                                       \
        bool model_done = model_op(place, __atomic_compare_exchange_n(model_place, model_expected, (value), false,     \
                                                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));            \
        if (!model_done)                                                                                               \
                model_read(place, (uint64_t)*model_expected);                                                          \
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
