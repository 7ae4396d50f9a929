#!/bin/sh
# Includes point one way, and libraries of others come in only where libraries.txt says so.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

cat >"$work/rules" <<'END'
base
plane base
wire base
program base plane
store base plane
scheduler base plane program store
cluster base
daemon base plane wire program store scheduler cluster
libclient base plane wire
executor base plane libclient
cli base libclient
examples
tests base plane wire program store scheduler cluster daemon executor libclient cli examples
END
# Who may include which public header, besides tests and examples. program/ checks what was traced and knows their flags and
# limits by the names that clients and modules use.
cat >>"$work/rules" <<'END'
pathways.h libclient executor cli program
pathways_module.h libclient executor program
pathways_cuda.h executor
END

# $1 file, $2 what it includes, $3 the character before it
# shellcheck disable=SC2016
judge='
function folder(path) { return substr(path, 1, index(path, "/") - 1) }
FILENAME == rules { for (i = 2; i <= NF; i++) allowed[$1, $i] = 1; known[$1] = 1; next }
FILENAME == list { if ($1 != "" && $1 !~ /^#/) for (i = 2; i <= NF; i++) granted[$1, $i] = 1; next }
$3 == "<" {
        library = ""
        if ($2 ~ /^(event2|openssl|hiredis|protobuf-c|systemd|ucp|uct)\//) library = folder($2)
        else if ($2 ~ /^(cuda|nccl|nvml|jansson|ini|zlib|xxhash|ncurses|curses|dlpack)[a-z_0-9]*\.h$/) library = $2
        if (library != "" && !granted[$1, library]) print $1 ": includes <" $2 ">, which libraries.txt does not grant it"
        next
}
{ from = folder($1) }
$2 == "pathways_types.h" { next }
$2 ~ /^pathways(_module|_cuda)?\.h$/ {
        if (from != "tests" && from != "examples" && !allowed[$2, from]) print $1 ": " from " may not include " $2
        next
}
$2 ~ /\.pb-c\.h$/ {
        if (!granted[$1, "protobuf-c"]) print $1 ": includes " $2 ", which libraries.txt does not grant it (protobuf-c)"
        next
}
!(folder($2) in known) { print $1 ": \"" $2 "\" does not begin with a folder of the tree"; next }
from != folder($2) && !allowed[from, folder($2)] { print $1 ": " from " may not include " $2 }
'
# shellcheck disable=SC2046
grep -HnoE '^[ ]*#[ ]*include[ ]*[<"][^>"]+' $(sources '*.[ch]' '*.cu' '*.cuh') |
        sed -E 's/^([^:]*):[0-9]+:[ ]*#[ ]*include[ ]*([<"])(.*)$/\1 \3 \2/' >"$work/includes"
awk -v rules="$work/rules" -v list=tests/check/lists/libraries.txt "$judge" \
        "$work/rules" tests/check/lists/libraries.txt "$work/includes" >"$work/out"
all_bad "$work/out"
finish
