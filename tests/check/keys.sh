#!/bin/sh
# The keys of rows that the daemon, the library and `pathways` write are those that pathways(1) explains.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# What a tenant has of its quotas, and these, are in a table.
grep -oE '"(tenant|quota)_[a-z_]+"' daemon/inspect/list_owners.c >"$work/owners"
# shellcheck disable=SC2046
grep -hoE '(pw_rows_(text|number|signed)|pw_cell_(text|number|real)|row_add)\(([a-z>-]*rows?, )?"[a-z_]+"' $(sources '*.c' | grep -E '^(daemon|cli|libclient)/' | grep -v '_test\.c$') |
        cat - "$work/owners" | sed -E 's/.*"([a-z_]+)"$/\1/' | sort -u >"$work/rows"
sed -n '/^\.Sh KEYS/,/^\.El/s/^\.It Va //p' man/pathways.1 | sort >"$work/manual"
[ -s "$work/rows" ] || bad "no key found"
same "rows" "$work/rows" "pathways(1)" "$work/manual"
finish
