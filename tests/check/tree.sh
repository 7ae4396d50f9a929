# shellcheck shell=sh disable=SC2034
# Sourced by the checks: they stand in the top of the source tree, $PW_SRC, and look at the built one, $PW_BUILD.
# A check prints a line for each thing that is wrong and ends in `finish`.

set -eu
export LC_ALL=C
cd "${PW_SRC:?set by make check}"
: "${PW_BUILD:?set by make check}"

folders='base plane wire program store scheduler cluster daemon executor libclient cli examples tests'
public_headers='base/pathways_types.h libclient/pathways.h libclient/pathways_cuda.h libclient/pathways_module.h'
wrong=0

bad() {
        printf '%s\n' "$*"
        wrong=$((wrong + 1))
}

finish() {
        [ "$wrong" = 0 ] || printf '%s wrong\n' "$wrong"
        [ "$wrong" = 0 ]
}

# sources PATTERN...: the files of the tree whose names fit one of the patterns.
sources() {
        for pattern; do
                # Folders that a release does not have yet are no error.
                # shellcheck disable=SC2086
                find $folders -name "$pattern" -type f 2>/dev/null || true
        done | sort
}

# A C header without comments, macros and what the preprocessor reads.
declarations() {
        cat "$@" | awk '
                { line = $0; text = "" }
                { while (line != "") {
                        if (comment) { at = index(line, "*/"); if (!at) break; line = substr(line, at + 2); comment = 0; continue }
                        at = index(line, "/*"); if (!at) { text = text line; break }
                        text = text substr(line, 1, at - 1) " "; line = substr(line, at + 2); comment = 1 } }
                macro || text ~ /^[ \t]*#/ { macro = text ~ /\\[ \t]*$/ || (comment && macro); next }
                { print text }'
}

# same NAME FILE NAME FILE: the two sorted files hold the same lines.
same() {
        { comm -23 "$2" "$4" | sed "s|^|only in $1: |"; comm -13 "$2" "$4" | sed "s|^|only in $3: |"; } >"$work/differences"
        all_bad "$work/differences"
}

# Each line of the file is something that is wrong.
all_bad() {
        while IFS= read -r line; do
                bad "$line"
        done <"$1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
