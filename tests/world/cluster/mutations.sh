#!/bin/bash
# Takes one rule of what hosts keep of each other out of a copy of cluster/ at a time, and shows that a test notices. Each row: what
# was taken out, and the test that said so. Run by `make mutations`, which hands over CC, WORLD_CPPFLAGS, WORLD_CFLAGS,
# CLUSTER_SUBJECTS and CLUSTER_LIBS, with paths from the top of the tree.
set -u
: "${PW_SRC:?}" "${CC:?}" "${CLUSTER_SUBJECTS:?}" "${CLUSTER_LIBS:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
missed=0
world=tests/world/cluster
# Quick ones first: test, and what goes with it.
tests_of() {
        case $1 in
        pull/*) echo "cluster/pull/puller_test cluster/pull/source_test cluster/pull/spread_test $world/pull_test
                $world/replica_test cluster/pull/pull_memory_test $world/pull_world_test" ;;
        *) echo "cluster/link/link_test cluster/link/link_clock_test cluster/link/writing_test cluster/link/peer_test
                $world/borrow_test $world/drain_test cluster/borrow/borrow_pair_test cluster/link/link_seeds_test $world/borrow_world_test" ;;
        esac
}
parts() {
        case $1 in
        cluster/link/*) echo cluster/link/link_ends_test.c ;;
        "$world"/replica_test) ;;
        "$world"/pull_*) echo $world/pulls.c $world/pulls_links.c $world/pulls_threads.c ;;
        "$world"/borrow_world_test) echo $world/acts.c $world/hosts.c $world/store.c $world/clients.c ;;
        "$world"/*) echo $world/acts.c $world/hosts.c $world/store.c ;;
        esac
}
object() { echo "objects/$(echo "$1" | tr / _).o"; }

compile() {
        printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c \
                'cd "$0" && $CC $WORLD_CPPFLAGS $WORLD_CFLAGS -w -c "{}" -o "objects/$(echo "{}" | tr / _).o"' "$work"
}
# link TEST
link() {
        (cd "$work" && wrap='' && objects='' && for source in "$1.c" $(parts "$1") $CLUSTER_SUBJECTS; do
                objects="$objects $(object "$source")"
        done
        case $1 in *pair_test | *memory_test) wrap='-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc' ;; esac
        # shellcheck disable=SC2086
        $CC $WORLD_CFLAGS $wrap $objects $CLUSTER_LIBS -o test)
}
# first_to_fail TEST...: the first that does not hold, in `by`; none: empty.
first_to_fail() {
        by=
        for test in "$@"; do
                link "$test" || { by="does not build"; return; }
                (cd "$work" && timeout 60 ./test >said 2>&1) || { by=$test; return; }
        done
}

# mutate FILE SED WHAT: one of the tests must fail.
mutate() {
        local file=cluster/$1 edit=$2 what=$3 by=
        cp "$work/$file" "$work/kept"
        sed -i -E -e "$edit" "$work/$file"
        if cmp -s "$work/kept" "$work/$file"; then
                by="does not apply any more"
        elif ! compile "$file"; then
                by="does not build"
        else
                # shellcheck disable=SC2046
                first_to_fail $(tests_of "$1")
        fi
        case $by in
        *_test) printf 'PASS: %-66s %s: %s\n' "$what" "${by##*/}" "$(sed -nE 's/^\[  FAILED  \] (test_.*)/\1/p' "$work/said" | head -n 1)" ;;
        *)
                printf 'FAIL: %-66s %s\n' "$what" "${by:-holds all the same}"
                missed=$((missed + 1))
                ;;
        esac
        mv "$work/kept" "$work/$file"
        compile "$file"
}

mkdir "$work/objects" || exit 1
(cd "$PW_SRC" && cp -r --parents base cluster libclient "$world" "$work") || exit 1
tests="$(tests_of any) $(tests_of pull/any)"
# shellcheck disable=SC2046,SC2086
compile $CLUSTER_SUBJECTS $(for test in $tests; do echo "$test.c"; parts "$test"; done | tr ' ' '\n' | sort -u) || exit 1
# shellcheck disable=SC2086
first_to_fail $tests
if [ -n "$by" ]; then
        echo "FAIL: the sources as they are: $by"
        exit 1
