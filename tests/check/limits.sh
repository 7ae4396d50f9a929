#!/bin/sh
# The limits that pathwaysd(8) tells are those of the source.
# shellcheck source=tests/check/tree.sh
. "${PW_SRC:?}/tests/check/tree.sh"

# limit NAME FILE LABEL: the macro NAME of FILE is the last number of the line "LABEL" of the table.
# shellcheck disable=SC2004 # they hold sums, which dash reads when they are put in
limit() {
        value=$(sed -nE "s/^#define $1 +\(?(.*)/\1/p" "$2" | sed -E 's|/\*.*||; s/UINT64_C\(([0-9]+)\)/\1/g; s/PW_MIB/1048576/; s/(0x[0-9a-f]+|[0-9]+)u/\1/g; s/\)? *$//')
        told=$(sed -n "/^\.Sh LIMITS/,/^\.El/s/^\.It $3 Ta //p" man/pathwaysd.8 | head -n 1 | sed -E 's/, .*//; s/ bytes$//; s/^.* to //; s/ MiB$/*1048576/; s/ KiB$/*1024/')
        [ -n "$value" ] || bad "$2 has no $1"
        [ -n "$told" ] || bad "pathwaysd(8) has no limit \"$3\""
        [ -z "$value" ] || [ -z "$told" ] || [ "$(($value))" = "$(($told))" ] || bad "$3: $told in pathwaysd(8), $value in $2"
}
limit PW_DEVICES_MAX plane/board/board.h devices
limit PW_ISLANDS_MAX plane/board/board.h islands
limit PW_AHEAD_MAX scheduler/state.h 'gangs ahead of a device, Fl \\-ahead'
limit HOST_MAX daemon/meta/embedded.c 'number of the host'
limit PW_STORE_REQUESTS_MAX store/account/quota.h 'requests for room that wait'
limit PW_SLOT_MAX base/id.h 'objects that it made'
limit PW_HEARD_MAX_JOBS daemon/client/client.h 'compilations under way'
limit PW_HEARD_MAX_LISTINGS daemon/client/client.h 'listings under way'
limit PW_FRAME_MAX wire/frame.h 'a message'
limit PLAIN_MAX_BYTES daemon/client/request.c 'a request that is no program'
limit WAITS_OF_TENANT store/name/wanted.c 'lookups that wait' # the first of two
limit PW_ASKS_OF_TENANT daemon/peer/asks.h 'requests that other hosts are to answer'
limit PW_ASKS_OF_SESSION daemon/peer/asks.h 'its requests that other hosts are to answer'
limit PW_NAME_MAX_BYTES store/name.h 'a name, of printable ASCII'
limit PW_RANK_MAX base/pathways_types.h dims
limit PW_GRAPH_VALUES_MAX program/graph/graph.h values
limit PW_GRAPH_SLICES_MAX program/graph/graph.h slices
limit PW_GRAPH_STAGES_MAX program/graph/graph.h stages
limit PW_COMPILE_MODULES_MAX daemon/work/compile.h modules
limit PW_TASK_ARGS_MAX libclient/pathways_module.h 'inputs of a function'
limit PW_OUTPUTS_MAX libclient/pathways.h 'outputs of a function'
limit PW_MESH_AXES_MAX base/pathways_types.h 'axes of a mesh'
limit NAME_MAX_BYTES daemon/module/module_file.c 'its name: letters, digits, _ and \\-'
limit PW_MODULE_BYTES_MAX daemon/module/module_file.h 'its file'
limit INPUTS_MAX cli/run.c inputs
limit PARAMS_MAX cli/run.c parameters

# The functions of the module pw are those of its page, and what they refuse stands there.
sed -nE 's/^ +PW_FUNCTION\(([a-z_0-9]+),.*/\1/p' executor/modules/pw.c | sort >"$work/functions"
sed -nE '/^\.Ss Functions/,$s/^\.It Sy ([a-z_0-9]+)$/\1/p' man/pathways-pw.7 | sort >"$work/page"
[ -s "$work/functions" ] || bad "no function found in executor/modules/pw.c"
same executor/modules/pw.c "$work/functions" "pathways-pw(7)" "$work/page"
sed -nE 's/.*pw_shape_fail\(task, "([^"]*)".*/\1/p' executor/modules/pw.c | sed 's/%u/N/' | sort -u >"$work/refusals"
[ -s "$work/refusals" ] || bad "no refusal found in executor/modules/pw.c"
while read -r sentence; do
        grep -qF ".Dq $sentence " man/pathways-pw.7 || bad "pathways-pw(7) does not say \"$sentence\""
done <"$work/refusals"
finish
