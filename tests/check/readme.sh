#!/usr/bin/env bash
# The examples of README.md work. A block marked "c NAME" or "sh NAME" is kept as a file of that name, a block marked "sh run"
# is run, in order, in one empty folder, against what was built.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

awk -v work="$work" '
        /^```/ && !inside { inside = 1; file = ""
                if ($1 == "```sh" && $2 == "run") file = work "/" sprintf("%02d", ++count) ".run"
                else if (NF == 2) file = work "/" $2
                next }
        /^```/ { inside = 0; next }
        inside && file != "" { print > file }' README.md
export CPATH=$PW_SRC/base:$PW_SRC/libclient LIBRARY_PATH=$PW_BUILD/libclient/.libs LD_LIBRARY_PATH=$PW_BUILD/libclient/.libs
# The compiler of the build, with its sanitizers: a program without them cannot load a library with them.
mkdir "$work/bin"
printf '#!/bin/sh\nexec %s %s "$@"\n' "$CC" "$(sed -n 's/^SANITIZE_CFLAGS = //p' "$PW_BUILD/Makefile")" >"$work/bin/cc"
chmod +x "$work/bin/cc"
export PATH=$work/bin:$PW_BUILD/daemon:$PW_BUILD/cli:$PATH XDG_RUNTIME_DIR=$work XDG_STATE_HOME=$work PATHWAYS_SOURCE=$PW_SRC PATHWAYS_BUILD=$PW_BUILD
cd "$work"
set -m # each block is a process group: what it leaves running ends with it
blocks=0
for block in "$work"/*.run; do
        [ -e "$block" ] || break
        blocks=$((blocks + 1))
        bash -eu -o pipefail "$block" >"$work/out" 2>&1 </dev/null &
        pid=$!
        wait "$pid" || {
                bad "this block of README.md fails:"
                cat "$block" "$work/out"
        }
        kill -- "-$pid" 2>/dev/null || true
done
[ "$blocks" != 0 ] || bad "README.md has no block that is marked: run"
finish
