#!/bin/sh
# The functions in the synopses of section 3 are declared like that in the public headers. Each function of pathways.h and
# pathways_types.h is in one synopsis, but pw_..._sized(), which the inline ones call, and the pages of calls are called after the functions that they explain.
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
                /^\.Fc/ { print type " " name "(" list ");"; name = "" }' man/*.3
} >"$work/synopses.c"
declarations base/pathways_types.h libclient/pathways.h | grep -oE '\bpw_[a-z0-9_]+\(' | tr -d '(' | sort -u | grep -v '_sized$' >"$work/header"
for page in man/pw_*.3; do
        awk '/^\.Sh / { part = $2 } part == "SYNOPSIS" && /^\.F[on] / { print $2 }' "$page" | sort >"$work/synopsis"
        awk '/^\.Sh / { part = $2 } part == "NAME" && /^\.Nm / { print $2 }' "$page" | sort >"$work/names"
        same "synopsis of $page" "$work/synopsis" "names of $page" "$work/names"
done
awk '/^\.Sh / { part = $2 } part == "SYNOPSIS" && /^\.F[on] / { print $2 }' man/libpathways.3 man/pw_*.3 | sort >"$work/calls"
same headers "$work/header" "man/*.3" "$work/calls"
# shellcheck disable=SC2086
$CC -std=gnu11 -fsyntax-only -Wall -Werror -Ibase -Ilibclient "$work/synopses.c" >"$work/out" 2>&1 || {
        bad "the synopses do not compile with the headers:"
        cat "$work/out"
}
finish
