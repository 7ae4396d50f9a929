#!/bin/sh
# No two folders, at any level, define the same function, or the same struct, union or enum tag. What is static is its file's own, and
# so is a tag without pw_ that a .c defines. A table's kinds define the one type that they fill, in one folder.
# Tests stand in for functions of the product, and are not looked at.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# Known, and why.
cat >"$work/known" <<'END'
function/main every program has one
END

# Prints a line for each definition: kind and name, folder, place. A function begins in the first column and its body does too, or
# stands in the same line.
# shellcheck disable=SC2046
awk '
        function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
        FNR == 1 { head = "" }
        /^(struct|union|enum) [a-z_0-9]+ \{/ {
                if (FILENAME ~ /\.h$/ || $2 ~ /^pw_/) print "tag/" $2, folder(FILENAME), FILENAME ":" FNR
                next
        }
        /^(typedef|static) / && !(/^static inline / && FILENAME ~ /\.h$/) { head = ""; next }
        /^[A-Za-z_].*\(/ && !/;[ ]*$/ { head = $0; at = FNR }
        head != "" && (/^\{$/ || /\{.*\}( *\/\*.*\*\/)?$/) {
                name = head
                sub(/\(.*/, "", name)
                sub(/.*[ *]/, "", name)
                if (name ~ /^[a-z_0-9]+$/ && name != "__attribute__") print "function/" name, folder(FILENAME), FILENAME ":" at
                head = ""
        }' $(sources '*.[ch]' | grep -vE '^(tests|examples)/|_test\.[ch]$') >"$work/defined"
[ "$(wc -l <"$work/defined")" -gt 1000 ] || bad "few definitions were found: is this check still right?"

awk '
        FILENAME == known { if (NF) excused[$1] = 1; next }
        { places[$1] = places[$1] " " $3 }
        !(($1, $2) in seen) { seen[$1, $2] = 1; folders[$1]++ }
        END {
                for (name in folders) if (folders[name] > 1 && !(name in excused)) print name ": defined in several folders:" places[name]
                for (name in excused) if (folders[name] < 2) print name ": defined in one folder, and excused in tests/check/names.sh"
        }' known="$work/known" "$work/known" "$work/defined" | sort >"$work/out"
all_bad "$work/out"
finish