fi

mutate link/link.c 's/^        link->term\+\+;$//' 'a term that ends is not counted'
mutate link/link.c 's/^        if \(ended\)$/        if (0)/' 'what was kept of an ended term goes with the next'
mutate link/link.c 's/return link->params.own < link->params.host; \}/return true; }/' 'each of the two decides which connection is theirs'
mutate link/link.c 's/^        if \(known \&\& peer->instance != link->instance\)$/        if (0)/' 'another process of the same epoch is believed'
mutate link/link_frames.c 's/^        if \(head->number <= link->received\) \{$/        if (0) {/' 'a frame is taken twice'
mutate link/link_frames.c 's/^                owe\(link, now_us\);$//' 'who sends again what came before is not told that it came'
mutate link/link_frames.c 's/^                owe\(link, 0\);$/                ;/' 'credits that came back are told with the next frame only'
mutate link/link_frames.c '/^static void admit/,/^}/s/^                link->pressed = true;$//' 'works that got a credit wait for the next frame'
mutate link/link.c 's/^        link->pressed = true;$//' 'frames that may wait are never written by themselves'
mutate link/link_frames.c 's/ \|\| link->works_sent >= link->granted\)/)/' 'a work needs no credit'
mutate link/link_frames.c 's/^        if \(head->number > link->received \+ 1\)$/        if (0)/' 'a frame may be left out'
mutate link/link_clock.c 's/> a->bound_us \+ b->bound_us/> UINT64_MAX - 1/' 'what was known of a clock before it jumped is believed'
mutate link/link_clock.c 's/sample->bound_us \+ drift_us\(.*$/sample->bound_us + 0 * now_us;/' 'clocks do not drift'
mutate link/link_clock.c 's/\(round_us \+ 1\) \/ 2/round_us \/ 4/' 'the ways between two hosts are said to be equal'
mutate link/peer.c 's/\(call->own \|\| call->state == PW_CALL_MET\)/(call->own)/' 'the connection that was theirs before stays'
mutate link/peer.c 's/\(call->own \|\| call->state == PW_CALL_MET\)/(call->state == PW_CALL_MET)/' 'calls under way stay when the two have met'
mutate link/peer.c 's/^        if \(decides\(peer\) \|\| hello->met\)$/        if (1)/' 'who does not decide meets by itself'
mutate link/peer.c 's/^        return call->state != PW_CALL_NONE \&\& call->state != PW_CALL_MET \&\&$/        return 0 \&\&/' 'who calls and says nothing is waited for'
mutate borrow/borrow.c 's/^        if \(current\) \{$/        if (0) {/' 'a release is lost'
mutate borrow/borrow.c 's/^        if \(proxy \&\& proxy->number \&\& !pw_proxy_is_current\(proxy\)\) \{$/        if (0) {/' 'an open finds a proxy of an older term'
mutate borrow/borrow.c 's/return proxy \&\& is_whole\(proxy\) \? proxy : NULL;/return proxy;/' 'what is not whole is handed on'
mutate borrow/borrow_term.c 's/^        if \(!proxy \|\| proxy->lender != peer \|\| (!pw_proxy_is_current\(proxy\) \|\|)$/        if (!proxy || \1/' 'an answer of who was not asked is believed'
mutate borrow/borrow_term.c 's/^        if \(!proxy \|\| proxy->lender != peer \|\| !pw_proxy_is_current\(proxy\) \|\|$/        if (!proxy || proxy->lender != peer ||/' \
        'an answer is believed of a term that has ended'
