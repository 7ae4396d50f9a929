#!/bin/sh
# Messages are values: no struct of scheduler/message.h holds a pointer, nor does one that it is made of, in whatever header. But for
# those that bring along what has no fixed size: what they point at holds none.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

for header in $(sources '*.h' | grep -E '^(base|plane|program|scheduler)/'); do
        printf '#file %s\n' "$header"
        declarations "$header"
done | awk '
        # What stands between the braces of each struct and union with a name, and in which header.
        /^#file / { header = $2; next }
        { text = text " " $0; of[header] = of[header] " " $0 }
        END {
                for (header in of) take(of[header], header)
                split("", waiting)
                text = of["scheduler/message.h"]
                while (match(text, /(struct|union) [a-z_0-9]+ \{/)) {
                        split(substr(text, RSTART, RLENGTH), word, " ")
                        follow(word[2], "scheduler/message.h")
                        text = substr(text, RSTART + RLENGTH)
                        roots++
                }
                if (roots < 8) print "scheduler/message.h: " roots + 0 " structs were found: is this check still right?"
        }
        function take(text, header,    name, word, at, depth, letter) {
                while (match(text, /(struct|union) [a-z_0-9]+ \{/)) {
                        split(substr(text, RSTART, RLENGTH), word, " ")
                        name = word[2]
                        text = substr(text, RSTART + RLENGTH)
                        for (at = depth = 1; depth && at <= length(text); at++) {
                                letter = substr(text, at, 1)
                                depth += (letter == "{") - (letter == "}")
                        }
                        body[name] = substr(text, 1, at - 2)
                        where[name] = header
                }
        }
        function follow(name, from,    text, word) {
                if (name in seen) return
                seen[name] = 1
                if (!(name in body)) { print from ": struct " name " is defined in no header"; return }
                text = body[name]
                if (text ~ /\*/ && name != "pw_message_pools" && name != "pw_core_body")
                        print where[name] ": struct " name ", of a message, holds a pointer"
                while (match(text, /(struct|union) [a-z_0-9]+/)) {
                        split(substr(text, RSTART, RLENGTH), word, " ")
                        follow(word[2], where[name])
                        text = substr(text, RSTART + RLENGTH)
                }
        }' >"$work/out"
all_bad "$work/out"
finish
