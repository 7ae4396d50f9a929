#!/bin/sh
# No line above 132 columns; no .c or .cu above 500 lines; no header above 250 (the public ones excepted); no function above 80. No folder
# with more than 25 files at one level, besides its README.md and local.mk.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

is_public() { case " $public_headers " in *" $1 "*) true ;; *) false ;; esac; }

for file in $(sources '*.c' '*.h' '*.cu' '*.cuh'); do
        lines=$(wc -l <"$file")
        case $file in
        *.c | *.cu) limit=500 ;;
        *) limit=250 ;;
        esac
        [ "$lines" -le "$limit" ] || is_public "$file" || bad "$file: $lines lines, at most $limit"
done

# base/ has small things that know nothing of each other.
full_folders='base'
# shellcheck disable=SC2086
find $folders -type d | sort >"$work/folders"
while IFS= read -r folder; do
        case " $full_folders " in *" $folder "*) continue ;; esac
        files=$(find "$folder" -maxdepth 1 -type f ! -name README.md ! -name local.mk | wc -l)
        [ "$files" -le 25 ] || bad "$folder: $files files at one level, at most 25"
done <"$work/folders"

# shellcheck disable=SC2046
LC_ALL=C.UTF-8 grep -nE '^.{133,}' $(sources '*.c' '*.h' '*.cu' '*.cuh') | cut -d: -f1,2 | sed 's/$/: a line of more than 132 columns/' >"$work/out"
all_bad "$work/out"

# A body begins with a brace alone in the first column and ends likewise.
# shellcheck disable=SC2046
awk '
        FNR == 1 { begin = 0 }
        /^\{$/ { begin = FNR }
        /^\}$/ && begin {
                if (FNR - begin - 1 > 80) print FILENAME ":" begin ": a function of " FNR - begin - 1 " lines, at most 80"
                begin = 0
        }' $(sources '*.c' '*.h' '*.cu' '*.cuh') >"$work/out"
all_bad "$work/out"
finish