mutate borrow/borrow_term.c 's/ \&\& home->epoch == proxy->id.epoch \&\& !pw_proxy/ \&\& !pw_proxy/' 'a replica is opened again at a home that was started again'
mutate borrow/borrow_term.c 's/^        pw_list_splice\(\&borrow->unsettled, \&peer->alone\);$//' 'a replica is not opened again when its home is met'
mutate borrow/borrow_term.c 's/^        if \(renewed\) \{$/        if (renewed)\n                return PW_OK;\n        if (renewed) {/' 'that a home holds a replica again is not told'
mutate borrow/borrow_term.c 's/(case PW_PROXY_RENEWING: return) settle_whole/\1 pw_proxy_lose/' 'a replica ends with its home'
mutate borrow/borrow_term.c 's/^        pw_list_splice\(\&borrow->unsettled, \&peer->borrowed\);$//' 'what was borrowed outlives the term'
mutate borrow/borrow_term.c 's/^        pw_proxy_unlist\(borrow, proxy\);$//' 'an open finds what was lost'
mutate borrow/borrow_term.c 's/^        if \(!proxy \&\& message->number <= borrow->numbers\)$/        if (0)/' 'what is told of what was released is a breach'
mutate borrow/borrow_term.c 's/^        if \(!renewed \&\& !follows \&\& !proxy->opener_count\) \{.*$/        if (0) {/' 'what nobody wants any more is held'
mutate borrow/borrow_term.c 's/^        while \(pw_heap_first_key\(\&borrow->deadlines\) <= now_us\)$/        while (0)/' 'who opens waits beyond its deadline'
mutate borrow/borrow_drain.c 's/^        if \(proxy->state == PW_PROXY_WHOLE \|\| /        if (proxy->state == PW_PROXY_ELSEWHERE || /' 'what is not whole is given back to who drains'
mutate borrow/borrow_drain.c 's/^                if \(move->proxy \|\| /                if (true || /' 'who takes over is asked twice'
mutate borrow/borrow_term.c 's/\.host = proxy->holder, \.epoch = proxy->epoch/.host = proxy->lender->host, .epoch = proxy->lender->epoch/' \
        'what is lost is lost with who was only asked to hold it'
mutate borrow/borrow_search.c 's/^        while \(!pw_list_empty\(\&peer->asks\)\)$/        while (0)/' 'a search waits for a host that is gone'
mutate borrow/borrow_search.c 's/^                if \(peer->state == PW_BORROW_THERE\)$/                if (0)/' 'nobody is asked who has a replica'
mutate borrow/borrow_search.c 's/^        if \(proxy->opener_count \&\& pw_proxy_home_is_there\(borrow, proxy\)\)$/        if (0)/' 'a home that is back is not asked'
mutate borrow/lend.c 's/^        if \(dropped \&\& known->state != PW_TALK_NONE\)$/        if (0)/' 'what the store held for an ended session stays'
mutate borrow/lend.c 's/^                if \(loan->state == PW_LOAN_NONE\)$/                if (0)/' 'references of an ended session stay'
mutate borrow/lend.c 's/bool goes_on = .*$/bool goes_on = true;/' 'what is of one term is said in the next'
mutate borrow/lend.c 's/^        if \(message->number <= session->last\)$/        if (0)/' 'a number is that of two references'

mutate pull/pull.c 's/^                pull->faults = 0;$//' 'streams that broke with the connection are the fault of the source'
mutate pull/pull.c 's/^                pull->heard_us = now_us; .*$//' 'what is asked again is to be answered at once'
mutate pull/pull_next.c 's/^(                if \(pull->asks\[i\]\.state )!= PW_ASK_NONE( \&\& pull->asks\[i\]\.chunk == chunk\))$/\1== PW_ASK_ASKED\2/' \
        'a range is asked for again before its thread has reported'
