#!/bin/sh
# `mandoc -T lint` has nothing to say about the manual pages, and each of them is installed.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

for page in man/*.[1-9]; do
        grep -q "${page##*/}" man/local.mk || bad "$page is not in man/local.mk"
done
if [ -z "${MANDOC-}" ]; then
        [ "$wrong" = 0 ] || finish
        echo "mandoc is not installed"
        exit 77
fi
"$MANDOC" -T lint -W style man/*.[1-9] >"$work/out" 2>&1 || true
all_bad "$work/out"
finish
