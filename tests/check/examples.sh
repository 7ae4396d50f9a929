#!/usr/bin/env bash
# The examples of the manual pages of section 3 work: each literal block that begins with #include <...> and has a main() is
# compiled without a warning and run, against a private daemon of what was built; it must end with status 0. Every page of calls
# has one. Where valgrind is installed it finds no error and no leak in them, but in the one that forks: memcheck would look for
# leaks in the child too, where nothing is mapped.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

for page in man/libpathways.3 man/pw_*.3; do
        name=${page##*/}
        awk -v out="$work/${name%.3}" '
                /^\.Sh / { examples = $2 == "EXAMPLES" }
                /^\.Ed/ { if (block ~ /\nint main\(/) printf "%s", block > (out "-" ++count ".c"); inside = 0 }
                inside { gsub(/\\e/, "\\"); block = block $0 "\n" }
                examples && /^\.Bd -literal/ { inside = 1; block = "" }' "$page"
        [ -e "$work/${name%.3}-1.c" ] || bad "$page has no example with a main()"
done
flags=$(sed -n 's/^SANITIZE_CFLAGS = //p' "$PW_BUILD/Makefile")
export LD_LIBRARY_PATH=$PW_BUILD/libclient/.libs XDG_RUNTIME_DIR=$work XDG_STATE_HOME=$work
mkfifo "$work/ready"
"$PW_BUILD/daemon/pathwaysd" --run-dir "$work/run" --state-dir "$work/run" --devices emulated:4 --modules "$PW_BUILD/executor/modules/.libs" \
        --ready-fd 3 3>"$work/ready" 2>"$work/log" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; rm -rf "$work"' EXIT
read -r _ <"$work/ready" || bad "pathwaysd did not start: $(tail -1 "$work/log")"
export PATHWAYS_SOCKET=$work/run/pathwaysd.sock
for source in "$work"/*.c; do
        # shellcheck disable=SC2086,SC2015
        $CC $flags -std=gnu11 -Wall -Wextra -Werror -Ibase -Ilibclient "$source" -o "${source%.c}" -L "$PW_BUILD/libclient/.libs" \
                -lpathways -lpthread >"$work/out" 2>&1 &&
                timeout 60 "${source%.c}" >"$work/out" 2>&1 </dev/null || {
                bad "an example of ${source##*/} fails:"
                cat "$work/out"
                continue
        }
        if [ -n "$flags" ] || ! command -v valgrind >/dev/null; then continue; fi
        leaks=full
        ! grep -q 'fork()' "$source" || leaks=no
        timeout -s KILL 60 valgrind --quiet --error-exitcode=9 --leak-check=$leaks --show-leak-kinds=definite,indirect,possible \
                --errors-for-leak-kinds=definite,indirect,possible "${source%.c}" >"$work/out" 2>&1 </dev/null || {
                bad "valgrind finds fault with an example of ${source##*/}:"
                cat "$work/out"
        }
done
finish
