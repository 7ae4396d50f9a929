#!/bin/bash
# Takes one rule of executors of GPUs out at a time, and shows that a test over the fakes notices. Each row: what was taken out, and
# the test that said so; some tests show it by not coming to an end. Run by `make mutations`, which hands over CC, GPU_CPPFLAGS and
# GPU_LIBS, with paths from the top of the source tree.
set -u
: "${PW_SRC:?}" "${PW_BUILD:?}" "${CC:?}" "${GPU_CPPFLAGS:?}" "${GPU_LIBS:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$PW_BUILD/tests/conformance/mutated"' EXIT
chmod 755 "$work" # executors of another user
missed=''

# build TEST: with what is mutated, an executor for it; or itself, where it is one of conformance. $program is the test then.
build() {
        local objects="$PW_BUILD/executor/main.o" made=$work/executor libs=$GPU_LIBS
        program=$PW_BUILD/tests/integration/$1
        if [ "${1#conformance/}" != "$1" ]; then
                objects="$PW_BUILD/tests/$1.o $(printf "$PW_BUILD/tests/integration/%s.o " gpus group harness listed others trace)"
                program=$PW_BUILD/tests/conformance/mutated # it finds its build by where it lies
                made=$program libs="$GPU_LIBS -lcmocka -lm"
        fi
        $CC $objects "$work/mutated.o" "$PW_BUILD/executor/.libs/libexecutor.a" $libs -o "$made"
}

# mutate FILE SED WHAT TEST [VARIABLE=VALUE...]: with the executor that is built of this, the test must fail.
mutate() {
        local file=$1 edit=$2 what=$3 test=$4 said= status=0
        shift 4
        sed -E -e "$edit" "$PW_SRC/$file" >"$work/mutated.c"
        if cmp -s "$PW_SRC/$file" "$work/mutated.c"; then
                said='does not apply any more'
        elif ! (cd "$PW_SRC" && $CC $GPU_CPPFLAGS -std=gnu11 -O1 -w -c "$work/mutated.c" -o "$work/mutated.o") || ! build "$test"; then
                said='does not build'
        else
                for _ in 1 2 3; do # what is a matter of time may not happen on a processor that others take
                        [ "$status" != 0 ] || env PW_EXECUTOR="$work/executor" PW_WATCHDOG=20 "$@" timeout 60 "$program" >"$work/said" 2>&1 ||
                                status=$?
                done
                case $status in
                0) said='holds all the same' ;;
                77) said='is not tried' ;;
                esac
        fi
        if [ -z "$said" ]; then
                printf 'PASS: %-58s %-24s %s\n' "$what" "$test" "$(sed -nE '/^\[  FAILED  \] [a-z_0-9]+$/{s/.* //p;q}' "$work/said")"
        else
                printf 'FAIL: %-58s %-24s %s\n' "$what" "$test" "$said"
                missed+=" '$what'"
        fi
}

mutate executor/gang/flight.c 's/^                else if \(launch->given.kind->done\(launch->given.handle, &end\)\)$/                else if (launch->given.kind->done(launch->given.handle, \&end) || (end = (struct pw_device_end){ PW_OK, PW_GUARD_WHOLE, 0 }, true))/' \
        'done is said at launch' work/runs_test PW_GPUS=peer
mutate executor/gang/flight.c 's/^        return pw_gang_look_again\(.*$/        return pw_gang_fault(\&flight->gang, PW_OK);/' \
        'no second look when a copy has ended' work/late_gpus_test
mutate executor/gang/gang_joint.c '/^static bool channel_is_common/,/^}/s/!= first\)/!= first \&\& !first)/' \
        'a communicator is kept that others lack' work/nccl_test
mutate executor/launch.c 's/^                struct pw_order order = order_read\(&board->log\[launch->next % PW_ORDER_LOG\]\);/                uint64_t at = (launch->next ^ (launch->given.device \& 1)) <= head ? launch->next ^ (launch->given.device \& 1) : launch->next;\n                struct pw_order order = order_read(\&board->log[at % PW_ORDER_LOG]);/; s/run_gang\(launch, &order, launch->next\);/run_gang(launch, \&order, at);/' \
        'devices take gangs in an order of their own' work/nccl_channels_test
mutate executor/gang/gang_joint.c '/^struct pw_room_head pw_gang_joint/,/^}/s/^                given->collective->abort\(given->joints\);$/                ;/' \
        'what was begun is not aborted' work/nccl_test
