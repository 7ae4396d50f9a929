#!/bin/bash
# Takes one rule of the messages between the cores out of a copy of the scheduler at a time, and shows that a world notices. Each row:
# what was taken out, and the test that said so. Run by `make mutations`, which hands over CC, WORLD_CPPFLAGS, WORLD_CFLAGS,
# WORLD_SUBJECTS, WORLD_SOURCES and WORLD_LIBS, with paths from the top of the source tree.
set -u
: "${PW_SRC:?}" "${CC:?}" "${WORLD_SUBJECTS:?}" "${WORLD_SOURCES:?}" "${WORLD_LIBS:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
missed=0
tests="message_test refused_test world_test"

compile() {
        printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c \
                'cd "$0" && $CC $WORLD_CPPFLAGS $WORLD_CFLAGS -w -c "{}" -o "objects/$(echo "{}" | tr / _).o"' "$work"
}
link() {
        (cd "$work" && for test in $tests; do
                [ "$test" != refused_test ] || wrap=-Wl,--wrap=malloc
                # shellcheck disable=SC2046,SC2086
                $CC $WORLD_CFLAGS ${wrap:-} "tests/$test.o" $(find objects -name '*.o') $WORLD_LIBS -o "$test" || exit 1
                wrap=
        done)
}
# plays TEST: does it hold?
plays() { (cd "$work" && PW_WORLD_SEEDS=4 timeout 120 "./$1" >said 2>&1); }
# The first test that does not, in `by`; none: empty.
first_to_fail() {
        by=
        for test in $tests; do
                plays "$test" || { by=$test; return; }
        done
}

# mutate FILE SED WHAT: one of the tests must fail.
mutate() {
        local file=scheduler/$1 edit=$2 what=$3 by=
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
                first_to_fail
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
compile $WORLD_SUBJECTS $WORLD_SOURCES $(printf 'tests/world/%s.c ' $tests) || exit 1
for test in $tests; do
        mv "$work/objects/tests_world_$test.c.o" "$work/tests/$test.o"
done
link && first_to_fail
if [ "$?" != 0 ] || [ -n "$by" ]; then
        echo "FAIL: the sources as they are"
        exit 1
fi

mutate coordinator/ask.c 's/if \(live->run.state != PW_RUN_QUEUED\)/if (0)/' 'RESERVED is believed twice'
mutate coordinator/ask.c 's/ \|\| !\(live->unprepared >> island \& 1\)\) \{/) {/' 'PREPARED of one island is believed twice'
mutate island/host_run.c 's/if \(!is_prepared\(run\)\)/if (0)/' 'a gang is ordered before its records are written'
mutate coordinator/ask.c 's/^        if \(!live->unprepared\)$/        if (1)/' 'a run starts when one of its records is written'
mutate coordinator/ask.c 's/if \(!live->stopped \&\& \(maker = unsettled_maker\(live\)\)\)/if (0)/' \
        'a run starts before the records of those it reads are written'
mutate coordinator/result.c 's/^        tell\(result, PW_CORE_RELEASE\);//' 'a release is lost'
mutate coordinator/result.c 's/\|\| result->result.users\)/)/' 'a result is released while runs that read it are to come'
mutate island/host_result.c 's/return !result->maker \&\& result->released \&\& !result->source;/return !result->maker \&\& !result->source;/' \
        'rooms are given back before they are released'
mutate island/host_result.c 's/return !result->maker \&\& result->released \&\& !result->source;/return result->released \&\& !result->source;/' \
        'rooms are given back while their run may write them'
mutate island/host_result.c 's/return !result->maker \&\& result->released \&\& !result->source;/return !result->maker \&\& result->released;/' \
        'rooms are given back while the run whose they were may write them'
mutate island/reserve.c 's/if \(message->serial <= scheduler->reservations\)/if (0)/' 'a RESERVE is done twice'
mutate coordinator/ask.c 's/^                pw_result_kept\(pw_result_live\(live->run.results\[i\]\)\);/                ;/' \
        'what is useless before its host has it stays there'
mutate coordinator/ask.c 's/^                pw_result_live\(live->run.results\[i\]\)->kept = false;/                ;/' \
        'a refused run releases what its host has not'
mutate coordinator/ask.c 's/\|\| !live->asked \|\|/||/' 'REFUSED is believed twice'
mutate coordinator/ask.c 's/\|\| result->room_count\)/)/' 'PLACED is believed twice'
mutate island/loss.c 's/^                if \(!lives\)$/                if (0)/' 'a lost result is told to nobody'
mutate island/loss.c 's/^                        if \(pw_same_device\(pw_room_device.*$/                        if (0)/' \
        'a lost replica is told to nobody'
mutate coordinator/result.c 's/^        if \(open->status != PW_OK\)$/        if (0)/' 'what never was there is lost'
mutate coordinator/result.c 's/^        if \(result->result.status != PW_NOT_READY\)$/        if (0)/' 'RESULT decides what was decided'
mutate island/host_run.c 's/if \(run->state != PW_HOST_RUN_RESERVED \|\| time <= run->expired\)/if (run->state != PW_HOST_RUN_RESERVED)/' \
        'EXPIRED is believed twice'
mutate island/host_run.c 's/^                pw_admission_leave\(run\);$//' 'a cancelled run stays in the queue'
mutate island/reserve.c 's/^        pw_admission_leave\(run\);$//' 'a run that is overdue stays in the queue'
mutate deliver.c 's/return run->coordinator == scheduler->host \&\& run->epoch == scheduler->epoch;/return run->coordinator == scheduler->host;/' \
        'an epoch is not compared'
mutate island/reserve.c 's/^                \(void\)refuse\(scheduler, message, true, \&why\);$//' 'who asked wrongly is not answered'
mutate deliver.c 's/^                return PW_NO_MEMORY;$/                return PW_OK;/' 'what could not be said is believed to be said'
mutate scheduler.c 's/^        pw_doomed_fail\(scheduler\);$//' 'who was refused is told nothing'

[ "$missed" = 0 ] || echo "$missed missed"
exit "$((missed > 0))"
