# For the tests of train.sh, which source it: the losses of one host, and what trains over several.
# shellcheck shell=sh source=examples/common/daemon.sh
. "${PW_SRC:?}/examples/common/daemon.sh"

command -v redis-server >/dev/null || { echo "no redis-server here"; exit 77; }
export TMPDIR="${work:?}/hosts"
mkdir "$TMPDIR"
chmod 755 "$work" "$TMPDIR"
timeout 120 "$PW_BUILD/examples/parameter-server/parameter-server" --data examples/digits/digits.csv.gz --loss-file "$work/one" \
        >"$work/out" 2>&1 || { cat "$work/out"; bad "parameter-server: exit $?"; }

# hosts OPTION...: becomes train.sh; all that it starts can be told by its environment.
hosts() { exec env "HOSTS_OF_TEST=$work" examples/cluster/train.sh "$@" "$PW_BUILD"; }

# over NAME OPTION...: trains over hosts, keeps the losses in NAME.
over() {
        name=$1
        shift
        (hosts --loss-file "$work/$name" "$@") >"$work/out" 2>&1 || {
                cat "$work/out" "$TMPDIR"/*/*.log
                bad "train.sh $*: failed"
        }
        same_losses one "$name" 1400
        says '^accuracy 0\.9[0-9]+ on 360 rows never trained on$'
        nothing_left "train.sh $*"
        [ -z "$(ls "$TMPDIR")" ] || bad "train.sh $*: these files are left: $(ls "$TMPDIR")"
}

# says WHAT [TIMES]: the last training said so.
says() {
        [ "$(grep -cE "$1" "$work/out")" = "${2-1}" ] || { cat "$work/out"; bad "it does not say ${2-1} times: $1"; }
}

# What says that the last of three hosts was killed, and all that it cost.
says_killed() {
        says '^cluster: host 3 is killed: '
        # what it held is lost, or what it handed over was not opened yet
        says '^worker 2 is lost in step [0-9]+: .*host 3(, epoch [0-9]+, held it and was given up| is lost in its epoch [0-9]+, )'
        says '^1 of 3 workers were lost'
        says '^h3 +host3 .* (away|cut) ' 2
        says '^unaccounted 0$' 2
}

nothing_left() {
        # shellcheck disable=SC2016
        timeout 25 sh -c 'while grep -qsxz "HOSTS_OF_TEST=$0" /proc/[0-9]*/environ; do :; done' "$work" ||
                bad "$1: these processes are left: $(grep -lsxz "HOSTS_OF_TEST=$work" /proc/[0-9]*/environ)"
}

# shellcheck disable=SC2034
# during SIGNAL OPTION...: sends it to train.sh in the middle of a training. Its status is in $status.
during() {
        signal=$1 status=0
        shift
        rm -f "$work/says"
        mkfifo "$work/says"
        hosts "$@" >"$work/says" 2>"$work/err" &
        training=$!
        while read -r line; do
                case $line in *" 20 %"*) kill "-$signal" "$training" ;; esac
        done <"$work/says"
        wait "$training" || status=$?
        nothing_left "train.sh $*, which got SIG$signal"
}
