#!/bin/bash
# Takes one rule of the messages between the cores out of a copy of the scheduler at a time, or of what holds objects out of one of
# the store, or of what late devices have launched out of the world's executors, and shows that a world notices. Each row: what was taken out, and the test that said so. Run by `make mutations`, which
# hands over CC, WORLD_CPPFLAGS, WORLD_CFLAGS, WORLD_SUBJECTS, WORLD_SOURCES and WORLD_LIBS, with paths from the top of the tree.
set -u
: "${PW_SRC:?}" "${CC:?}" "${WORLD_SUBJECTS:?}" "${WORLD_SOURCES:?}" "${WORLD_LIBS:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
missed=0
tests="message_test origin_test refused_test given_up_test reserved_test asked_test believed_test chain_test hosts_test hostile_test world_test"

# source_of TEST...: where each is
source_of() { (cd "$PW_SRC" && for test; do find tests/world -name "$test.c"; done); }

compile() {
        printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c \
                'cd "$0" && $CC $WORLD_CPPFLAGS $WORLD_CFLAGS -w -c "{}" -o "objects/$(echo "{}" | tr / _).o"' "$work"
}
link() {
        (cd "$work" && for test in $tests; do
                case $test in refused_test|reserved_test) wrap=-Wl,--wrap=malloc ;; esac
                # shellcheck disable=SC2046,SC2086
                $CC $WORLD_CFLAGS ${wrap:-} "tests/$test.o" $(find objects -name '*.o') $WORLD_LIBS -o "$test" || exit 1
                wrap=
        done)
}
# plays TEST: does it hold, over devices of kind $kind?
plays() {
        local seeds=4
        case $1 in hosts_test) seeds=300 ;; world_test) seeds=16 ;; esac
        (cd "$work" && PW_WORLD_KIND=$kind PW_WORLD_SEEDS=$seeds timeout 60 "./$1" >said 2>&1)
}
# The first test that does not, in `by`; none: empty. Rules of late executors: world_test, over those.
first_to_fail() {
        by=
        kind=early
        case ${1:-} in
        tests/*)
                for kind in late apart; do
                        plays world_test || { by="world_test, $kind"; return; }
                done
                return ;;
        esac
        for test in $tests; do
                plays "$test" || { by=$test; return; }
        done
}

# mutate FILE SED WHAT: one of the tests must fail.
mutate() {
        local file=$1 edit=$2 what=$3 by=
        case $file in store/*|tests/*) ;; *) file=scheduler/$file ;; esac
        cp "$work/$file" "$work/kept"
        sed -i -E -e "$edit" "$work/$file"
        if cmp -s "$work/kept" "$work/$file"; then
                printf 'FAIL: %-66s does not apply to %s any more\n' "$what" "$file"
                missed=$((missed + 1))
                return
        fi
        if ! compile "$file" || ! link; then
                by="does not build"
        else
                first_to_fail "$file"
        fi
        if [ -n "$by" ] && [ "$by" != "does not build" ]; then
                printf 'PASS: %-66s %s: %s\n' "$what" "$by" "$(sed -nE 's/^\[  FAILED  \] (test_.*)/\1/p' "$work/said" | head -n 1)"
        else
                printf 'FAIL: %-66s %s\n' "$what" "${by:-holds all the same}"
                missed=$((missed + 1))
        fi
        mv "$work/kept" "$work/$file"
        compile "$file"
}

mkdir "$work/objects" "$work/tests.o" || exit 1
(cd "$PW_SRC" && cp -r --parents base plane program store daemon/board libclient scheduler tests "$work") || exit 1
# shellcheck disable=SC2046,SC2086
compile $WORLD_SUBJECTS $WORLD_SOURCES $(source_of $tests) || exit 1
for test in $tests; do
        mv "$work/objects/$(source_of "$test" | tr / _).o" "$work/tests/$test.o"
done
link && first_to_fail && { [ -n "$by" ] || first_to_fail tests/; }
if [ "$?" != 0 ] || [ -n "$by" ]; then
        echo "FAIL: the sources as they are"
        exit 1
fi

mutate coordinator/ahead.c 's/^(                taken->from = NULL;)$/\1 continue;/' 'who took over is not woken when the run ahead is admitted'
mutate coordinator/gather.c 's/^        return live->hosts\[host\].serial == message->serial \&\& /        return /' 'what answers an earlier RESERVE is believed'
mutate coordinator/start.c 's/^        if \(live->hosts\[host\].state != PW_LIVE_HOST_PREPARING\)$/        if (0)/' 'PREPARED is believed twice'
mutate island/host_run.c 's/if \(!is_prepared\(run\) \|\| /if (/' 'a gang is ordered before its records are written'
mutate island/host_run.c 's/ \|\| run->unwritten\)/)/' 'a gang is ordered whose record could not be written'
mutate message.c 's/!pw_core_status\(status\)/!pw_status_known(status)/' 'a message says that it is not ready'
mutate message.c 's/pw_core_status\(le32toh\(input.status\)\)/pw_status_known(le32toh(input.status))/' 'an input is an error that says it is not ready'
mutate deliver.c 's/^        if \(!pw_core_status\(message->status\)\)$/        if (0)/' 'a status that no value has is believed'
mutate island/record.c 's/^                if \(run->fragments\[c\].state == PW_FRAGMENT_RESERVED\)$/                if (0)/' \
        'a host answers when one of the records is written'
mutate coordinator/start.c 's/^        if \(!pw_live_unprepared\(live\)\)$/        if (1)/' 'a run starts when one host has prepared it'
mutate coordinator/start.c 's/if \(!live->stopped \&\& \(maker = unsettled_maker\(live\)\)\)/if (0)/' \
        'a run starts before the records of those it reads are written'
mutate coordinator/result.c 's/^        tell_all\(result, PW_CORE_RELEASE\);//' 'a release is lost'
mutate coordinator/result.c 's/(result->useless) \|\| result->result.users\)/\1)/' 'a result is released while runs that read it are to come'
mutate island/host_result.c 's/(!result->maker \&\& )result->released \&\& (!result->source)/\1\2/' \
        'rooms are given back before they are released'
mutate island/host_result.c 's/!result->maker \&\& (result->released)/\1/' \
        'rooms are given back while their run may write them'
mutate island/host_result.c 's/(result->released) \&\& !result->source/\1/' \
        'rooms are given back while the run whose they were may write them'
mutate island/host_result.c 's/ \&\& !result->read_by;/;/' 'rooms are given back while a run reads them'
mutate island/reserve.c 's/if \(message->serial <= requester->reservations\)/if (0)/' 'a RESERVE is done twice'
mutate coordinator/gather.c 's/^                pw_result_kept\(pw_result_live\(live->run.results\[i\]\), host\);/                ;/' \
        'what is useless before its host has it stays there'
mutate coordinator/gather.c 's/\|\| !answers\(live, host, message\) \|\|$/||/' 'REFUSED is believed twice'
mutate coordinator/gather.c 's/^            message->result != live->hosts\[host\].placed\)/            0)/' 'PLACED is believed twice'
mutate island/loss.c 's/^                if \(!lives\)$/                if (0)/' 'a lost result is told to nobody'
mutate island/loss.c 's/^                        if \(pw_same_device\(pw_room_device.*$/                        if (0)/' \
        'a lost replica is told to nobody'
mutate coordinator/result.c 's/^        if \(open->status != PW_OK\)$/        if (0)/' 'what never was there is lost'
mutate coordinator/result.c 's/^        if \(result->result.status != PW_NOT_READY \|\|/        if (/' 'RESULT decides what was decided'
mutate coordinator/result.c 's/^        if \(--result->untold\)$/        if (0)/' 'a result is decided when one host has it'
mutate coordinator/result.c 's/^        if \(live->told\[bit .*$/        if (0)/' 'RESULT of a host is believed twice'
mutate coordinator/run.c 's/^        if \(live->hosts_in\[PW_LIVE_HOST_DONE\] == .* \{$/        if (1) {/' 'a run is over when it is on one host'
mutate island/host_run.c 's/if \(run->state != PW_HOST_RUN_RESERVED \|\| message->nth <= run->expired\)/if (run->state != PW_HOST_RUN_RESERVED)/' \
        'EXPIRED is believed twice'
mutate island/host_run.c 's/^                pw_admission_leave\(run\);$//' 'a cancelled run stays in the queue'
mutate island/reserve.c 's/^        pw_admission_leave\(run\);$//' 'a run that is overdue stays in the queue'
mutate island/reserve.c 's/ \|\| run->serial != message->serial\)/)/' 'OVERDUE of an earlier RESERVE is believed'
mutate island/requester.c 's/return requester \&\& requester->epoch == run->epoch \? requester : NULL;/return requester;/' 'an epoch is not compared'
mutate island/reserve.c 's/^                \(void\)refuse\(scheduler, message, PW_REFUSED_RESERVED, \&why\);$//' 'who asked wrongly is not answered'
mutate deliver.c 's/^                return PW_NO_MEMORY;$/                return PW_OK;/' 'what could not be said is believed to be said'
mutate scheduler.c 's/^        pw_doomed_fail\(scheduler\);$//' 'who was refused is told nothing'
mutate coordinator/gather.c 's/\(live->at_once \? PW_RESERVE_AT_ONCE : 0\)/0/' 'hosts that are asked together wait'
mutate coordinator/gather.c 's/^                if \(!pw_ahead_first\(live, PW_NODE_NONE\)\)$/                if (1)/' \
        'a run is admitted before the one whose blocks it took over'
mutate coordinator/gather.c 's/^        if \(ahead_of_idle\(live, together\)\)$/        if (0)/' 'a run asks a host before the one whose blocks it took over'
mutate coordinator/gather.c 's/ \|\| live->hosts\[host\].lost\)/)/' 'RESERVED is believed when the rooms are lost'
mutate coordinator/gather.c '/^        \} else \{$/{n;s/give_back\(live, host\)//}' 'a run keeps rooms where the one ahead has none'
mutate coordinator/gather.c 's/^                give_back_rooms\(live\);$/                ;/' 'what others gave is kept when a host has no room'
mutate island/admission.c 's/^                pw_host_run_withdraw\(run\);$/                ;/' 'a run has rooms, and nobody knows'
mutate island/reserve.c 's/^                \(void\)pw_admission_tell\(run\); .*$/                ;/' 'that a run has rooms is said once, whoever heard it'
mutate coordinator/gather.c 's/^                pw_live_doom\(live, wrong.status, wrong.text\);$/                ;/' 'a run waits for a host whose answers are wrong'
mutate coordinator/deadline.c 's/ \|\| is_lost\(live\)\)/)/' 'a run that lost its rooms waits for ever to hear of it'
mutate island/reserve.c 's/^        while \(first_behind\(run\)\) \{$/        while (0) {/' 'who took over keeps blocks that were given back'
mutate island/reserve.c 's/^        if \(message->serial != run->serial\)$/        if (0)/' 'GIVE_BACK of an earlier RESERVE is believed'
mutate island/place.c '/^        pw_chain_undo\(run\);$/{n;s/if \(run->shared\)/if (1)/}' 'a run of one host leaves a list in which it never was'
mutate island/place.c 's/^        source->donated = false;$//' 'what was given back stays donated'
mutate island/place.c 's/^                if \(ahead \&\& waits_elsewhere\(ahead\)\)$/                if (0)/' 'who does not wait takes over from one who does'
mutate island/place.c 's/uncertain\(run->program->scheduler, device, NULL\);/0;/' 'rooms of runs that may give them back are waited for by nobody'
mutate island/admission.c 's/^        if \(run->shared \&\& !run->deferred_told\)$/        if (0)/' 'who waits for what nobody gives back keeps what it has elsewhere'
mutate deliver.c 's/^        if \(!requester \|\| requester->given_up\)$/        if (!requester)/' 'a coordinator that was given up is believed'
mutate deliver.c 's/^        if \(teller \&\& teller->given_up\)$/        if (0)/' 'a host that was given up is believed'
mutate deliver.c 's/^        if \(from != origin\(message\)\)$/        if (0)/' 'who says a message may be anybody'
mutate deliver.c 's/(pw_core_is_answer\(message\)) \|\| message->kind == PW_CORE_NOTICE/\1/' 'a peer says what is ordered here'
mutate port.c 's/^        status = pw_scheduler_may_say\(.*$/        status = PW_OK;/' 'who says PREPARE may be anybody'
mutate island/host_run.c 's/^        if \(!from \|\| !from->next \|\| .*$/        if (!from)/' 'a notice is believed of what is not ordered'
mutate deliver.c 's/^        if \(!has_worked\(.*$/        if (0)/' 'work of a run is believed before its records are written'
mutate deliver.c 's/ state == PW_LIVE_HOST_ASKED \&\& live->stopped \&\& / state == PW_LIVE_HOST_ASKED \&\& /' 'a run is over that was not stopped and has no rooms'
mutate coordinator/result.c 's/^        if \(!has_places\(.*$/        if (/' 'a host tells of results that it does not have'
mutate coordinator/result.c 's/^            \(one \&\& message->place .*$/            0)/' 'a host loses places of others'
mutate coordinator/run.c 's/^                        decide_untold\(live\);$/                        ;/' 'a run ends with a result of which nobody told'
mutate deliver.c 's/^        return kind == PW_CORE_PLACED \? .*$/        return PW_OK;/' 'rooms on the devices of others are believed'
mutate coordinator/gather.c 's/^                if \(room->host != message->host \|\| .*$/                if (/' 'rooms on other devices of a host are believed'
mutate coordinator/gather.c 's/^                    room->bytes < pw_type_shard_bytes.*$/                    0)/' 'rooms are believed that are too small'
mutate island/reserve.c 's/^        if \(!pw_requester_may_number\(.*$/        if (0)/' 'one number is that of two runs'
mutate island/requester.c 's/\(!\(number >> NUMBER_BITS\) \&\& /(/' 'a number is believed that boards cannot tell from those of others'
mutate island/reserve.c 's/^        if \(message->arrival > .*$/        if (0)/' 'a number in the queue is believed that was never given'
mutate island/host_result.c 's/^        if \(result->released\)$/        if (0)/' 'a result is released twice, and with it who has its slot now'
mutate island/input/host_input.c 's/^        if \(input->status != PW_OK \|\| input->is_inline\)$/        if (1)/' 'a peer names memory of this host'
mutate island/input/host_input.c 's/^        if \(!pw_core_status\(input->status\)\)$/        if (0)/' 'an input is an error that is none'
mutate island/input/host_input.c 's/^        if \(result->requester != run->requester\)$/        if (0)/' 'a peer reads the results of others'
mutate island/input/host_input.c 's/^        if \(result->maker \&\& !result->maker->recorded\)$/        if (0)/' 'a peer reads of a run that is not admitted'
mutate island/input/host_input.c 's/^        if \(result->type->value.dtype != .*$/        if (0)/' 'a peer reads what its program was not compiled for'
mutate island/input/host_input.c 's/^                if \(result \&\& result->given \&\& .*$/                if (0)/' 'one value is given away twice by a run'
mutate island/host_run.c 's/RESERVED \|\| run->started \|\| /RESERVED || /' 'INPUT is believed behind START'
mutate island/loss.c 's/^        if \(result->left \&\& !result->maker\)$/        if (0)/' 'a run that is over is told of a loss'
mutate island/record.c 's/^        if \(may_lose_blocks\(run\)\)$/        if (0)/' 'a run is prepared before the one whose blocks it took over'
mutate island/chain.c 's/^        if \(ahead->letting_go != run->letting_go\)$/        if (ahead->letting_go)/' 'blocks that are let go are let go twice'
mutate island/place.c '/^        pw_chain_undo\(run\);/{n;s/if \(run->shared\)/if (1)/}' 'a run of one host is taken for one that waits for others'
mutate coordinator/run.c 's/^        if \(run->sequential \&\& live->host_count > 1\) .*$/        if (0) {/' 'hosts go step by step, each for itself'
mutate island/requester.c 's/^        if \(requester->programs.count\)$/        if (0)/' 'who was given up is back while its runs go on'
mutate island/requester.c 's/^        \(void\)pw_host_stop\(run, \&message.*$//' 'a cancelled run of a lost coordinator is ordered on for its readers'
mutate island/requester.c 's/^                requester->ends_us = now_us \+ AGAIN_US;$/                requester->ends_us = UINT64_MAX;/' 'functions of a lost coordinator are ended once'
mutate coordinator/given_up.c 's/^        leave\(live, host\);$//' 'a run waits for a host that was given up'
mutate coordinator/given_up.c 's/^                live->refused = true;$//' 'a run starts that a lost host had not prepared'
mutate coordinator/given_up.c 's/^                pw_live_stop\(live\);$//' 'a run goes on without one of its hosts'
mutate coordinator/given_up.c 's/^                if \(live->submitted\)$/                if (1)/' 'a run ends with a lost host before it is submitted'
mutate coordinator/gather.c 's/(state == PW_RUN_WAITING) \&\& live->submitted\)/\1)/' 'a run is refused before it is submitted'
mutate coordinator/result.c 's/^        if \(!pw_type_lives_on\(open->type, .*$/        if (0) {/' 'a result is there that no host has any more'
mutate store/name/lease.c 's/^                pw_ref_remove\(store, lease\);$/                pw_heap_remove(\&store->leases, \&lease->lease);/' \
        'a lease that ends keeps its reference'
mutate store/name/lease.c 's/^                        pw_name_end\(store, naming\);$/                        ;/' 'a name outlives its lease'
mutate store/name/name.c 's/return naming \&\& naming->state == PW_NAME_BOUND \? /return naming ? /' 'a name is found before metadata has bound it'
mutate store/name/name.c '/^        \[PW_NAME_BOUND\] =/,/^        \}/s/PW_NAME_ENDING, UNBIND, PW_TELL_NOBODY/PW_NAME_NONE, NOTHING, PW_TELL_DONE/' \
        'a name lets its object go before metadata has ended it'
mutate store/object/transfer.c 's/^        forget_charge\(object\);$//' 'who was charged stays so after a transfer'
mutate store/object/transfer.c 's/^                \(\*ret_ref\)->given = 1;$/                ;/' 'a reference that came by transfer is counted twice'

mutate tests/world/executor/flight.c 's/^        if \(flight->state < DONE\)$/        if (0)/' 'a gang is done when it is launched'
mutate tests/world/executor/flight.c 's/out = world_sources_again\(gang\);/;/' 'what was moved is not looked at again'
mutate tests/world/executor/flight.c '/^static void begin\(/,/^}/s/^                flight->value = .*$/&\n                flight->lost = world_sources_again(gang);/;
s/^        bool same; .*$/&\n        struct world_shard lost;/; s/out = world_sources_again\(gang\);/out = flight->lost;/' \
        'what is moved is looked at again as the copy begins'
mutate tests/world/executor/flight.c 's/^        if \(is_to_be_written\(gang, world_room_of\(gang, PW_IMAGE_AT.*$/        if (0)/' \
        'a mark is said before the shard is readable'
mutate tests/world/executor/flight.c 's/launch\(gang, WORLD_SENDS\)/(world_arrive(gang), launch(gang, WORLD_PASSES))/' \
        'a sender says its mark before its turn'
mutate tests/world/executor/flight.c 's/world_sources_read\(gang, \&all\) \&\& all.status == PW_OK \?/world_sources_read(gang, \&all) ?/' \
        'what is an error is moved'
mutate tests/world/executor/flight.c 's/world_call_ends\(gang, world_call\(gang\)\)/world_call_ends(gang, (struct world_shard){ .status = PW_OK })/' \
        'what a call has computed with is not looked at'
mutate tests/world/executor/sources.c 's/^        if \(marked \&\& !taken \&\& atomic_load.*$/        if (0)/' 'a receiver reads before the mark is there'
mutate tests/world/executor/sources.c '/^struct world_shard world_sources_again/,/^\}/s/^                \(void\)read_source\(.*$/&\n                if (gang->node->phase != PW_PHASE_RECV \&\& gang->seq >= atomic_load(\&gang->world->boards[gang->self->island]->lost_before[world_slice_of(gang, gang->node->source_slice)->places[places[i]].device]))\n                        next.status = PW_OK;/' \
        'who died ahead of the mark that it said has lost nothing'
mutate tests/world/executor/executor.c 's/\(device == gang->self->device \&\& world_is_late\(gang->world\)\)/1/' 'what others have launched counts as done'
mutate tests/world/executor/executor.c 's/!is_done\(gang, shards\[i\].device, shards\[i\].seq\)/!is_before(gang, shards[i].device, shards[i].seq)/' \
        'a load reads what its device has launched and not done'
mutate tests/world/executor/executor.c 's/^        if \(world_flights_count\(self\)\)$/        if (0)/' 'a gang is done at once before those that are under way'

[ "$missed" = 0 ] || echo "$missed missed"
exit "$((missed > 0))"
