#!/bin/sh
# The structs and enums of the public headers stand in the manual, in full and once; what else is to be written by hand there,
# macros and constants, stands on some page.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# Each definition on a line, without blanks that make no difference. What a macro fills is a table of the manual: statuses.sh.
flat() {
        awk '
                /^(struct|enum) pw_[a-z_]+ \{/ { inside = 1; text = "" }
                inside { text = text " " $0 }
                inside && (/^\};/ || (/^(struct|enum)/ && /\};$/)) { inside = 0; print text }' |
                sed -E 's/[ \t]+/ /g; s/ ?([][{};,=*()]) ?/\1/g; s/,\}/}/; s/^ //' | grep -v '_MAP(' | sort
}

# shellcheck disable=SC2086
declarations $public_headers | flat | grep -vE '^enum pw_(dtype|status)\{' >"$work/header"
[ -s "$work/header" ] || bad "no struct found"
for page in man/*.3; do
        awk '/^\.Bd -literal/ { inside = 1; next } /^\.Ed/ { inside = 0 } inside' "$page"
done | flat >"$work/manual"
same headers "$work/header" "man/*.3" "$work/manual"

# shellcheck disable=SC2086
cat $public_headers | grep -oE '^#define PW_[A-Z0-9_]+|^ +PW_[A-Z0-9_]+ =|\bPW_(SUM|MAX|MIN|PROD)\b' | grep -oE 'PW_[A-Z0-9_]+' | sort -u |
        grep -vxE 'PW_(COUNT_OF|DTYPE_ENUM|DTYPE_MAP|STATUS_ENUM|STATUS_MAP|MUST_CHECK|MODULE_LINKAGE|MODULE_SYMBOL|MODULE_TABLE)' >"$work/macros"
while read -r macro; do
        grep -qE "\\b$macro\\b" man/*.3 || bad "$macro is on no page"
done <"$work/macros"
finish
