#!/bin/sh
# The metrics of pathwaysd are those of pathwaysd(8), under METRICS, in the same words.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/daemon/pathwaysd" --metrics-mdoc >"$work/mdoc"
sed -n '/^\.Sh METRICS/,/^\.Sh SYSTEMD/p' man/pathwaysd.8 | sed -n '/^\.It /,/^\.El/p' | sed '/^\.El/,$d' >"$work/manual"
[ -s "$work/mdoc" ] || bad "no metric found"
diff "$work/mdoc" "$work/manual" || bad "pathwaysd(8) differs from pathwaysd --metrics-mdoc"
finish
