#!/bin/sh
# Every subcommand of `pathways` is run by a test, by name: as a command, not as a listing that the library asks for.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/cli/pathways" --help | sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p' | sort -u >"$work/commands"
[ -s "$work/commands" ] || bad "no subcommand found"
while read -r command; do
        grep -rqE "(IT_ARGS|EXPECT|it_command)\(.*\"$command\"|pathways\"? $command\b" tests/integration tests/package README.md examples/*/*_test.sh ||
                bad "no test runs pathways $command"
done <"$work/commands"
finish
