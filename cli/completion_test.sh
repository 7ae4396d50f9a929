#!/bin/bash
# What `pathways --completion` prints works in bash.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

"$PW_BUILD/cli/pathways" --completion >"$work/completion"
bash -n "$work/completion" || bad "bash cannot read the completion"
# shellcheck source=/dev/null
. "$work/completion"

# complete WORD...: what the last word becomes, sorted, on a line
complete_words() {
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _pathways
        [ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}
# expect WORDS -- WORD...
expect() {
        local want=$1 got
        shift
        got=$(complete_words "$@")
        [ "$got" = "$want" ] || bad "\"$*\" becomes \"$got\", not \"$want\""
}

expect 'object objects ' pathways obj
expect 'memory ' pathways me
expect '--wait ' pathways get --w
expect '--seconds --socket ' pathways trace --s
expect 'f16 f32 f64 ' pathways put --dtype f
expect '' pathways status --nothing
touch "$work/a file" "$work/another"
cd "$work" || exit 1
expect 'a file another ' pathways put a
expect 'a file another ' pathways get name -o a
for name in $("$PW_BUILD/cli/pathways" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\).*/\1/p'); do
        case " $(complete_words pathways "$name") " in
        *" $name "*) ;;
        *) bad "$name is not completed" ;;
        esac
        for option in $("$PW_BUILD/cli/pathways" "$name" --help | grep -oE -- '^ +(-., )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
                case " $(complete_words pathways "$name" "$option") " in
                *" $option "*) ;;
                *) bad "$name $option is not completed" ;;
                esac
        done
done
finish
