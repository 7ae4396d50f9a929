#!/bin/sh
# The two cores of the scheduler speak in messages. Which functions of one the other still calls is in lists/wall.txt: a line here is
# a message to come. None is added; one that is called no more is taken out.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# Functions that a core defines for others, and where the other names them.
defined() {
        # shellcheck disable=SC2046
        awk '/^(static|typedef) / { next }
             /^[a-z].*[ *]pw_[a-z_0-9]+\(/ && !/;[ ]*$/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); print name }' \
                $(sources '*.c' | grep "^scheduler/$1/") | sort -u
}

for core in coordinator island; do
        other=$([ "$core" = island ] && echo coordinator || echo island)
        defined "$other" >"$work/$other"
        [ "$(wc -l <"$work/$other")" -gt 20 ] || bad "few functions of $other/ were found: is this check still right?"
        # shellcheck disable=SC2046
        grep -ohwFf "$work/$other" $(sources '*.[ch]' | grep "^scheduler/$core/.*\.c$") | sort -u | sed "s/^/$core /"
done | sort >"$work/calls"
grep -v '^#' tests/check/lists/wall.txt | sort >"$work/known"
same "lists/wall.txt" "$work/known" "the sources" "$work/calls"
finish
