#!/bin/sh
# digits on a private daemon: the accuracy, the same losses on 1, 2 and 4 devices, the same bits twice, the hidden layer, and
# nothing left over afterwards.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

pid=
trap '[ -z "$pid" ] || kill "$pid"; wait; rm -rf "$work"' EXIT
mkfifo "$work/ready"
"$PW_BUILD/daemon/pathwaysd" --run-dir "$work/run" --state-dir "$work/state" --executor "$PW_BUILD/executor/pathways-executor" \
        --modules "$PW_BUILD/executor/.libs" --modules "$PW_BUILD/examples/digits/.libs" --devices emulated:4 --islands 2 \
        --host-memory 512MiB --device-memory 32MiB --ready-fd 3 3>"$work/ready" 2>"$work/log" &
pid=$!
if ! read -r line <"$work/ready"; then
        : "${line=}"
fi
[ -S "$work/run/pathwaysd.sock" ] || { cat "$work/log"; bad "pathwaysd did not start"; finish; }
export PATHWAYS_SOCKET="$work/run/pathwaysd.sock"

# digits NAME OPTION...: trains, keeps the losses in NAME.
digits() {
        name=$1
        shift
        timeout 120 "$PW_BUILD/examples/digits/digits" --data examples/digits/digits.csv.gz --loss-file "$work/$name" "$@" >"$work/out" 2>&1 ||
                { cat "$work/out"; bad "digits $*: exit $?"; }
}

digits one --devices 1
grep -qE '^accuracy 0\.9[0-9]+ on 360 rows never trained on$' "$work/out" || bad "accuracy: $(tail -n 1 "$work/out")"
digits two --devices 2 --islands 2
digits four --devices 4
digits again --devices 4
cmp "$work/four" "$work/again" || bad "the same program gives other bits"
for other in two four; do
        paste "$work/one" "$work/$other" | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) exit 1; n++ } END { if (n != 1400) exit 1 }' ||
                bad "the losses on $other devices are not those on one"
done
digits hidden --devices 4 --hidden 16 --epochs 40
grep -qE '^accuracy 0\.(89|9)' "$work/out" || bad "hidden layer, accuracy: $(tail -n 1 "$work/out")"
[ "$("$PW_BUILD/cli/pathways" memory | tail -n 1)" = "unaccounted 0" ] || bad "memory does not add up"
"$PW_BUILD/cli/pathways" check || bad "pathways check"
finish
