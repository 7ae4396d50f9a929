#!/bin/sh
# The functions in the synopses of libpathways(3) and pathways-module(3) are declared like that in the public headers.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

{
        printf '#include "pathways.h"\n#include "pathways_module.h"\n'
        awk '
                function unquote(text) { gsub(/^"|"$/, "", text); return text }
                function arguments(text,   list, more) {
                        while (match(text, /"[^"]*"|[^ "]+/)) {
                                list = list more unquote(substr(text, RSTART, RLENGTH)); more = ", "
                                text = substr(text, RSTART + RLENGTH)
                        }
                        return list
                }
                /^\.Sh / { synopsis = $2 == "SYNOPSIS" }
                !synopsis { next }
                /^\.Ft / { type = unquote(substr($0, 5)) }
                /^\.Fn / { name = $2; rest = substr($0, length($1 " " $2) + 2)
                           print type " " name "(" (rest == "" ? "void" : arguments(rest)) ");" }
                /^\.Fo / { name = $2; list = more = "" }
                /^\.Fa / && name { list = list more arguments(substr($0, 5)); more = ", " }
                /^\.Fc/ { print type " " name "(" list ");"; name = "" }' man/libpathways.3 man/pathways-module.3
} >"$work/synopses.c"
grep -q '^enum pw_status pw_put(' "$work/synopses.c" || bad "pw_put is not in the synopsis of libpathways(3)"
# shellcheck disable=SC2086
$CC -std=gnu11 -fsyntax-only -Wall -Werror -Ibase -Ilibclient "$work/synopses.c" >"$work/out" 2>&1 || {
        bad "the synopses do not compile with the headers:"
        cat "$work/out"
}
finish
