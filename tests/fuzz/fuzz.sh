#!/bin/sh
# Runs each fuzzer for FUZZ_SECONDS, as many at a time as there are processors. What crashes, leaks or hangs one is left in
# fuzz/NAME of the build tree: give it to the program as an argument; once it is mended it belongs into the corpus.
set -u
: "${PW_SRC:?}" "${PW_BUILD:?}" "${FUZZ_SECONDS:=60}"

one() {
        name=$(basename "$1")
        found=$PW_BUILD/fuzz/$name
        mkdir -p "$found/new" && cd "$found" || exit 1
        if "$PW_BUILD/$1" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
                -max_len=1024 "$found/new" "$PW_SRC/tests/fuzz/corpus/$name" >"$found/log" 2>&1; then
                echo "PASS: $name, $(sed -n 's/^stat::number_of_executed_units: *//p' "$found/log") inputs"
        else
                echo "FAIL: $name"
                tail -n 40 "$found/log"
                exit 1
        fi
}

if [ "$1" = --one ]; then
        one "$2"
else
        printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$0" --one
fi
