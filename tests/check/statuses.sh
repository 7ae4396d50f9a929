#!/bin/sh
# The statuses of pathways_types.h, with their numbers, are those that libpathways(3) explains (.It Dv PW_NAME Pq NUMBER), and
# the manual says of each what the table says.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

sed -nE '/define PW_STATUS_MAP/,/^$/s/^ +X\((PW_[A-Z_]+), ([0-9]+), "([^"]*)".*/\1 \2 \3/p' base/pathways_types.h |
        sort >"$work/table"
awk '/^\.It Dv PW_[A-Z_]+ Pq [0-9]+$/ { name = $3; number = $5; getline; sub(/\.$/, ""); print name, number, tolower(substr($0, 1, 1)) substr($0, 2) }' \
        man/libpathways.3 | sort >"$work/manual"
[ -s "$work/table" ] || bad "no status found in the header"
same pathways_types.h "$work/table" libpathways.3 "$work/manual"
finish
