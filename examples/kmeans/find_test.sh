#!/bin/sh
# kmeans on a private daemon: distances that only fall, the same on 1, 2 and 4 devices, the same bits twice, clusters that are digits.
# shellcheck source=examples/common/daemon.sh
. "${PW_SRC:?}/examples/common/daemon.sh"

# kmeans NAME OPTION...: keeps the distances in NAME.
kmeans() {
        name=$1
        shift
        timeout 120 "$PW_BUILD/examples/kmeans/kmeans" --data examples/digits/digits.csv.gz --loss-file "$work/$name" "$@" >"$work/out" 2>&1 ||
                { cat "$work/out"; bad "kmeans $*: exit $?"; }
}

kmeans one --devices 1
grep -qE '^0\.(7|8|9)[0-9]+ of the rows' "$work/out" || bad "$(tail -n 1 "$work/out")"
awk 'NR > 1 && $1 > last + 1e-12 { exit 1 } { last = $1 }' "$work/one" || bad "the distances grow"
kmeans two --devices 2 --islands 2
kmeans four --devices 4
kmeans again --devices 4
cmp "$work/four" "$work/again" || bad "the same program gives other bits"
same_losses one two 40
same_losses one four 40
well
