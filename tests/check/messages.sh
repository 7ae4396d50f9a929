#!/bin/sh
# Messages are values: no struct of scheduler/message.h holds a pointer, but for what comes along with one and has no
# fixed size.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

awk '/^struct [a-z_]+ \{/ { in_struct = $2 }
     in_struct != "" && in_struct != "pw_message_pools" && in_struct != "pw_core_body" {
             line = $0
             gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line) # comments in a line
             sub(/\/\*.*$/, "", line)
             if (line ~ /^[ ]*\*/) next                # or over several
             if (line ~ /\*/) print FILENAME ": " in_struct ": " $0
     }
     in_struct != "" && /^\};|\};$/ { in_struct = "" }' scheduler/message.h >"$work/out"
all_bad "$work/out"
[ "$(grep -c '^struct pw_message' scheduler/message.h)" -ge 2 ] || bad "scheduler/message.h: no messages are found"
finish
