#!/bin/sh
# The libraries and generators that quickstart installs are those that the Debian package is built with.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

sed -n "/^packages='/,/^'/p" quickstart | sed -nE 's/^([^|]*-dev|protobuf-c-compiler|pkgconf)\|.*/\1/p' | grep -vx libc6-dev | sort >"$work/quickstart"
sed -n '/^Build-Depends:/,/^[A-Z]/p' debian/control | sed -E '/^Standards/d; s/^Build-Depends://' | tr ',' '\n' | awk 'NF { print $1 }' |
        grep -vx debhelper-compat | sort >"$work/control"
[ -s "$work/quickstart" ] || bad "quickstart lists no library"
same quickstart "$work/quickstart" debian/control "$work/control"
finish
