#!/bin/sh
# digits on GPUs that are none (tests/fake_cuda): the accuracy, the losses of the processor, the same bits twice, on one and four.
# shellcheck source=examples/common/gpus.sh
. "${PW_SRC:?}/examples/common/gpus.sh"
devices=cuda:4,cpu:4
# shellcheck source=examples/common/daemon.sh
. "$PW_SRC/examples/common/daemon.sh"
trap '[ -z "$pid" ] || kill "$pid"; wait; rm -rf "$work" "$gpus"' EXIT

# digits NAME OPTION...: trains, keeps the losses in NAME.
digits() {
        name=$1
        shift
        timeout 300 "$PW_BUILD/examples/digits/digits" --data examples/digits/digits.csv.gz --loss-file "$work/$name" "$@" >"$work/out" 2>&1 ||
                { cat "$work/out" "$work/log"; bad "digits $*: exit $?"; }
}

digits cpu --device cpu --devices 4
digits cuda --device cuda --devices 4
grep -qE '^accuracy 0\.9[0-9]+ on 360 rows never trained on$' "$work/out" || bad "accuracy: $(tail -n 1 "$work/out")"
digits again --device cuda --devices 4
digits one --device cuda --devices 1
cmp "$work/cuda" "$work/again" || bad "the same program gives other bits"
same_losses cpu cuda 1400
same_losses one cuda 1400
digits hidden --device cuda --devices 4 --hidden 16 --epochs 10
digits hidden_cpu --device cpu --devices 4 --hidden 16 --epochs 10
same_losses hidden hidden_cpu 140
well
