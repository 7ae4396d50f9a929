#!/bin/sh
# pathways-protocol(7) names each request of the .proto, and none that is not there; its versions are those of the headers.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

page=man/pathways-protocol.7
sed -n '/^message Request/,/^}/s/^    [A-Za-z]* \([a-z_]*\) = .*/\1/p' wire/pathways.proto | sort >"$work/requests"
[ -s "$work/requests" ] || bad "no request found"
sed -nE 's/^\.(It )?Cm //p' "$page" | tr -d ' ' | tr ',' '\n' | grep . | sort -u >"$work/named"
diff "$work/requests" "$work/named" || bad "$page differs from wire/pathways.proto"

wire=$(sed -n 's/^#define PW_WIRE_VERSION \([0-9]*\)u.*/\1/p' wire/frame.h)
layout=$(sed -n 's/^#define PW_LAYOUT_VERSION \([0-9]*\)u.*/\1/p' wire/frame.h)
grep -q "^The wire is of version $wire, the layout of the memory of version $layout\.\$" "$page" || bad "$page: versions are $wire and $layout"
cells=$(sed -n 's/^#define PW_RING_CELLS \([0-9]*\)u.*/\1/p' plane/ring.h)
grep -q "a ring of $cells cells" "$page" || bad "$page: a ring has $cells cells"
finish
