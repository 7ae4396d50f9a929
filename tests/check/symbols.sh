#!/bin/sh
# libpathways.so exports exactly the functions that pathways.h and pathways_types.h declare, those that are inline there left out,
# and so does its symbol map.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

declarations base/pathways_types.h libclient/pathways.h >"$work/declarations"
sed -nE 's/^static inline .*\b(pw_[a-z0-9_]+)\(.*/\1/p' "$work/declarations" | sort >"$work/inline"
grep -oE '\bpw_[a-z0-9_]+\(' "$work/declarations" | tr -d '(' | sort -u | grep -vxFf "$work/inline" >"$work/header"
grep -oE '^ *pw_[a-z0-9_]+;' libclient/libpathways.map | tr -d ' ;' | sort >"$work/map"
nm -D --defined-only "$PW_BUILD/libclient/.libs/libpathways.so" >"$work/nm"
awk '{ print $NF }' "$work/nm" | sort >"$work/library"
[ -s "$work/header" ] || bad "no function found in the headers"
same headers "$work/header" libpathways.map "$work/map"
same headers "$work/header" libpathways.so "$work/library"
finish
