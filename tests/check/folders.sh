#!/bin/sh
# Includes and calls between the folders of daemon/ run one way, from who asks to who is asked, and none reaches for the state of one
# above it. Prints the circles of files inside folders as well, which are no error.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# Who asks comes first; folders of one line may ask each other. Of the files of daemon/ itself those named below are of the loop, and the
# others `tools`, which everyone uses. daemon.h is the state that all share: nobody's.
cat >"$work/order" <<'END'
loop
http
inspect/why inspect/trace inspect
client client/object
settings
work work/shape
peer peer/name peer/page peer/pull
memory memory/fetch memory/freezer
module
child
device
board
meta meta/redis
transport/stream transport/proof transport
session
tools
END
loop='daemon effect main'

# The place of each file: file, folder. daemon.h has none.
sources '*.[ch]' | grep '^daemon/' | grep -v '_test\.[ch]$' | awk -v loop=" $loop " '
        $1 == "daemon/daemon.h" { next }
        { path = substr($1, 8) }
        path ~ /\// { sub(/\/[^\/]*$/, "", path); print $1, path; next }
        { sub(/\.[ch]$/, "", path); print $1, index(loop, " " path " ") ? "loop" : "tools" }' >"$work/places"
awk 'FILENAME == ARGV[1] { for (i = 1; i <= NF; i++) known[$i] = 1; next } !($2 in known) { print $1 ": " $2 " has no place in the order" }' \
        "$work/order" "$work/places" >"$work/out"
all_bad "$work/out"

cut -d' ' -f1 "$work/places" >"$work/files"
# shellcheck disable=SC2046
grep -HoE '^#include "daemon/[^"]+"' $(cat "$work/files") | sed -E 's/^([^:]*):#include "(.*)"$/\1 \2/' >"$work/includes"
[ "$(wc -l <"$work/includes")" -gt 100 ] || bad "few includes were found: is this check still right?"

# Functions that a file defines: name, file. One that stands in a header as well is the same place's.
# shellcheck disable=SC2046
awk '/^(static|typedef) / && !(/^static inline / && FILENAME ~ /\.h$/) { next }
     /^[a-z].*[ *]pw_[a-z_0-9]+\(/ && !/;[ ]*$/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); print name, FILENAME }' \
        $(cat "$work/files") | sort -u >"$work/defined"
[ "$(wc -l <"$work/defined")" -gt 200 ] || bad "few functions were found: is this check still right?"
cut -d' ' -f1 "$work/defined" | sort -u >"$work/functions"
# Comments name functions too, and a struct may have the name of one: calls and tables of functions are what is left.
grep '\.c$' "$work/files" | while IFS= read -r file; do
        declarations "$file" | sed -E 's/(struct|union|enum) pw_[a-z_0-9]+//g' | grep -owFf "$work/functions" | sort -u | sed "s|^|$file |" || true
done >"$work/calls"

awk '
        FILENAME == ARGV[1] { for (i = 1; i <= NF; i++) rank[$i] = FNR; next }
        FILENAME == ARGV[2] { place[$1] = $2; next }
        FILENAME == ARGV[3] { home[$1] = place[$2]; next }
        FILENAME == ARGV[4] { if ($2 in place && rank[place[$1]] > rank[place[$2]]) print $1 ": includes " $2; next }
        $2 in home && rank[place[$1]] > rank[home[$2]] { print $1 ": " place[$1] " calls " $2 " of " home[$2] }
' "$work/order" "$work/places" "$work/defined" "$work/includes" "$work/calls" | sort -u >"$work/against"
all_bad "$work/against"

# What a folder has is in a struct of its own, a field of struct pw_daemon: those below do not reach for it. The operator's words and
# the environment are there for all. Fields: name, file of the struct.
sed -n '/^struct pw_daemon {/,/^};/s/^        struct \(pw_[a-z_]*\) \([a-z_]*\);.*/\1 \2/p' daemon/daemon.h | while read -r type field; do
        # shellcheck disable=SC2046
        home=$(grep -lE "^struct $type \{" $(cat "$work/files") | head -1)
        case "$field" in settings | environment) ;; *) [ -z "$home" ] || printf '%s %s\n' "$field" "$home" ;; esac
done >"$work/owners"
[ "$(wc -l <"$work/owners")" -ge 6 ] || bad "few owners were found: is this check still right?"
grep '\.c$' "$work/files" | while IFS= read -r file; do
        declarations "$file" | grep -oE 'daemon(->|\.)[a-z_]+' | sed -E 's/.*(->|\.)//' | sort -u | sed "s|^|$file |" || true
done >"$work/uses"
awk '
        FILENAME == ARGV[1] { for (i = 1; i <= NF; i++) rank[$i] = FNR; next }
        FILENAME == ARGV[2] { place[$1] = $2; next }
        FILENAME == ARGV[3] { home[$1] = place[$2]; next }
        $2 in home && rank[place[$1]] > rank[home[$2]] { print $1 ": " place[$1] " reaches for what " home[$2] " has: " $2 }
' "$work/order" "$work/places" "$work/owners" "$work/uses" | sort -u >"$work/reaching"
all_bad "$work/reaching"

# Circles inside a folder: x.c and x.h are one file there. A line names the files that reach each other.
awk '
        function noun(path) { sub(/\.[ch]$/, "", path); return path }
        FILENAME == ARGV[1] { place[$1] = $2; next }
        $2 in place && place[$1] == place[$2] && noun($1) != noun($2) { reach[noun($1), noun($2)] = 1; node[noun($1)]; node[noun($2)] }
        END {
                for (k in node) for (i in node) if ((i, k) in reach) for (j in node) if ((k, j) in reach) reach[i, j] = 1
                for (i in node) if ((i, i) in reach) {
                        first = i
                        for (j in node) if ((i, j) in reach && (j, i) in reach && j < first) first = j
                        circle[first] = circle[first] " " i
                }
                for (i in circle) print "circle:" circle[i]
        }' "$work/places" "$work/includes" | sort
finish
