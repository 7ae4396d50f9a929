#!/usr/bin/env bash
# What `make check` tries in small numbers, tried in full ones: hours. `make soak` builds everything and runs it in the build tree.
#   tests/soak.sh [NAME...]   only these lines of the table below
# SCALE=10 divides the counts by ten. Each line is a program, the variable that says how often, and the full count; what a program
# prints last is shown, a failure shows all of it. PW_SEED replays a seed. Times are strict: PW_SLACK is 1 unless it is set.
set -uo pipefail
build=${PW_BUILD:?run it by \`make soak\`}
scale=${SCALE:-1}
export PW_SLACK=${PW_SLACK:-1}
export PW_WATCHDOG=${PW_WATCHDOG:-14400}
failed=0

table='
kills      tests/integration/fault/kills_test     PW_KILLS           1000
holders    tests/attack/memory/holders_test       PW_HOLDERS         1000
bells      tests/attack/session/doorbell_test     PW_DOORBELL_RUNS   10000
kept       tests/attack/work/programs_kept_test   PW_PROGRAMS_KEPT   1000
starts     tests/integration/host/starts_test     PW_STARTS          100
steps      tests/integration/fault/steps_test     PW_STEPS           0
torture    tests/integration/fault/torture_test   PW_FAULTS          0
vandals    tests/integration/client/vandal_test   PW_VANDALS         1000
models     tests/model/model                      PW_MODELS          0
world      tests/world/world_test                 PW_WORLD_SEEDS     10000
hosts      tests/world/hosts/hosts_test           PW_WORLD_SEEDS     10000
hostile    tests/world/hosts/hostile_test         PW_WORLD_SEEDS     10000
pipelines  tests/world/pipeline_test              PW_WORLD_SEEDS     10000
shares     tests/integration/client/share_test   PW_SHARE_US        20000000
links      cluster/link/link_seeds_test           PW_LINK_SEEDS      20000
borrowing  tests/world/cluster/borrow_world_test  PW_BORROW_SEEDS    10000
exchange   tests/integration/cluster/fault_test PW_EXCHANGE        200
cuts       tests/integration/cluster/cut_test PW_CUTS              400
silence    tests/integration/cluster/cut_test PW_CUT_US            60000000
forgets    tests/integration/cluster/forget_test PW_FORGETS       150
handed     tests/integration/cluster/handing_test PW_HANDED         1000000
pulls      tests/world/cluster/pull_world_test    PW_PULL_SEEDS      20000
names      store/name/name_world_test             PW_NAME_SEEDS      100000
clients    tests/integration/client/clients_test  PW_CLIENTS         10000
comings    tests/integration/client/clients_test  PW_COMINGS         10000
chains     tests/integration/work/lanes_test      PW_CHAINS          300
overlaps   tests/integration/work/nccl_channels_test PW_OVERLAPS    10000
puts       tests/integration/object/churn_test    PW_PUTS            100000000
objects    tests/integration/object/churn_test    PW_OBJECTS         5000000
rooms      tests/program/rooms_test               PW_ROOMS_PROGRAMS  10000
'

wanted() {
        local name
        [ $# -gt 1 ] || return 0
        for name in "${@:2}"; do [ "$name" = "$1" ] && return 0; done
        return 1
}

# PROGRAM VARIABLE COUNT LOG. Worlds are played by a process of each core, a share of the seeds each.
play() {
        local program=$1 variable=$2 count=$3 log=$4 shares=1 share pids=() bad=0
        [ "$variable" != PW_WORLD_SEEDS ] || shares=$(nproc)
        count=$(((count + shares - 1) / shares))
        for ((share = 0; share < shares; share++)); do
                env "$variable=$count" PW_WORLD_SKIP=$((share * count)) "$build/$program" >"$log.$share" 2>&1 &
                pids+=($!)
        done
        for share in "${!pids[@]}"; do
                wait "${pids[share]}" || bad=1
                cat "$log.$share"
                rm "$log.$share"
        done >"$log"
        return "$bad"
}

while read -r name program variable count; do
        [ -n "$name" ] && wanted "$name" "$@" || continue
        log=$build/tests/soak-$name.log
        [ "$count" = 0 ] || count=$(((count + scale - 1) / scale)) # 0: all there are
        SECONDS=0
        if play "$program" "$variable" "$count" "$log"; then
                printf '%-10s good after %5d s  %s\n' "$name" "$SECONDS" "$(grep -v '^\[' "$log" | tail -n 1)"
        else
                failed=1
                grep -v "^seed " "$log" | tail -n 60
                printf '%-10s FAILED after %5d s  %s=%s %s\n' "$name" "$SECONDS" "$variable" "$count" "$log"
        fi
done <<<"$table"
exit "$failed"
