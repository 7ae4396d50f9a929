#!/bin/sh
# Every bench of the table runs, with a tenth of its work, and every row comes out in JSON. A row that is 20 times worse than its reach
# is a failure, unless others took a quarter of the processors meanwhile, or a sanitizer does; how fast it was is in the log.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

rows='put_1k put_1k_p999 put_1k_syscalls put_64m get_1k get_1k_found get_1k_read get_1k_first get_1k_typed get_1k_other open_1k wait_10k
wake wake_asleep wake_awake chain lone gang8 pipeline pipeline_seq order allreduce_64m allreduce_mpi idle start reclaim clients
client_idle objects_1m_16b objects_1m_1k pull_1g pull_1g_tls pull_1k pull_1k_many hand_on spread_256m lookup lookup_known giving_up
giving_up_dead redis_load redis_work idle_link'

"$PW_BUILD/tests/bench/bench" --quick --json >"$work/rows" || bad "a bench failed"
cat "$work/rows"
for name in $rows; do
        grep -qE "^\{\"name\": \"$name\", \"value\": [^,]+, \"unit\": \"[^\"]+\", \"floor\": [^,]+, \"ratio\": [^,]+, .*\}$" \
                "$work/rows" || bad "no row $name"
        grep -q "^| .*\`$name\`" "$PW_SRC/tests/bench/README.md" || bad "tests/bench/README.md has no row $name"
done
[ "$(wc -l <"$work/rows")" = "$(echo $rows | wc -w)" ] || bad "rows that are not known here"

# number KEY ROW
number() { printf '%s' "$2" | sed -n "s/.*\"$1\": \([-+.e0-9]*\)[,}].*/\1/p"; }

sanitized=$(sed -n 's/^SANITIZE_CFLAGS = //p' "$PW_BUILD/Makefile")
while IFS= read -r row; do
        times=$(number times "$row") others=$(number others "$row")
        [ -n "$times" ] && awk "BEGIN { exit !($times > 20) }" || continue
        if [ -n "$sanitized" ] || awk "BEGIN { exit !(${others:-1} > 0.25) }"; then
                echo "not judged, others took ${others:-?} of the processors, or a sanitizer did: $row"
        else
                bad "$times times its reach: $row"
        fi
done <"$work/rows"
finish
