#!/bin/sh
# pipeline on a private daemon: what it finds, and that it finds the same whatever the quota.
# shellcheck source=examples/common/daemon.sh
. "${PW_SRC:?}/examples/common/daemon.sh"

for quota in 1 2 4; do
        timeout 120 "$PW_BUILD/examples/pipeline/pipeline" --data examples/digits/digits.csv.gz --quota "$quota" >"$work/$quota" 2>&1 ||
                { cat "$work/$quota"; bad "pipeline --quota $quota: exit $?"; }
        grep -qE '^0\.9[5-9][0-9]* of 360 rows' "$work/$quota" || bad "$(tail -n 1 "$work/$quota")"
        cmp "$work/1" "$work/$quota" || bad "a quota of $quota gives other classes"
done
well
