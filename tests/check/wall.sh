#!/bin/sh
# The two cores of the scheduler, coordinator and island, speak in messages: neither calls the other, nor names its records, includes
# its headers or takes what is its own of struct pw_scheduler. What of one the other still uses is in lists/wall.txt: a line here is a
# message to come. None is added; one that is used no more is taken out. What lies above both may see either.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# Functions that a core defines for others, and where the other names them.
defined() {
        # shellcheck disable=SC2046
        awk '/^(static|typedef) / { next }
             /^[a-z].*[ *]pw_[a-z_0-9]+\(/ && !/;[ ]*$/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); print name }' \
                $(sources '*.c' | grep "^scheduler/$1/") | sort -u
}

# Structs that a core's headers define, and the inline functions there, by which one comes at them.
records() {
        # shellcheck disable=SC2046
        declarations $(sources '*.h' | grep "^scheduler/$1/") | awk '
                /^struct pw_[a-z_0-9]+ \{/ { print "struct " $2 }
                /^static inline .*[ *]pw_[a-z_0-9]+\(/ { sub(/\(.*/, ""); sub(/.*[ *]/, ""); print }' | sort -u
}

# Fields of struct pw_scheduler that only one of them has anything to do with.
fields_coordinator='runs|waiting|awaited|telling|doomed|gathering|losing|is_losing|unread|patient|due|results|idle_results|slots|run_slots'
fields_island='devices|islands|queue|turns|unadmitted|scan|scanning|scans|requesters|own|host_results|idle_host_results|free_slots'

for core in coordinator island; do
        other=$([ "$core" = island ] && echo coordinator || echo island)
        fields=$([ "$core" = island ] && echo "$fields_coordinator" || echo "$fields_island")
        defined "$other" >"$work/$other"
        records "$other" >"$work/$other.records"
        [ "$(wc -l <"$work/$other")" -gt 20 ] || bad "few functions of $other/ were found: is this check still right?"
        [ "$(wc -l <"$work/$other.records")" -gt 8 ] || bad "few records of $other/ were found: is this check still right?"
        for file in $(sources '*.[ch]' | grep "^scheduler/$core/" | grep -v '_test\.c$'); do
                declarations "$file" >"$work/file"
                {
                        grep -owFf "$work/$other" "$work/file" || true
                        grep -owFf "$work/$other.records" "$work/file" || true
                        grep -oE "scheduler->($fields)\\>" "$work/file" || true
                        grep -oE "^#include \"scheduler/$other/[^\"]*\"" "$file" || true
                } | sort -u | sed "s|^|$file: |"
        done
done | sort >"$work/calls"
grep -v '^#' tests/check/lists/wall.txt | sort >"$work/known"
same "lists/wall.txt" "$work/known" "the sources" "$work/calls"
finish