mutate pull/pull_next.c 's/pull->in\[PW_ASK_NONE\] != PW_PULL_ASKS \|\| //' 'a room is let go of while threads write it'
mutate pull/pull_next.c 's/^        if \(asked >= ahead\)$/        if (0)/' 'more is asked for ahead than there may be'
mutate pull/pull_next.c 's/^        if \(first == PW_PULL_SAYS_LEAVE \&\& !pull->round\)$/        if (0)/' 'who leaves is heard before it came'
mutate pull/pull_next.c 's/^                pw_heap_move\(\&pulls->times, \&pull->time, 0\);.*$//' 'a pull without memory for an ask sleeps'
mutate pull/pull.c 's/^        if \(status == PW_OK\)$/        if (status == PW_OK || status == PW_PROTOCOL)/' 'a chunk whose checksum is wrong is good'
mutate pull/pull.c 's/ \&\& \+\+pull->faults >= FAULTS_MAX/ \&\& 0/' 'a source that sends what is wrong stays'
mutate pull/pull.c 's/ask->number > pull->lost_up_to/1/' 'a stream that breaks is as many failures as were asked over it'
mutate pull/pull.c 's/^                else if \(is_owed\(pull\)\)$/                else if (0)/' 'a source that says nothing is waited for'
mutate pull/pull.c 's/ask->stop_thread = ask->stop_source = true;/ask->stop_source = true;/' 'a thread is not told that its chunk is not wanted'
mutate pull/pull.c 's/^        if \(message->round <= pull->round\)$/        if (0)/' 'an earlier source takes the place of a later one'
mutate pull/pull.c 's/^                if \(now_us >= pull->progress_us \+ pulls->params\.deadline_us\)$/                if (0)/' 'a pull goes on beyond its deadline'
mutate pull/pull.c 's/^                \} else if \(pull->state == PW_PULL_PULLING \&\& pull->source == host\) \{$/                } else if (0) {/' 'a source that was given up is kept'
mutate pull/pull.c 's/^                        pull->is_alone = true;$//' 'an ended term is told that its replica goes'
mutate pull/pull.c 's/^        pull->says = PW_PULL_SAYS_HAVE;$//' 'a home that is back is not told of replicas'
mutate pull/pull.c 's/\? PW_PULL_SAYS_HAVE : 0/? 0 : 0/' 'who got all in time is not known to its home'
mutate pull/source.c 's/^        offer->number = \+\+source->last_number;$/        offer->number = source->last_number ? source->last_number : ++source->last_number;/' 'a number is that of two offers'
mutate pull/source.c 's/ \&\& pw_id_equal\(offer->params\.id, message->id\)//' 'an ask for one object gets another'
mutate pull/source.c 's/^        if \(message->ask <= host->last_ask \|\|/        if (/' 'an ask is taken twice'
mutate pull/source.c 's/^                if \(send->state != PW_SEND_WAITING\) \{$/                if (1) {/' 'who waits for what was withdrawn is not told'
mutate pull/source_next.c 's/^        if \(offer->state != PW_OFFER_LEAVING \|\| offer->users\)$/        if (offer->state != PW_OFFER_LEAVING)/' \
        'a room is let go of while threads send it'
mutate pull/source_next.c 's/^(                )send->offer->users\+\+;$/\1;/' 'a thread that sends is no reader'
mutate pull/source_next.c 's/^        send->host->slots \|= .*$//' 'two have one place of the reserve'
mutate pull/source_next.c 's/^        if \(!pw_offer_has\(send->offer, send->chunk\)\) \{$/        if (0) {/' 'a chunk is sent that is not there'
mutate pull/source_next.c 's/^        if \(send->host->busy\[send->stream\] >= source->params\.sends\)$/        if (0)/' 'a stream has any number of sends'
mutate pull/spread_choose.c 's/\(source->state == PW_MEMBER_WHOLE \|\| source->serial < asker->serial\) \&\&$/1 \&\&/' 'a pull is named to who came before it'
mutate pull/spread_choose.c 's/ \&\& !source->is_out / /' 'a source that failed is named to others'
mutate pull/spread_choose.c 's/^               !is_barred\(asker, source->host, source->number\);$/               1;/; s/ \&\& !is_barred\(asker, spread->params\.own, object->number\)//' \
        'a source is named to who reported it'
mutate pull/spread_choose.c 's/^        if \(askers >= askers_max \|\|$/        if (0 ||/' 'a source has any number of askers'
mutate pull/spread_choose.c 's/\(depth > choice->depth \|\| \(depth == choice->depth \&\& askers >= choice->askers\)\)/askers >= choice->askers/' \
        'a source far from a whole value is as good'
mutate pull/spread.c 's/^        if \(message->number <= of->last_number\)$/        if (0)/' 'a number is that of two pulls'
mutate pull/spread.c 's/^        pw_spread_lose_askers\(spread, object, member\);$//' 'who leaves stays the source of others'
mutate pull/spread.c 's/^        pw_spread_step\(spread, member, PW_MEMBER_FILL\);$//' 'a replica of an earlier term is no source'
mutate pull/spread.c 's/^        if \(!source\)$/        if (1)/; s/member->object->number \? member->cause : member->object->cause/member->cause/' \
        'who finds no source is told what another host lost'

[ "$missed" = 0 ] || echo "$missed missed"
exit "$((missed > 0))"
