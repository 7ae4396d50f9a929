#!/bin/bash
# Takes one rule of the protocol out of a copy of the sources at a time, and shows that a model notices. Each row: what was taken
# out, and the model that said so. Run by `make mutations`, which hands over CC, MODEL_CPPFLAGS, MODEL_CFLAGS, MODEL_SUBJECTS,
# MODEL_SOURCES and MODEL_LIBS, with paths from the top of the source tree.
set -u
: "${PW_SRC:?}" "${CC:?}" "${MODEL_SUBJECTS:?}" "${MODEL_SOURCES:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
missed=0

# compile FILES...: objects of the copy, those of the model's own sources once.
compile() {
        printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c \
                'cd "$0" && $CC $MODEL_CPPFLAGS $MODEL_CFLAGS -w -c "{}" -o "objects/$(echo "{}" | tr / _).o"' "$work"
}
link() { (cd "$work" && $CC $MODEL_CFLAGS objects/*.o $MODEL_LIBS -o model); }

# mutate MODEL FILE SED WHAT: the model named must fail.
mutate() {
        local model=$1 file=$2 edit=$3 what=$4 said
        cp "$work/$file" "$work/kept"
        sed -i -e "$edit" "$work/$file"
        if cmp -s "$work/kept" "$work/$file"; then
                printf 'FAIL: %-58s does not apply to %s any more\n' "$what" "$file"
                missed=$((missed + 1))
                return
        fi
        rm -rf "$work/good" && cp -r "$work/objects" "$work/good"
        case $file in
        *.h) compile $MODEL_SUBJECTS $MODEL_SOURCES ;;
        *) compile "$file" ;;
        esac
        if ! link; then
                said="does not build"
        elif (cd "$work" && timeout 300 ./model "$model" >said 2>&1); then
                said=
        else
                said=$(tail -n 1 "$work/said" | sed -E 's/^.* ends +//')
        fi
        if [ -n "$said" ] && [ "$said" != "does not build" ]; then
                printf 'PASS: %-58s %-8s %s\n' "$what" "$model" "$said"
        else
                printf 'FAIL: %-58s %-8s %s\n' "$what" "$model" "${said:-holds all the same}"
                missed=$((missed + 1))
        fi
        mv "$work/kept" "$work/$file"
        rm -rf "$work/objects" && mv "$work/good" "$work/objects"
}

mkdir "$work/objects"
(cd "$PW_SRC" && cp -r --parents base plane program store daemon cluster executor libclient wire scheduler tests/model "$work") || exit 1
compile $MODEL_SUBJECTS $MODEL_SOURCES || exit 1
MODEL_CPPFLAGS="$MODEL_CPPFLAGS -DPW_MODEL_EXPLORER" compile tests/model/{explore,reduce,thread,state,model}.c || exit 1
link || exit 1

mutate take plane/entry.h 's/if (!pw_entry_swap(entry, &word, pw_word_make(PW_ENTRY_PENDING.*/atomic_store(\&entry->word, pw_word_make(PW_ENTRY_PENDING, 0, generation, PW_OK)); if (0)/' \
        'FREE goes to PENDING by a plain store'
mutate take plane/entry.h 's/generation = pw_word_generation(word) + 1;/generation = pw_word_generation(word);/' \
        'the generation does not count up'
mutate decide plane/entry.h 's/if (pw_entry_swap(entry, &word, pw_word_make(state, /if (atomic_store(\&entry->word, pw_word_make(state, /; s/generation, status))) {/generation, status)), true) {/' \
        'PENDING is left by a plain store'
mutate decide plane/entry.h 's/if (pw_entry_swap(entry, &word, set ? word | flag : word & ~(uint64_t)flag))/if (atomic_store(\&entry->word, set ? word | flag : word \& ~(uint64_t)flag), true)/' \
        'a flag is set by a plain store'
mutate decide plane/entry.h 's/pw_word_make(state, pw_word_flags(word) | flags, generation/pw_word_make(state, flags, generation/; s/\*ret_old = word;/*ret_old = 0;/' \
        'who decides forgets the flags of the word before'
mutate work plane/ring.h 's/^        atomic_store(&writer->ring->tail, writer->tail);$//; s/^        return watch != PW_RING_WATCHED/        atomic_store(\&writer->ring->tail, writer->tail);\n&/' \
        'the watch word is read before the records are visible'
mutate work plane/ring.c 's/^        if (atomic_load(&reader->ring->tail) == reader->head)$/        if (last == reader->head)/; s/^bool pw_ring_sleep(.*$/&/; s/^        atomic_store(&reader->ring->watch, hungry.*$/        uint32_t last = atomic_load(\&reader->ring->tail);\n&/' \
        'the daemon looks, then sets the watch word'
mutate bell daemon/client/input.c 's/^        if (status == PW_OK \&\& bytes)$/        if (0)/; s/^        if (frame->kind == PW_FRAME_REQUEST)$/        if (frame->kind == PW_FRAME_DOORBELL)\n                pw_lanes_rung(session);\n&/' \
        'a frame is no doorbell'
mutate bell libclient/socket/outgoing.c '/^static enum pw_status send_whole(/,/^}/s/^        send_wanted(connection);//' \
        'who had the socket does not ring for who wanted to'
mutate hungry plane/ring.c 's/hungry ? PW_RING_HUNGRY : PW_RING_RESTING/PW_RING_RESTING/' \
        'a hungry daemon does not say so'
mutate full plane/ring.h 's/return PW_RING_CELLS - (writer->tail - writer->head_seen) >= cells;/return true;/' \
        'a full ring is written over'
mutate reclaim libclient/object/open.c 's/^        return settle(lane, &opened, id, ret_err);/        return PW_OK;/' \
        'a reference by id without the second look'
mutate reclaim daemon/loop/turn.c 's/^        pw_scan(daemon);//' \
        'freed without a scan of the rings'
mutate reclaim store/object/reclaim.c '/^bool pw_store_reclaim_finish/,/^}/s/if (tenant->scanning)/if (0)/' \
        'freed after a scan that read a part'
mutate reclaim daemon/client/lane.c 's/session->pass > pass ||$/session->pass >= pass;/; s/^ *(session->pass == pass \&\& !session->marked);$//' \
        'a pass is over when it begins'
mutate reclaim store/object/ref.c 's/^        if (object->closing)$/        if (0)/' \
        'a REF does not reopen'
mutate reclaim store/object/scan.c 's/^        for (uint32_t i = 0; (session = pw_table_next(&segment->readers, &i));)/        for (uint32_t i = 0; 0;)/' \
        'the scan leaves out who asked for the segment'
mutate reclaim store/object/reclaim.c 's/^        pw_object_wake(store, segment, object->slot);//' \
        'what waits under CLOSING is not woken'
mutate wait libclient/object/put.c 's/^        if (!pw_entry_decide(future->entry, future->generation, status, 0.*$/        bool waits = atomic_load(\&session->hints->waiters[pw_hint_bucket(future->segment, future->slot)]);\n&/; s/^        pw_hint_wake(session->hints, future->entry.*/        if (waits)\n                pw_entry_wake(future->entry);/' \
        'the hint is read before the swap'
mutate wait store/object/object.c '/^bool pw_object_fail/,/^}/s/pw_object_wake(store, segment, object->slot);//' \
        'ERROR does not wake'
mutate waiters plane/hint.c '/^static void enter/,/^}/{s/PW_NOTE_GOING/PW_NOTE_COUNTED/}' \
        'a waiter notes that it is counted before it is'
mutate waiters plane/hint.c '/^static void leave/,/^}/{s/PW_NOTE_LEAVING/PW_NOTE_COUNTED/}' \
        'a waiter counts down without noting that it leaves'
mutate waiters plane/recount.c 's/less(count % PW_HINT_WIDE, noted % PW_HINT_WIDE)/count % PW_HINT_WIDE/' \
        'what the living count goes with what the dead did'
mutate wait daemon/client/lane_end.c 's/marked ? &marks : NULL/NULL/' \
        'what the dead counted is not cleared'
mutate letgo store/object/ending.c '/^static void end_segment/,/^}/{s/if (!dead)/if (0)/;s/segment->dead = dead;/segment->dead = true;/}' \
        'rooms go before their writer is dead'
mutate wide plane/wide.c 's/^                while (!(before & PW_HINT_ARMED) \&\& .*$/                while (0)/' \
        'a bell is slept on that was not armed'
mutate wide plane/hint.c '/^static bool ring/,/^}/s/^        pw_futex_wake(bell, INT_MAX);$//' \
        'a bell is disarmed and nobody is woken'
mutate donate store/object/donate.c 's/^        pw_scan_for(store, pw_segment_of(store, object->segment), object);//; s/^        if (object->donated == 1 && object->refs == 1 .*{$/        if (object->donated == 1) {/' \
        'a value is given though somebody else holds it'
mutate catchup daemon/client/lane.c 's/^        if (names_unclaimed(lane, cell, lane->due) .*$/        if (0)/' \
        'other lanes are not read when a record names what they make'
mutate catchup daemon/client/lane.c 's/^                over = is_behind(session);/                over = false;/' \
        'a scan of other lanes is over before all is read'
mutate offered libclient/object/open.c 's/^#define FENCES 3u/#define FENCES 1u/;s/^                        give_back(lane, item);//' \
        'what is taken of a value that is given away is neither decided nor given back'
mutate move libclient/object/open.c 's/ || is_moving(opened, word)$//' \
        'who takes a value that moves does not ask the daemon'
mutate exchange store/object/move.c '/^static void mark/,/^}/s/^        pw_scan_for(.*$//' \
        'a value moves without a scan of the rings'
mutate copied store/object/move.c '/^enum pw_status pw_store_move_begin/,/^}/s/^                mark(store, with);/                (void)0;/' \
        'a copy gives its place away and is not marked'
mutate held store/object/move.c 's/return status == PW_OK \&\& looked ? check_alone(.*$/return status;/' \
        'a value moves though somebody else holds it'
mutate move store/object/move.c '/^static enum pw_status settle/,/^}/s/^        object->backed = 1;/&\n        pw_ref_remove(store, ref);/' \
        'a value does not hold the room that it moved into'
mutate marked executor/gang/gang_mark.c 's/!pw_gang_is_value(gang, heads\[i\].head, heads\[i\].device, &fault)/0/' \
        'a receiver does not look again'
mutate marked tests/model/executor/marked_model.c '/^        copied = /{h;d}; /fault = pw_gang_look_again/G' \
        'a receiver looks again before the end of its copy'
mutate ahead executor/gang/gang_mark.c 's/!pw_gang_is_value(gang, heads\[i\].head, heads\[i\].device, &fault)/pw_gang_lost_meanwhile(gang, heads[i].device, gang->seq, \&fault)/' \
        'only what is lost behind the mark counts'
[ "$missed" = 0 ]
