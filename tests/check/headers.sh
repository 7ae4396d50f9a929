#!/bin/sh
# Every header compiles alone, and twice; the public ones as plain C11 and as C++ too.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

includes="-I. -Ibase -Ilibclient -I$PW_BUILD -I$PW_BUILD/wire"

# compile HEADER COMMAND...
compile() {
        header=$1
        shift
        # shellcheck disable=SC2086
        printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
                "$@" -fsyntax-only -Wall -Wextra -Werror $includes - >"$work/out" 2>&1 || {
                bad "$header: $*"
                head -n 10 "$work/out"
        }
}

# CC may hold options.
# shellcheck disable=SC2086
for header in $(sources '*.h'); do
        compile "$header" $CC -std=gnu11 -D_GNU_SOURCE -x c
done
# shellcheck disable=SC2086
for header in $public_headers; do
        compile "$header" $CC -std=c11 -pedantic -x c
        [ -z "${CHECK_CXX-}" ] || compile "$header" $CHECK_CXX -std=c++11 -x c++
done

# The words that are macros in C are there in C++ too, and evaluate what they are given once.
cat >"$work/words.cc" <<'END'
#include "pathways.h"
static_assert(PW_DIMS(2, 3u, uint64_t{ 4 }).rank == 3 && PW_DIMS(2, 3).dim[1] == 3 && PW_SCALAR.rank == 0, "dims");
static_assert(PW_SPLIT(1).axis[0].dim == 1 && PW_PARTIAL(PW_MAX).axis[0].op == PW_MAX && PW_BROADCAST.axis[1].layout == PW_LAYOUT_BROADCAST, "layouts");
static_assert(PW_SHARDING(PW_AXIS_BROADCAST, PW_AXIS_SPLIT(1)).axis[1].layout == PW_LAYOUT_SPLIT, "two axes");
pw_status words(pw_program *program, pw_slice *slice, pw_future *&future, unsigned dim)
{
        pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(dim, 3), PW_SPLIT(dim), PW_DONATED);
        pw_result(program, PW_AS(pw_call(program, slice, "m/f", PW_ARGS(x, x), PW_SPLIT(0)), PW_BROADCAST));
        pw_result(program, pw_call(program, slice, "m/g", PW_NO_ARGS, PW_SHARDING(PW_AXIS_SPLIT(0), PW_AXIS_PARTIAL(PW_SUM))));
        pw_status status = pw_run(program, PW_NO_FUTURES, &future, nullptr);
        return status == PW_OK ? pw_run(program, PW_FUTURES(pw_donate(&future)), &future, nullptr) : status;
}
END
if [ -n "${CHECK_CXX-}" ]; then
        for standard in c++11 c++17 c++20; do
                # shellcheck disable=SC2086
                $CHECK_CXX -std=$standard -pedantic -fsyntax-only -Wall -Wextra -Werror $includes "$work/words.cc" >"$work/out" 2>&1 || {
                        bad "the words of pathways.h in $standard:"
                        head -n 10 "$work/out"
                }
        done
fi
finish
