#!/bin/bash
# Each row of the four mutations.sh changes the source that it names: one that does not any more is found here, in a second, and not
# when `make mutations` comes to it.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# applies ROWS FILE WHAT SED...: sed and its arguments change the file.
applies() {
        rows=$1 file=$2 what=$3
        shift 3
        count=$((count + 1))
        if [ ! -f "$file" ]; then
                bad "$rows: '$what': there is no $file"
        elif sed "$@" "$file" | cmp -s - "$file"; then
                bad "$rows: '$what' does not apply to $file any more"
        fi
}

# each ROWS: of that file, by the function `mutate` that stands now.
each() {
        count=0
        eval "$(sed -n '/^mutate /,/^\[ /{/^\[ /!p}' "$1")"
        [ "$count" -gt 10 ] || bad "$1: $count rows"
}

mutate() { applies tests/model/mutations.sh "$2" "$4" -e "$3"; }
each tests/model/mutations.sh

mutate() {
        case $1 in
        store/*|tests/*) applies tests/world/mutations.sh "$1" "$3" -E -e "$2" ;;
        *) applies tests/world/mutations.sh "scheduler/$1" "$3" -E -e "$2" ;;
        esac
}
each tests/world/mutations.sh

mutate() { applies tests/world/cluster/mutations.sh "cluster/$1" "$3" -E -e "$2"; }
each tests/world/cluster/mutations.sh

mutate() { applies tests/gpu/mutations.sh "$1" "$3" -E -e "$2"; }
each tests/gpu/mutations.sh
finish
