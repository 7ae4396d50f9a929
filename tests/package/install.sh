#!/usr/bin/env bash
# The packages work: install.sh FOLDER, see README.md. Ends with 0, or says what is wrong.
set -euo pipefail
export LC_ALL=C
packages=$(readlink -f "${1:?the folder of the packages}")
here=$(readlink -f "$0")

die() { printf 'package: %s\n' "$*" >&2; exit 1; }

# The value of KEY in the unit's section Service.
of_unit() { sed -n "s|^$1=||p" "$root/lib/systemd/system/pathwaysd.service"; }

# Becomes a command, as the unit's user where we may.
exec_as() {
        if [ "$(id -u)" = 0 ]; then exec setpriv --reuid="$1" --regid="$(id -g "$1")" --clear-groups -- "${@:2}"; else exec "${@:2}"; fi
}

daemon=
end_daemon() { [ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null || true; }

# Everything that follows from installed packages below $root; $user is whom the daemon runs as.
try() {
        local work=$root/tmp/pathways-package line status=0 examples=$root/usr/share/doc/libpathways-dev/examples
        mkdir -p "$work" "$root/run/pathways" "$root/var/lib/pathways"
        chmod 755 "$work"
        # What a daemon of root has left there is the unit's user's, as StateDirectory= does it.
        [ "$(id -u)" != 0 ] || chown -R "$user" "$root/run/pathways" "$root/var/lib/pathways"

        # A module and a driver, from what libpathways-dev has.
        local flags=(-O2 -I"$(dirname "$examples")" -I"$root/usr/include" -L"$libraries" -lpathways)
        mkdir -p "$work/examples/digits"
        sed 's/["\\]/\\&/g; s/.*/"&\\n"/' "$examples/digits/digits.ptx" >"$work/examples/digits/digits.ptx.inc"
        cc -shared -fPIC "$examples"/digits/{digits,digits_cuda}.c -o "$work/digits.so" -I"$work" "${flags[@]}" -lm
        cc "$examples"/digits/{model,options,train}.c "$examples"/common/*.c -o "$work/digits" "${flags[@]}" -lz -lm

        # The unit's command line, with all paths below $root.
        line=$(of_unit ExecStart | sed -E "s|(^\| )/|\1$root/|g")
        printf 'devices = emulated:4\nislands = 2\nmodules = %s\n' "$work" >>"$root/etc/pathways.conf"
        mkfifo "$work/ready"
        # shellcheck disable=SC2086
        exec_as "$user" $line --ready-fd 3 3>"$work/ready" >"$work/log" 2>&1 </dev/null &
        daemon=$!
        read -r _ <"$work/ready" || { cat "$work/log" >&2; die "pathwaysd did not get ready"; }

        export PATHWAYS_SOCKET=$root/run/pathways/pathwaysd.sock LD_LIBRARY_PATH=$libraries
        "$work/digits" --devices 4 --data "$examples/digits/digits.csv.gz" | tee "$work/out"
        grep -q 'accuracy' "$work/out" || die "digits told no accuracy"
        "$root/usr/bin/pathways" memory | grep -qx 'unaccounted 0' || die "memory does not add up"
        "$root/usr/bin/pathways" status
        kill -HUP "$daemon"
        grep -qm 1 'config .*read again' < <(timeout 25 tail -n +1 -f "$work/log") || die "SIGHUP is not answered"
        kill -TERM "$daemon"
        wait "$daemon" || status=$?
        daemon=
        [ "$status" = 0 ] || { cat "$work/log" >&2; die "pathwaysd ended with $status"; }
        grep -q 'config read again.*changed=0' "$work/log" || { cat "$work/log" >&2; die "the settings were not read again"; }
        ! grep -q ' error ' "$work/log" || { cat "$work/log" >&2; die "the log has errors"; }
}

# Inside the copy of the system.
installed() {
        trap end_daemon EXIT
        export DEBIAN_FRONTEND=noninteractive
        dpkg --force-confnew -i "$packages"/pathways_*.deb "$packages"/libpathways-dev_*.deb ||
                apt-get -q -y --fix-broken --no-install-recommends install
        root=
        user=$(of_unit User)
        id "$user" >/dev/null || die "there is no user $user"
        libraries=$(dirname "$(ls /usr/lib/*/libpathways.so)")
        command -v systemd-analyze >/dev/null && systemd-analyze verify --man=no /lib/systemd/system/pathwaysd.service
        man -w pathwaysd >/dev/null 2>&1 || [ -e /usr/share/man/man8/pathwaysd.8.gz ] || die "no manual page"
        try
        apt-get -q -y purge pathways libpathways-dev
        if [ -e /usr/sbin/pathwaysd ] || [ -e /etc/pathways.conf ]; then die "purging leaves files"; fi
}

unpacked() {
        root=$(mktemp -d)
        trap 'end_daemon; rm -rf "$root"' EXIT
        chmod 755 "$root"
        for package in "$packages"/pathways_*.deb "$packages"/libpathways-dev_*.deb; do dpkg -x "$package" "$root"; done
        user=nobody
        libraries=$(dirname "$(ls "$root"/usr/lib/*/libpathways.so)")
        try
}

if [ "${2-}" = inside ]; then
        installed
elif [ "${2-}" != unpacked ] && [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
        work=$(mktemp -d)
        trap 'rmdir "$work"' EXIT
        # shellcheck disable=SC2016
        unshare -m --propagation private bash -eu -c '
                mount -t tmpfs none "$1" && cd "$1" && mkdir upper work root
                mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
                mount --rbind /proc root/proc && mount --rbind /dev root/dev
                mount -t tmpfs -o mode=755 none root/run && mount -t tmpfs -o mode=1777 none root/tmp
                mkdir root/tmp/packages && cp "$3"/*.deb root/tmp/packages/ && cp "$2" root/tmp/install.sh
                chroot root bash /tmp/install.sh /tmp/packages inside' - "$work" "$here" "$packages"
else
        unpacked
fi
echo "package: good"
