#!/bin/sh
# digits on GPUs that are none (tests/fake_cuda): the accuracy and the losses of the processor, the same bits twice, one and four.
# shellcheck source=examples/common/gpus.sh
. "${PW_SRC:?}/examples/common/gpus.sh"
devices=cuda:4,cpu:4
[ "${PW_CUDA_COUNT:-4}" -ge 4 ] || devices=cuda@0,0,0,0,cpu:4
# shellcheck source=examples/common/daemon.sh
. "$PW_SRC/examples/common/daemon.sh"
trap '[ -z "$pid" ] || kill "$pid"; wait; rm -rf "$work" "$gpus"' EXIT

# digits NAME OPTION...: trains, keeps the losses in NAME.
digits() {
        name=$1
        shift
        timeout 900 "$PW_BUILD/examples/digits/digits" --data examples/digits/digits.csv.gz --loss-file "$work/$name" "$@" >"$work/out" 2>&1 ||
                { cat "$work/out" "$work/log"; bad "digits $*: exit $?"; }
}

# Kernels that the processor runs are slow, and with a sanitizer in them slower still.
epochs=100 accuracy='0\.9[0-9]+'
if [ -n "${PW_SMALL-}" ] || grep -qs -- -fsanitize= "$PW_BUILD/config.status"; then
        epochs=10 accuracy='0\.8[0-9]+'
fi
digits cpu --device cpu --devices 4 --epochs $epochs
digits cuda --device cuda --devices 4 --epochs $epochs
grep -qE "^accuracy $accuracy on 360 rows never trained on\$" "$work/out" || bad "accuracy: $(tail -n 1 "$work/out")"
same_losses cpu cuda $((14 * epochs))
head -n 70 "$work/cuda" >"$work/first"
digits again --device cuda --devices 4 --epochs 5
digits one --device cuda --devices 1 --epochs 5
cmp "$work/first" "$work/again" || bad "the same program gives other bits"
same_losses one first 70
digits hidden --device cuda --devices 4 --hidden 16 --epochs 2
digits hidden_cpu --device cpu --devices 4 --hidden 16 --epochs 2
same_losses hidden hidden_cpu 28
well
