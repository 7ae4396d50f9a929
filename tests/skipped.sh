#!/usr/bin/env bash
# skipped.sh BUILD: what the last `make check` in the build tree BUILD skipped, a line each with the reason: whole programs, and
# cases of programs that passed.
set -uo pipefail
export LC_ALL=C
build=$(readlink -f "${1:?a build tree}")

find "$build" -name '*.trs' -not -path '*/distdir/*' | sort | while IFS= read -r result; do
        log=${result%.trs}.log
        name=${log#"$build"/}
        whole=$(grep -c '^:test-result: SKIP' "$result")
        [ -e "$log" ] || continue
        awk -v name="${name%.log}" -v whole="$whole" '
                /^\[=+\] Running / { inside = 1 }
                /^\[=+\] [0-9]+ test\(s\) run/ { inside = 0 }
                inside && /^\[ RUN / { why = "no reason was given" }
                inside && /^\[ BECAUSE / { why = $0; sub(/^\[ BECAUSE +\] /, "", why) }
                inside && /^\[  SKIPPED \]/ { print name ", " $NF ": " why; cases++ }
                !/^\[/ && !/^SKIP / { last = $0 }
                END { if (whole && !cases) print name ": " last }' "$log"
done
