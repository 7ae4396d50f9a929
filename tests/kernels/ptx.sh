#!/bin/sh
# The PTX that lies beside each .cu is what nvcc makes of it, and ptxas takes it for GPUs old and new. Who builds has neither: `make ptx`
# (this script with --write) is for who changes a .cu.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# tool NAME: where it is, or nothing.
tool() { PATH=$PATH:/usr/local/cuda/bin command -v "$1" || true; }
nvcc=$(tool nvcc)
ptxas=$(tool ptxas)
release=$([ -z "$nvcc" ] || "$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')

# make_ptx FILE.cu: its PTX. The first line says whose; other comments name builds and tools, and names that are static say in which
# folder it was made. What the code needs of the language of PTX, and so of a driver, is less than what nvcc says: CUDA 11.7, without a hint of 12.3.
make_ptx() {
        "$nvcc" -ptx -arch=compute_75 -fmad=false -I. -Ibase -Ilibclient -o "$work/ptx" "$1" >"$work/out" 2>&1 || {
                bad "nvcc does not take $1:"
                cat "$work/out"
                return 1
        }
        printf '// %s by nvcc %s\n' "${1##*/}" "$release"
        sed -E -e '/^\/\//d' -e '/^\t\.pragma "used_bytes_mask /d' -e 's/^\.version .*/.version 7.7/' \
                -e 's/_INTERNAL_[0-9a-f]{8}_([0-9]+_[a-z_]+_cu_)[0-9a-f]{8}/_INTERNAL_00000000_\100000000/g' "$work/ptx" | cat -s
}

for source in $(sources '*.cu'); do
        ptx=${source%.cu}.ptx
        if [ "${1-}" = --write ]; then
                [ -n "$nvcc" ] || { echo "nvcc is not installed"; exit 1; }
                make_ptx "$source" >"$work/new" && cp "$work/new" "$ptx"
        elif [ ! -e "$ptx" ]; then
                bad "$source has no $ptx"
        elif [ -n "$nvcc" ] && head -1 "$ptx" | grep -q " by nvcc $release\$"; then
                make_ptx "$source" >"$work/new"
                cmp -s "$work/new" "$ptx" || bad "$ptx is not what nvcc makes of $source: make ptx"
        fi
        [ -n "$ptxas" ] || continue
        for arch in sm_75 sm_90; do
                "$ptxas" -arch=$arch -o /dev/null "$ptx" >"$work/out" 2>&1 || {
                        bad "ptxas does not take $ptx for $arch:"
                        head -n 10 "$work/out"
                }
        done
done
others=$(sources '*.ptx' | xargs -r -n1 head -1 | sed 's/.* by //' | grep -vx "nvcc $release" | sort -u | tr '\n' ' ')
[ -z "$nvcc" ] || [ -z "$others" ] || echo "nvcc is $release, another made what is there: $others. Not compared."
[ -n "$nvcc" ] || echo "nvcc is not installed: not compared"
[ -n "$ptxas" ] || echo "ptxas is not installed: not assembled"
[ -n "$nvcc$ptxas" ] || [ "$wrong" != 0 ] || exit 77
finish
