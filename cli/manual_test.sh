#!/bin/sh
# What pathways(1) says of subcommands and options is what the program says of them: `pathways --help-mdoc`.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/cli/pathways" --help-mdoc >"$work/table"
sed -n '/^Each subcommand takes:$/,/^\.Sh /p' man/pathways.1 | sed '/^\.Sh /d' >"$work/manual"
diff -u "$work/table" "$work/manual" || bad "man/pathways.1 is not what \`pathways --help-mdoc\` prints"
for name in $(sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' "$work/table"); do
        "$PW_BUILD/cli/pathways" "$name" --help | grep -q "^Usage: pathways $name" || bad "pathways $name --help"
done
"$PW_BUILD/cli/pathways" memroy 2>"$work/error" && bad "an unknown command passes"
grep -q 'did you mean memory' "$work/error" || bad "an unknown command is not answered with the nearest"
status=0
"$PW_BUILD/cli/pathways" status --socket "$work/none" 2>"$work/error" || status=$?
grep -q "no pathwaysd at $work/none: start one, or name its socket in PATHWAYS_SOCKET" "$work/error" || bad "nobody says what to do without a daemon"
[ "$status" = 3 ] || bad "without a daemon the exit code is $status, not 3"
finish
