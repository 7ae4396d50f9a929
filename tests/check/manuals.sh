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
# A manual of another package need not be on this host; one of ours is in the tree. A page at a time: where there is more to say,
# mandoc 1.14 cuts lines.
for page in man/*.[1-9]; do
        "$MANDOC" -T lint -W style "$page" 2>&1
done | grep -vE 'referenced manual not found: Xr|outdated mandoc.db lacks' >"$work/out" || true
all_bad "$work/out"
sed -nE 's/^\.(Xr|It Xr) (pw_[^ ]*|[^ ]*pathways[^ ]*) ([1-9]).*/\2.\3/p' man/*.[1-9] | sort -u >"$work/references"
man/names.sh man/pw_*.3 | sed 's/ .*/.3/' >"$work/names"
while read -r page; do
        [ -e "man/$page" ] || grep -qx "$page" "$work/names" || bad "man/$page is referred to, and not there"
done <"$work/references"
finish
