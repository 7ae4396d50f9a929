#!/bin/sh
# tensor on a private daemon: the losses of one device on every mesh, also across islands and where units do not divide evenly, the
# same bits twice, and an accuracy.
# shellcheck source=examples/common/daemon.sh
. "${PW_SRC:?}/examples/common/daemon.sh"

# tensor NAME OPTION...: trains, keeps the losses in NAME.
tensor() {
        name=$1
        shift
        timeout 120 "$PW_BUILD/examples/tensor/tensor" --data examples/digits/digits.csv.gz --hidden 30 --loss-file "$work/$name" "$@" \
                >"$work/out" 2>&1 || { cat "$work/out"; bad "tensor $*: exit $?"; }
}

tensor one --epochs 20
grep -qE '^accuracy 0\.(8[5-9]|9)[0-9]* on 360 rows' "$work/out" || bad "$(tail -n 1 "$work/out")"
tensor data --epochs 20 --data-devices 4
tensor columns --epochs 20 --tensor-devices 4 --islands 2
tensor mesh --epochs 20 --data-devices 2 --tensor-devices 2 --islands 2
tensor again --epochs 20 --data-devices 2 --tensor-devices 2 --islands 2
cmp "$work/mesh" "$work/again" || bad "the same program gives other bits"
for other in data columns mesh; do
        same_losses one "$other" 280
done
well
