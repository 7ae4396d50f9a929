#!/bin/sh
# Every header compiles alone, and twice; the public ones as plain C11 and as C++ too.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

includes="-I. -Ibase -Ilibclient -I$PW_BUILD -I$PW_BUILD/wire"

# compile HEADER COMMAND...
compile() {
        header=$1
        shift
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
finish
