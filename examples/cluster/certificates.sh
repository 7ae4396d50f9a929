#!/bin/sh
# An authority for a test, and a certificate of it for each host: what --tls-ca, --tls-cert and --tls-key want. In a cluster that
# matters an authority of yours does this, and its key stays where no daemon runs.
set -eu

usage() {
        cat <<END
Usage: certificates.sh [--days N] FOLDER HOST...
Makes FOLDER/ca.pem and FOLDER/ca-key.pem, unless they are there, and for each host FOLDER/HOST.pem and FOLDER/HOST-key.pem.
A certificate names its host as --host-name does, or uname -n. It is good for N days, 365 if not said.
END
        exit 2
}

days=365
if [ "${1-}" = --days ] && [ $# -ge 2 ]; then
        days=$2
        shift 2
fi
[ $# -ge 2 ] || usage
folder=$1
shift
umask 077
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quiet COMMAND...: says nothing unless it fails.
quiet() {
        "$@" >"$work/said" 2>&1 || {
                cat "$work/said" >&2
                exit 1
        }
}

cat >"$work/authority" <<END
[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
commonName = pathways test authority
[extensions]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
END
[ -e "$folder/ca.pem" ] || quiet openssl req -x509 -config "$work/authority" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc \
        -days 3650 -keyout "$folder/ca-key.pem" -out "$folder/ca.pem"

for host; do
        case $host in '' | *[!A-Za-z0-9._-]*) echo "certificates.sh: \"$host\" is no name of a host" >&2 && exit 2 ;; esac
        cat >"$work/host" <<END
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:$host
END
        quiet openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/O=pathways" \
                -keyout "$folder/$host-key.pem" -out "$work/request"
        quiet openssl x509 -req -in "$work/request" -CA "$folder/ca.pem" -CAkey "$folder/ca-key.pem" -days "$days" \
                -extfile "$work/host" -out "$folder/$host.pem"
done
