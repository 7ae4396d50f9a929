#!/bin/sh
# train.sh on loopback: the losses of one host, also when one of three is killed in the middle; and nothing is left of it, also when
# it is interrupted or killed itself.
# shellcheck source=examples/cluster/over.sh
. "${PW_SRC:?}/examples/cluster/over.sh"

over loopback --loopback
says '^cluster: 3 hosts on loopback, with a secret$'
says '^h[1-3] +host[1-3] .* (here|up) ' 9
says '^unaccounted 0$' 3
over killed --loopback --kill
says_killed
over two --loopback --hosts 2

during TERM --loopback
[ "$status" = 143 ] || { cat "$work/err"; bad "train.sh that got SIGTERM: exit $status"; }
[ -z "$(ls "$TMPDIR")" ] || bad "train.sh that got SIGTERM: these files are left: $(ls "$TMPDIR")"
hosts --loopback 2>"$work/err" | head -n 1 >"$work/out"
nothing_left "train.sh whose output nobody reads"
[ -z "$(ls "$TMPDIR")" ] || bad "train.sh whose output nobody reads: these files are left: $(ls "$TMPDIR")"
during KILL --loopback
well
