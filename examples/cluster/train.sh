#!/usr/bin/env bash
# Trains digits by the parameter server over several hosts, which it makes: a redis-server and a daemon for each host, a worker at
# each, the server at the first. Where it may, it does so in a network of its own, in which each host has a namespace, and they speak
# TLS; else the hosts are daemons on loopback that share a secret.
# Nothing is left of it, however it ends: the network goes with the last process in it, and the processes with this one.
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
self=$(readlink -f "$0")
here=${self%/*}

usage() {
        cat <<END
Usage: train.sh [OPTION]... BUILD
Trains digits by the parameter server over several hosts on this machine, of the build tree BUILD.

      --hosts N           From 2 to 9 (3).
      --kill              Kill the last host, with all that runs there, when half of the steps are done.
      --loopback          Make no network namespaces, though it may.
      --epochs N          Go N times over the rows (100).
      --loss-file FILE    Write the loss of each step there, one to a line.
END
}

say() { printf '%s\n' "cluster: $*"; }
die() { say "$@" >&2; exit 1; }
misused() { usage >&2; exit 2; }

# --- its end ------------------------------------------------------------------------------------------------------------

work=
processes=() # that are to end when this one does, the last of them first

# Logs are kept where something went wrong.
end_all() {
        local status=$? i
        trap '' INT TERM HUP PIPE
        for ((i = ${#processes[@]} - 1; i >= 0; i--)); do
                kill -TERM "${processes[i]}" 2>/dev/null || continue
                wait "${processes[i]}" 2>/dev/null || true
        done
        case $status in
        0 | 129 | 130 | 141 | 143) rm -rf "$work" ;;
        *) [ -z "$work" ] || say "the logs are in $work" >&2 ;;
        esac
}

# --- a network ------------------------------------------------------------------------------------------------------------

# apart COMMAND...: replaces this process by the command, in a network namespace of its own, where it may make more of them.
apart() {
        local flags=(--net)
        [ "$(id -u)" = 0 ] || flags+=(--map-current-user --keep-caps)
        exec unshare "${flags[@]}" "$@"
}

# What makes the network below, tried once.
# shellcheck disable=SC2016
may_make_network() {
        (apart sh -ec 'ip link set lo up; ip link add wire type bridge; ip link add near type veth peer name far; exec unshare --net true') >/dev/null 2>&1
}

make_network() { ip link set lo up && ip link add wire type bridge && ip link set wire up; }

# shellcheck disable=SC2016
# Between the namespace of process $2, which is host $1, and the wire.
connect_host() {
        ip link add "host$1" type veth peer name eth0 netns "$2"
        ip link set "host$1" master wire up
        nsenter --net --target "$2" sh -ec 'ip link set lo up; ip address add "$0" dev eth0; ip link set eth0 up' "10.0.0.$1/24"
}

# --- processes ------------------------------------------------------------------------------------------------------------

# What ends with this process, even if that is killed.
tied=(setpriv --pdeathsig KILL)
daemons=() # by host, from 1 on
workers=()

start_redis() {
        local line log=$work/redis.log
        mkfifo "$work/redis.says"
        "${tied[@]}" redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --appendonly no --dir "$work" \
                >"$work/redis.says" 2>&1 </dev/null &
        processes+=($!)
        exec 5<"$work/redis.says"
        while read -r line <&5; do
                printf '%s\n' "$line" >>"$log"
                case $line in *"eady to accept connections"*) return ;; esac
        done
        cat "$log" >&2
        die "redis-server ended before it was ready"
}

# How host $1 proves who it is, and to whom.
make_proofs() {
        local k names=()
        for ((k = 1; k <= hosts; k++)); do names+=("host$k"); done
        if [ "$inside" = 1 ]; then
                "$here/certificates.sh" "$work/proof" "${names[@]}"
        else
                (umask 077 && mkdir "$work/proof" && head -c 32 /dev/urandom >"$work/proof/secret")
        fi
}

# Returns when its devices are ready. In a namespace of its own the process says that it has one, and becomes the daemon when that
# has an address.
start_host() {
        local k=$1 dir=$work/host$1 own=() flags=() line
        mkdir "$dir"
        mkfifo "$dir/go" "$dir/says"
        [ "$k" != 1 ] || flags+=(--new-cluster)
        # Nobody answers for a host that is gone: it is given up when it was silent for so long.
        [ "$kill" = 0 ] || flags+=(--lease 1s)
        if [ "$inside" = 1 ]; then
                own=(unshare --net)
                flags+=(--listen "10.0.0.$k:7400" --tls-ca "$work/proof/ca.pem"
                        --tls-cert "$work/proof/host$k.pem" --tls-key "$work/proof/host$k-key.pem")
        else
                flags+=(--listen 127.0.0.1:0 --secret-file "$work/proof/secret")
        fi
        # shellcheck disable=SC2016
        "${tied[@]}" "${own[@]}" sh -c 'echo >&3; read -r _ && exec "$@" </dev/null' - \
                "$build/daemon/pathwaysd" --run-dir "$dir/run" --state-dir "$dir/state" --ready-fd 3 \
                --executor "$build/executor/pathways-executor" --modules "$build/examples/digits/.libs" --devices emulated:2 \
                --host-memory 256MiB --device-memory 32MiB --metadata "redis+unix:$work/redis.sock" --cluster digits \
                --host-name "host$k" "${flags[@]}" >"$work/host$k.log" 2>&1 3<>"$dir/says" <>"$dir/go" &
        daemons[k]=$!
        processes+=("${daemons[k]}")
        exec 6<"$dir/says"
        read -r line <&6 || die "host $k ended at once: $(tail -n 1 "$work/host$k.log")"
        [ "$inside" = 0 ] || connect_host "$k" "${daemons[k]}"
        echo 1<>"$dir/go"
        read -r line <&6 || die "host $k ended before it was ready: $(tail -n 1 "$work/host$k.log")"
        exec 6<&-
}

# at HOST COMMAND...: the process that comes to be is the command, on that host.
at() {
        local there=()
        [ "$inside" = 0 ] || there=(nsenter --net --target "${daemons[$1]}")
        exec "${tied[@]}" "${there[@]}" "${@:2}"
}

socket() { printf '%s\n' "$work/host$1/run/pathwaysd.sock"; }

start_worker() {
        at "$1" "$program" --worker $(($1 - 1)) --run digits --devices 2 --socket "$(socket "$1")" >"$work/worker$1.log" 2>&1 </dev/null &
        workers[$1]=$!
        processes+=($!)
}

# The namespace, if there is one, goes with them; the executors go with the daemon.
kill_host() {
        kill -KILL "${daemons[$1]}" "${workers[$1]}"
        wait "${daemons[$1]}" "${workers[$1]}" 2>/dev/null || true
        [ ! -t 1 ] || echo
        say "host $1 is killed: its daemon ${daemons[$1]}, the executors, its worker ${workers[$1]}"
}

# --- training -------------------------------------------------------------------------------------------------------------

train() {
        local status=0 server k flags=(--start 0 --run digits --workers "$hosts" --devices 2 --epochs "$epochs")
        [ -z "$losses" ] || flags+=(--loss-file "$losses")
        mkfifo "$work/half"
        at 1 "$program" --socket "$(socket 1)" --data "$here/../digits/digits.csv.gz" --half-fd 4 "${flags[@]}" 4<>"$work/half" </dev/null &
        server=$!
        processes+=("$server")
        if [ "$kill" = 1 ] && read -r _ <"$work/half"; then
                kill_host "$hosts"
        fi
        wait "$server" || status=$?
        [ "$status" != 141 ] || exit 141
        [ "$status" = 0 ] || die "the training failed ($status)"
        for ((k = 1; k <= hosts - kill; k++)); do
                wait "${workers[k]}" || die "worker $((k - 1)) failed: $(tail -n 1 "$work/worker$k.log")"
        done
}

# What an operator sees, at each host that is left.
show_hosts() {
        local k unaccounted last=$((hosts - kill))
        for ((k = 1; k <= last; k++)); do
                say "pathways hosts, at host $k"
                "$build/cli/pathways" hosts --socket "$(socket "$k")"
        done
        for ((k = 1; k <= last; k++)); do
                say "pathways memory, at host $k"
                "$build/cli/pathways" memory --host . --socket "$(socket "$k")" | tee "$work/memory"
                unaccounted=$(tail -n 1 "$work/memory")
                [ "$unaccounted" = "unaccounted 0" ] || die "the memory of host $k does not add up"
                "$build/cli/pathways" check --socket "$(socket "$k")" >"$work/check" || die "host $k: $(tail -n 1 "$work/check")"
                ! "$build/cli/pathways" objects --host . --socket "$(socket "$k")" | grep -q named: || die "a name is left at host $k"
        done
}

# Daemons that were not killed end well.
stop_hosts() {
        local k status last=$((hosts - kill))
        for ((k = last; k >= 1; k--)); do
                status=0
                kill -TERM "${daemons[k]}"
                wait "${daemons[k]}" || status=$?
                [ "$status" = 0 ] || die "the daemon of host $k ended with $status"
        done
}

# --- its command line -----------------------------------------------------------------------------------------------------

# --inside: it is in a network namespace of its own already.
hosts=3 kill=0 loopback=0 epochs=100 losses='' inside=0
arguments=("$@")
while [ $# -gt 1 ]; do
        case $1 in
        --hosts) hosts=$2 && shift ;;
        --epochs) epochs=$2 && shift ;;
        --loss-file) losses=$2 && shift ;;
        --kill) kill=1 ;;
        --loopback) loopback=1 ;;
        --inside) inside=1 ;;
        *) misused ;;
        esac
        shift
done
case ${1-} in
-h | --help) usage && exit ;;
'' | -*) misused ;;
esac
case $hosts in [2-9]) ;; *) misused ;; esac
build=$(readlink -f "$1")
program=$build/examples/parameter-server/parameter-server
[ -x "$program" ] || die "$1 is no build tree: it has no examples/parameter-server/parameter-server"

if [ "$inside$loopback" = 00 ] && may_make_network; then
        apart "$self" --inside "${arguments[@]}"
fi
if [ "$inside" = 1 ]; then
        make_network
        say "$hosts hosts, each in a network namespace of its own, with TLS"
elif [ "$loopback" = 1 ]; then
        say "$hosts hosts on loopback, with a secret"
else
        say "$hosts hosts on loopback, with a secret: network namespaces may not be made here"
fi
trap end_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
work=$(mktemp -d)
# Where the daemons are root their executors are not: they reach their sockets through this folder.
chmod 755 "$work"
start_redis
make_proofs
for ((k = 1; k <= hosts; k++)); do start_host "$k"; done
for ((k = 1; k <= hosts; k++)); do start_worker "$k"; done
train
show_hosts
stop_hosts
