#!/bin/sh
# Integration tests over GPUs of the fake driver, in place of emulated devices: loads, transfers, runs, memory, ends of all kinds.
# PW_KILLS is how many executors and clients are killed. Where reductions go by NCCL they are the fake one's (tests/fake_nccl).
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

export PW_GPUS PW_KILLS="${PW_KILLS:-60}"

# over WAY TEST...: reductions go that way.
over() {
        PW_GPUS=$1
        shift
        for name in "$@"; do
                status=0
                "$PW_BUILD/tests/integration/$name" >"$work/out" 2>&1 || status=$?
                [ $status = 77 ] && { cat "$work/out"; exit 77; }
                [ $status = 0 ] || { cat "$work/out"; bad "$name over GPUs, reducing by $PW_GPUS: exit $status"; }
                grep -E '^all had come forward' "$work/out" || true
        done
}

over peer work/transfers_test work/reductions_test work/runs_test work/pipeline_test work/admission_test work/lanes_test \
        work/apart_test work/fetches_test fault/parts_test fault/kills_test
over nccl work/transfers_test work/reductions_test work/lanes_test fault/kills_test
finish
