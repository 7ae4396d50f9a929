#!/bin/sh
# The table of statuses by call in libpathways(3) is what tests see: each call of pathways.h that can fail is seen to refuse what is
# wrong (PW_INVALID), and its other statuses of the table are those with which it_fails() expects it to end somewhere, or those that
# outcomes.txt explains. Left out are what any call may end with, and what a future is ready with.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

declarations libclient/pathways.h | tr '\n' ' ' | grep -oE 'PW_MUST_CHECK enum pw_status +pw_[a-z_]+' | sed 's/.* //' | sort -u | grep -v '_sized$' >"$work/calls"
[ -s "$work/calls" ] || bad "no call found in pathways.h"
cat tests/integration/*/*.c | tr '\n' ' ' | sed 's/it_fails(/\n&/g' |
        sed -nE 's/^it_fails\((pw_[a-z_]+)\(.*IT_ERR\), *(PW_[A-Z_]+),.*/\1 \2/p' | sort -u >"$work/seen"
while read -r call; do
        grep -qx "$call PW_INVALID" "$work/seen" || bad "no it_fails($call(...), PW_INVALID, ...) in tests/integration"
done <"$work/calls"

any='PW_OK|PW_INVALID|PW_FORKED|PW_NO_MEMORY|PW_LIMIT|PW_SYSTEM'
ready='PW_CANCELLED|PW_NO_SPACE|PW_TOO_LARGE|PW_SHAPE|PW_GONE|PW_FAILED'
{
        grep -F -w -f "$work/calls" "$work/seen" | grep -vE " ($any)\$|^pw_get(_shard)? ($ready)\$|^pw_relocate (PW_CANCELLED|PW_FAILED)\$" |
                grep -vE '^pw_(c[^o]|[^c]).* PW_DAEMON_GONE$'
        grep -oE '^pw_[a-z_]+ PW_[A-Z_]+' tests/check/lists/outcomes.txt
        echo pw_connect PW_LIMIT
} | sort -u >"$work/tests"
awk '/^\.S[sh] / { inside = /Statuses by call/ }
        inside && /^\.It Fn / { call = $3 }
        inside && call && /^\.Dv / { print call, $2 }' man/libpathways.3 | sort >"$work/manual"
same "tests" "$work/tests" "libpathways(3)" "$work/manual"
while read -r call status file rest; do
        case $file in
        tests/* | libclient/* | store/*) grep -q "$status" "$file" || bad "outcomes.txt: no $status in $file" ;;
        never:) [ -n "$rest" ] || bad "outcomes.txt: $call $status: why?" ;;
        *) bad "outcomes.txt: $call $status: neither a test nor a reason" ;;
        esac
done <<END
$(grep '^pw_' tests/check/lists/outcomes.txt)
END
finish
