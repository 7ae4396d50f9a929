#!/bin/sh
# train.sh with a network namespace for each host, and TLS between them: the losses of one host, also when one of three is killed in
# the middle; and nothing is left of it.
# shellcheck source=examples/cluster/over.sh
. "${PW_SRC:?}/examples/cluster/over.sh"

over apart --kill
if grep -q '^cluster: .* network namespaces may not be made here$' "$work/out"; then
        well
        echo "network namespaces may not be made here"
        exit 77
fi
says '^cluster: 3 hosts, each in a network namespace of its own, with TLS$'
says_killed
says '^h1 +host1 .* 10\.0\.0\.1:7400$' 2
during TERM
during KILL
well
