#!/bin/sh
# digits on a private daemon: the accuracy, the same losses on 1, 2 and 4 devices, the same bits twice, the hidden layer, and
# nothing left over afterwards.
# shellcheck source=examples/common/daemon.sh
. "${PW_SRC:?}/examples/common/daemon.sh"

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
same_losses one two 1400
same_losses one four 1400
digits hidden --devices 4 --hidden 16 --epochs 40
grep -qE '^accuracy 0\.(89|9)' "$work/out" || bad "hidden layer, accuracy: $(tail -n 1 "$work/out")"
well