mutate executor/gang/gang_joint.c '/^static bool has_left/,/^}/{s/^        uint64_t failed = .*$/        uint64_t failed = 0;/;s/^        if \(has_ended.*$/        if (0)/}; s/^                if \(fault.status == PW_OK \&\& now_ns - .*$/                if (0) {/' \
        'the end of a member is not looked for' work/nccl_test
mutate executor/collective/nccl.c 's/^        while \(collective->channel_count >= collective->params.channels\)$/        while (0)/' \
        'communicators over the limit stay' work/nccl_channels_test
mutate executor/collective/nccl.c 's/^        memory_deregister\(collective, channel\);$//' \
        'memory stays registered where a communicator is closed' work/nccl_channels_test
mutate executor/collective/nccl.c '/^static enum pw_status nccl_poll/,/^}/s/^                collective->failures = 0;$//' \
        'failures count though some were made between' work/nccl_channels_test
mutate executor/collective/nccl.c '/^static enum pw_status nccl_begin/,/^}/s/^        pw_list_(remove|append)\(.*$//' \
        'the communicator that was made first goes' work/nccl_channels_test
mutate executor/collective/nccl.c 's/1 \+ PW_NCCL_I32/1 + PW_NCCL_U32/' \
        'numbers below zero go to NCCL without a sign' work/sums_test
mutate executor/collective/nccl.c 's/id, \(int\)joint->rank, &config/id, (int)(joint->seq \& 1 ? joint->rank_count - 1 - joint->rank : joint->rank), \&config/' \
        'ranks of a communicator have no order of their own' work/sums_test
mutate executor/device/cuda/cuda_memory.c '/^static uint32_t divisible_axis/,/^}/s/axis = 0;/axis = 0; return 0;/' \
        'a part is halved along an axis of one' work/late_gpus_test
mutate executor/device/cuda/cuda_calls.c 's/^        if \(call->zeroes\)$/        if (0)/' \
        'rooms of another tenant are not zeroed' work/fetches_test PW_GPUS=peer
mutate executor/gang/gang_rooms.c 's/^                if \(!pw_residue_is\(.*$/                if (0)/' \
        'a room of another tenant is not zeroed' client/residue_test
mutate executor/gang/gang_rooms.c 's/^                if \(!pw_residue_is\(.*$/                if (1)/' \
        'a room is zeroed for who had it last' client/residue_test
mutate executor/gang/gang_rooms.c 's/launch->given.is_used \? PW_RESIDUE_UNKNOWN : /launch->given.is_used \? launch->segments.first_apart : /' \
        'what lay there before the executor is a tenant'"'"'s' client/residue_test
mutate executor/gang/gang_rooms.c '/^void pw_gang_rooms_forget/,/^}/s/^                pw_residue_set\(.*$/                ;/' \
        'a call that was not launched zeroed its rooms' client/residue_test
mutate executor/gang/gang_rooms.c 's/^                pw_residue_touch\(.*$/                ;/' \
        'what a function wrote behind its room is nobody'"'"'s' client/residue_test
mutate executor/gang/gang_rooms.c 's/^                        zeroes \|= .*$/                        zeroes |= i < 63 ? pw_device_call_bit(i) : 0;/' \
        'rooms of a call behind the 63rd are not zeroed' client/residue_test
mutate executor/gang/gang_transfer.c 's/^        \(void\)pw_gang_rooms_take\(gang\);$//' \
        'nobody remembers whose a sum is' client/residue_test
mutate executor/gang/gang_move.c 's/^        \(void\)pw_gang_rooms_take\(gang\);$//' \
        'nobody remembers who was loaded last' client/residue_test
mutate executor/device/cuda/cuda_guard.c 's/^                        fill\(device, &looks, part.ended, .*$/                        looks.number = turn->ended.to;/' \
        'guards are not looked at' work/cuda_test
mutate executor/device/cuda/cuda_guard.c 's/^                        fill\(device, &looks, part.ended, .*$/                        looks.batch.to = looks.number + 1;\n&/' \
        'of calls that end together one is looked at' conformance/kin_test
mutate executor/device/cuda/cuda_guard.c '/^static bool is_apart/,/^}/s/^                        return false;$/                        return true;/' \
        'guards are set over what is yet to be read' conformance/kin_test
mutate executor/device/cuda/cuda_calls.c '/^uint64_t pw_cuda_next_ns/,/^}/s/^        pw_cuda_flush\(device\);$//' \
        'calls are kept while the launching thread sleeps' conformance/kin_test
