#!/bin/sh
# What processes share is changed by sequentially consistent operations, but for those that orders.txt names; there is no
# free-standing fence. The models in tests/model stand on it.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# shellcheck disable=SC2046
grep -HE 'memory_order_(relaxed|consume|acquire|release|acq_rel)' $(sources '*.[ch]' | grep -E '^(plane|store|daemon)/' | grep -v '_test\.') |
        sed -E 's/^([^:]*):[ ]*/\1 /' | sort -u >"$work/there" || true
grep -v '^#' tests/check/lists/orders.txt | sort -u >"$work/allowed"
same 'the sources (weaker than sequentially consistent)' "$work/there" tests/check/lists/orders.txt "$work/allowed"
# shellcheck disable=SC2046
grep -nE '(atomic_thread_fence|__sync_synchronize)' $(sources '*.[ch]') >"$work/fences" || true
sed -i '/tests\/check/d; s/$/: a free-standing fence/' "$work/fences"
all_bad "$work/fences"
finish
