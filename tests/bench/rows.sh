#!/bin/sh
# Every bench of the table runs, with a tenth of its work, and every row comes out in JSON. How fast it was is in the log.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/tests/bench/bench" --quick --json >"$work/rows" || bad "a bench failed"
cat "$work/rows"
for name in put_1k put_1k_p999 put_1k_syscalls put_64m get_1k get_1k_found wake wake_awake chain lone gang8 pipeline pipeline_seq order allreduce_64m idle start reclaim clients client_idle objects_1m_16b objects_1m_1k; do
        grep -qE "^\{\"name\": \"$name\", \"value\": [^,]+, \"unit\": \"[^\"]+\", \"floor\": [^,]+, \"ratio\": [^,]+, .*\}$" \
                "$work/rows" || bad "no row $name"
done
finish
