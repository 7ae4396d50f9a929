#!/bin/sh
# No .c above 800 lines, no header above 250 (the public ones excepted), no function above 80.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

is_public() { case " $public_headers " in *" $1 "*) true ;; *) false ;; esac; }

for file in $(sources '*.c' '*.h'); do
        lines=$(wc -l <"$file")
        case $file in
        *.c) limit=800 ;;
        *) limit=250 ;;
        esac
        [ "$lines" -le "$limit" ] || is_public "$file" || bad "$file: $lines lines, at most $limit"
done

# A body begins with a brace alone in the first column and ends likewise.
# shellcheck disable=SC2046
awk '
        FNR == 1 { begin = 0 }
        /^\{$/ { begin = FNR }
        /^\}$/ && begin {
                if (FNR - begin - 1 > 80) print FILENAME ":" begin ": a function of " FNR - begin - 1 " lines, at most 80"
                begin = 0
        }' $(sources '*.c' '*.h') >"$work/out"
all_bad "$work/out"
finish
