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

# refused OPTION VALUE SENTENCE: it ends at once, and says what would do.
refused() {
        "$PW_BUILD/examples/digits/digits" "$1" "$2" >"$work/out" 2>&1 && bad "digits $1 $2 passes"
        grep -q "$3" "$work/out" || bad "digits $1 $2: $(cat "$work/out")"
}

refused --epochs 0 '"0" is not a whole number from 1 to'
refused --rate 0 '"0" is not a number above 0 and below 1000000'
refused --data nope 'nope: it cannot be opened: No such file'
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
