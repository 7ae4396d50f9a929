#!/bin/sh
# The libraries and generators that quickstart installs are those that the Debian package is built with, and a release has all sources.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

sed -n "/^packages='/,/^'/p" quickstart | sed -nE 's/^([^|]*-dev|protobuf-c-compiler|pkgconf)\|.*/\1/p' | grep -vx libc6-dev | sort >"$work/quickstart"
sed -n '/^Build-Depends:/,/^[A-Z]/p' debian/control | sed -E '/^Standards/d; s/^Build-Depends://' | tr ',' '\n' | awk 'NF { print $1 }' |
        grep -vx debhelper-compat | sort >"$work/control"
[ -s "$work/quickstart" ] || bad "quickstart lists no library"
same quickstart "$work/quickstart" debian/control "$work/control"

# Each source and header is named in a Makefile: a release that misses one does not build.
# Programs of one file are named without its ending.
# shellcheck disable=SC2086,SC2154
named=$(find $folders -name local.mk -type f -exec cat Makefile.am {} + | tr -s ' \t\\=' '\n' | sort -u)
for file in $(sources '*.c' '*.h' '*.cu' '*.cuh' | grep -vE '^wire/.*\.pb-c\.[ch]$'); do
        printf '%s\n' "$named" | grep -qxF -e "$file" -e "${file%.c}" || bad "$file is in no local.mk, and so in no release"
done
finish
