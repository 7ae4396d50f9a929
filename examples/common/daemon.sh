# For the tests of the examples, which source it: a private pathwaysd of four emulated devices in two islands, or of what $devices
# says, with the modules of the tree; ends with the test. Sets PATHWAYS_SOCKET.
# shellcheck shell=sh source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

pid=
trap '[ -z "$pid" ] || kill "$pid"; wait; rm -rf "$work"' EXIT
mkfifo "$work/ready"
"$PW_BUILD/daemon/pathwaysd" --run-dir "$work/run" --state-dir "$work/state" --executor "$PW_BUILD/executor/pathways-executor" \
        --modules "$PW_BUILD/executor/.libs" --modules "$PW_BUILD/examples/digits/.libs" --modules "$PW_BUILD/examples/kmeans/.libs" \
        --modules "$PW_BUILD/examples/tensor/.libs" --modules "$PW_BUILD/examples/pipeline/.libs" --devices "${devices:-emulated:4}" --islands 2 \
        ${driver:+--cuda-driver "$driver" --no-nccl} --host-memory 512MiB --device-memory 32MiB --ready-fd 3 3>"$work/ready" 2>"$work/log" &
pid=$!
if ! read -r line <"$work/ready"; then
        : "${line=}"
fi
[ -S "$work/run/pathwaysd.sock" ] || { cat "$work/log"; bad "pathwaysd did not start"; finish; }
export PATHWAYS_SOCKET="$work/run/pathwaysd.sock"

# same_losses ONE OTHER COUNT: both files have COUNT numbers, and those differ by 1e-5 of the larger at most.
same_losses() {
        paste "$work/$1" "$work/$2" | awk -v count="$3" '{ d = $1 - $2; m = $1 > 1 ? $1 : 1; if (d > 1e-5 * m || d < -1e-5 * m) exit 1; n++ }
                END { if (n != count) exit 1 }' || bad "the losses of $2 are not those of $1"
}

# Nothing is left over.
well() {
        [ "$("$PW_BUILD/cli/pathways" memory | tail -n 1)" = "unaccounted 0" ] || bad "memory does not add up"
        "$PW_BUILD/cli/pathways" check || bad "pathways check"
        finish
}
