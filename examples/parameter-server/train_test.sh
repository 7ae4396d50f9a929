#!/bin/sh
# parameter-server on a private daemon: the losses of one process whatever the workers, also when one of them is killed in the
# middle; how far ahead the other modes go; what is held meanwhile; and nothing left over, also when the server is killed.
# shellcheck source=examples/common/daemon.sh
. "${PW_SRC:?}/examples/common/daemon.sh"

program=$PW_BUILD/examples/parameter-server/parameter-server
table=examples/digits/digits.csv.gz

# train NAME OPTION...: trains, keeps the losses in NAME.
train() {
        name=$1
        shift
        timeout 120 "$program" --data "$table" --loss-file "$work/$name" "$@" >"$work/out" 2>&1 ||
                { cat "$work/out"; bad "parameter-server $*: exit $?"; }
}

# during COMMAND STATUS NAME OPTION...: the same, and runs COMMAND after each tenth of the training; it ends with STATUS.
during() {
        act=$1 expected=$2 name=$3 worker='' server=''
        shift 3
        rm -f "$work/says" "$work/out"
        mkfifo "$work/says"
        timeout 120 "$program" --data "$table" --loss-file "$work/$name" "$@" >"$work/says" 2>&1 &
        trainer=$!
        while read -r line; do
                printf '%s\n' "$line" >>"$work/out"
                case $line in
                "server is process "*) server=${line##* } ;;
                "worker 1 is process "*) worker=${line##* } ;;
                "["*" %  run "*) "$act" ;;
                esac
        done <"$work/says"
        got=0
        wait "$trainer" || got=$?
        [ "$got" = "$expected" ] || { cat "$work/out"; bad "parameter-server $*: exit $got"; }
}

# says WHAT: the last training said so.
says() {
        grep -qE "$1" "$work/out" || { cat "$work/out"; bad "it does not say: $1"; }
}

once() {
        [ -z "$worker" ] || kill "-$signal" "$worker"
        worker=
}

kill_server() {
        [ -z "$server" ] || kill -KILL "$server"
        server=
}

# Objects of the server and of three workers: a table in 42 parts, images and labels each, and what is on its way.
count_objects() {
        held=$("$PW_BUILD/cli/pathways" objects | sed 1d | wc -l)
        [ "$held" -le $((4 * 42 * 2 + 3 * 12)) ] || bad "$held objects are held in the middle"
        [ "$held" -le "$counted" ] || counted=$held
}

nothing_left() {
        # shellcheck disable=SC2016
        timeout 25 sh -c 'until [ "$("$1" objects | wc -l)" = 1 ]; do :; done' - "$PW_BUILD/cli/pathways" ||
                { "$PW_BUILD/cli/pathways" objects; bad "$1: these objects are left"; }
}

timeout 120 "$PW_BUILD/examples/digits/digits" --data "$table" --epochs 200 --loss-file "$work/digits" >"$work/out" 2>&1 ||
        { cat "$work/out"; bad "digits: exit $?"; }
train one --epochs 200 --workers 1
same_losses digits one 2800
counted=0
during count_objects 0 three --epochs 200
same_losses digits three 2800
[ "$counted" -gt 100 ] || bad "no objects were counted in the middle"
says '^accuracy 0\.9[0-9]+ on 360 rows never trained on$'
says '^at most 0 steps ahead of the last$'
train devices --epochs 200 --workers 2 --devices 2 --sockets "$PATHWAYS_SOCKET,$PATHWAYS_SOCKET"
same_losses digits devices 2800

# Two at a time do not meet.
timeout 120 "$program" --data "$table" --loss-file "$work/beside" --epochs 200 --workers 2 >"$work/beside.out" 2>&1 &
beside=$!
train while --epochs 200 --mode bounded --staleness 3
says '^accuracy 0\.9[0-9]+ on'
says '^at most [123] steps ahead of the last$'
wait "$beside" || { cat "$work/beside.out"; bad "two trainings at a time"; }
same_losses digits beside 2800

# A worker that somebody else starts.
timeout 120 "$program" --worker 2 --run mine >"$work/worker.out" 2>&1 &
by_hand=$!
train mine --run mine --start 2 --epochs 200
wait "$by_hand" || { cat "$work/worker.out"; bad "a worker started by hand: exit $?"; }
same_losses digits mine 2800

# A worker that is killed, and one that is stopped.
signal=KILL
during once 0 killed --epochs 200
says '^worker 1 is lost in step [0-9]+: .* (its producer ended before it was ready|the object is gone)'
says '^1 of 3 workers were lost'
says '^accuracy 0\.9[0-9]+ on'
same_losses digits killed 2800
during once 0 async --epochs 200 --mode async
says '^worker 1 is lost'
says '^accuracy 0\.9[0-9]+ on'
signal=STOP
during once 0 stopped --epochs 200 --patience 5
says '^worker 1 is lost in step [0-9]+: it has not answered for 5 s'
same_losses digits stopped 2800
nothing_left "workers that are lost"

# Rows of the weights that a worker does not touch stay where they are.
train sparse --epochs 20 --levels 16 --rate 0.1
says 'a part touches [1-5][0-9][0-9] of the 1025 rows of the weights'
train whole --epochs 20 --levels 16 --rate 0.1 --workers 1
same_losses whole sparse 280

# A server that is killed.
during kill_server 137 nobody --epochs 200
says '^parameter-server: worker 2: .* (its producer ended before it was ready|the object is gone)'
nothing_left "a server that is lost"
well
