#!/bin/sh
# The options that `pathwaysd --help` lists are those of pathwaysd(8), and, less what makes no sense in a file, the keys of
# pathways.conf(5); both explain them in the words of `pathwaysd --help-mdoc`. The page's examples are files that it reads.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/daemon/pathwaysd" --help >"$work/text"
sed -nE 's/^ +(-., )?--([a-z0-9-]+).*/\2/p' "$work/text" | sort >"$work/help"
sed -nE 's/^\.It (Fl [^ ] , )?Fl (\\?-)([a-z0-9-]+).*/\3/p' man/pathwaysd.8 | sort >"$work/manual"
sed -nE 's/^\.It (Cm|Ic|Va|Li) ([a-z0-9-]+).*/\2/p' man/pathways.conf.5 | sort >"$work/keys"
grep -vxE 'config|help|help-mdoc|metrics-mdoc|version' "$work/help" >"$work/settings"
[ -s "$work/settings" ] || bad "no option found in the help"
same "pathwaysd --help" "$work/help" pathwaysd.8 "$work/manual"
same "pathwaysd --help" "$work/settings" pathways.conf.5 "$work/keys"

# list PAGE: the first item and what follows it, up to the end of the list.
list() { sed -n '/^\.It /,/^\.El/p' "$1" | sed '/^\.El/,$d'; }

# The list of options as that of keys: `.It Fl d , Fl \-devices Ar N` becomes `.It Cm devices No = Ar N`.
"$PW_BUILD/daemon/pathwaysd" --help-mdoc >"$work/mdoc"
awk '/^\.It / { sub(/^\.It (Fl . , )?Fl \\-/, ""); name = $1; sub(/^[^ ]+ ?/, "")
               in_file = name !~ /^(config|help|help-mdoc|metrics-mdoc|version)$/
               $0 = ".It Cm " name ($0 == "" ? "" : " No = " $0) }
     in_file' "$work/mdoc" >"$work/mdoc-keys"
list man/pathwaysd.8 | diff "$work/mdoc" - || bad "pathwaysd(8) differs from pathwaysd --help-mdoc"
list man/pathways.conf.5 | diff "$work/mdoc-keys" - || bad "pathways.conf(5) differs from pathwaysd --help-mdoc"

# Each example of pathways.conf(5), copied from the page as it is shown, blanks before keys and all, is a file that pathwaysd reads.
if [ -n "${MANDOC-}" ]; then
        "$MANDOC" -T ascii man/pathways.conf.5 | sed 's/.\x08//g' |
                awk -v file="$work/example-" '/^[A-Z]/ { examples = /^EXAMPLES/ } !examples { next }
                        /^(          |\t)/ { if (!inside) count++; inside = 1; print > (file count); next } { inside = 0 }'
        [ "$(cat "$work"/example-* | grep -c =)" -ge 10 ] || bad "no example found in pathways.conf(5)"
        for example in "$work"/example-*; do
                "$PW_BUILD/daemon/pathwaysd" --config "$example" --help >"$work/out" 2>&1 || all_bad "$work/out"
        done
fi
finish
