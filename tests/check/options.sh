#!/bin/sh
# The options that `pathwaysd --help` lists are those of pathwaysd(8), and, less what makes no sense in a file, the keys of
# pathways.conf(5).
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/daemon/pathwaysd" --help >"$work/text"
sed -nE 's/^ +(-., )?--([a-z0-9-]+).*/\2/p' "$work/text" | sort >"$work/help"
sed -nE 's/^\.It (Fl [^ ] , )?Fl (\\?-)([a-z0-9-]+).*/\3/p' man/pathwaysd.8 | sort >"$work/manual"
sed -nE 's/^\.It (Cm|Ic|Va|Li) ([a-z0-9-]+).*/\2/p' man/pathways.conf.5 | sort >"$work/keys"
grep -vxE 'config|help|help-mdoc|version' "$work/help" >"$work/settings"
[ -s "$work/settings" ] || bad "no option found in the help"
same "pathwaysd --help" "$work/help" pathwaysd.8 "$work/manual"
same "pathwaysd --help" "$work/settings" pathways.conf.5 "$work/keys"
finish