mutate executor/device/cuda/cuda_calls.c '/^static bool may_join/,/^}/s/call->kin != first->kin/0/' \
        'calls of different runs end together' conformance/kin_test
mutate executor/device/cuda/cuda_calls.c '/^static void hurry/,/^}/s/^                pw_cuda_flush\(device\);$/                ;/' \
        'calls that nobody follows are kept' conformance/kin_test
mutate executor/device/cuda.c 's/^        if \(pw_cuda_is_sticky\(result\)\)$/        if (pw_cuda_is_sticky(result))\n                return PW_OK;\n        if (0)/' \
        'an error that sticks does not end the executor' work/cuda_test
mutate executor/device/cuda/cuda_calls.c 's/^        uint32_t fault = pw_guard_end_fault\(word\);$/        uint32_t fault = 0;/' \
        'what a kernel says is not heard' work/cuda_test
mutate executor/device/cuda/cuda_stage.c '/^static enum pw_status release_oldest/,/^}/s/pw_cuda_check\(device, device->driver->cuEventSynchronize\(oldest->event\), "a copy from the host",$/PW_OK;/; /^static enum pw_status release_oldest/,/^}/s/^ +ret_err\);$//' \
        'pinned memory is written before it was read' work/late_gpus_test
mutate executor/program/segments.c '/^void pw_segments_leave/,/^}/s/^                                pw_pins_drop\(.*$/                                ;/' \
        'pages are given back while they are registered' object/pins_test
mutate executor/gang/gang_joint.c '/^bool pw_gang_is_joint/,/^}/s/^                is = numbers\[i\];$/                numbers[i] += numbers[i] ? 0 : 1000 + i;/' \
        'a member begins though others do not' work/nccl_test
mutate executor/gang/gang_transfer.c 's/^        return !behind \|\| pw_gang_is_value\(.*$/        return true;/' \
        'what was only launched counts as a value' fault/nccl_ahead_test
mutate executor/gang/gang_transfer.c 's/^                pw_wait_done\(gang->launch, source->device, behind\);$/                ;/' \
        'nobody waits for what was only launched' fault/nccl_ahead_test
mutate executor/gang/gang_transfer.c 's/^        bool again = [^;]*;/        bool again = false;/' \
        'who comes again to a gang says that it takes part' fault/nccl_ahead_test
mutate executor/gang/gang.c 's/^                if \(launch->flights \&\& !pw_gang_joint_may\(gang\)\)$/                if (launch->flights)/' \
        'members come when their shard is made' fault/nccl_ahead_test
mutate executor/collective/nccl.c 's/^        pw_cuda_finish\(.*$//' \
        'the end of a call is launched behind what waits for others' fault/nccl_ahead_test
mutate executor/gang/gang.c 's/^        if \(gang->node->role == PW_ROLE_SENDER \&\& pw_flight_send\(gang\)\)$/        if (0)/; s/^                        pw_flights_until\(launch, .*$/                        ;/' \
        'a member sends what is not there yet' work/transfers_test PW_GPUS=peer
mutate executor/gang/flight.c 's/^                if \(serves\) \{$/                if (0) {/' \
        'who waits for its device serves nobody' work/cuda_test
mutate executor/gang/flight.c 's/^        flight->call.launches = launches;$/        ;/' \
        'a function that launches has all the time' work/cuda_test
mutate executor/launch.c 's/^(        atomic_store_explicit\(&launch->own->launching, )seq,/\10,/' \
        'a library that launches has all the time' fault/nccl_hangs_test
mutate executor/gang/gang_joint.c '/^static bool has_ended/,/^}/s/->failed.seq\) >= gang->seq \|\| .*$/->failed.seq) == gang->seq) \&\&/' \
        'that it ended again hides that it ended' fault/nccl_ahead_test
mutate executor/gang/gang_joint.c 's/^        if \(pw_wait_load\(seq\) != gang->seq\)$/        if (seq)/' \
        'nobody gives a joint up' work/nccl_test
mutate executor/device/cuda/cuda_pin.c '/^void pw_cuda_unpin/,/^}/s/^                device->params.lost\(.*$/                return;/' \
        'what stays registered is passed over' object/pins_test
mutate executor/collective/nccl.c '/^static enum pw_status nccl_id/,/^}/s/^                return pw_nccl_error.*$/                ;/' \
        'a failure to make an id is passed over' work/nccl_test

[ -z "$missed" ] || echo "these can go unnoticed:$missed"
[ -z "$missed" ]
