#!/bin/sh
# Nothing is decided by a clock that can jump: who asks for the time of day is listed here, with its reason.
# - base/log.c: lines of the log are for people.
# - daemon/meta/carry.c: the epoch of a host whose state dir was lost is to be a new one.
# - daemon/module/module_file.c: a file that changed just now may change once more within the same tick of its own time stamp; it is read again.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# shellcheck disable=SC2046
grep -nE 'CLOCK_(REALTIME|TAI)|\<(time|gettimeofday|ftime|timespec_get)\(|pthread_(cond|mutex|rwlock)_timed|sem_timedwait' \
        $(sources '*.c' '*.h' | grep -vE '^tests/|_test\.c$|^base/log\.c$|^daemon/meta/carry\.c$|^daemon/module/module_file\.c$') >"$work/out" || true
all_bad "$work/out"
[ "$(grep -cE '\<time\(' daemon/meta/carry.c)" = 1 ] || bad "daemon/meta/carry.c: asks for the time of day more than once"
finish
