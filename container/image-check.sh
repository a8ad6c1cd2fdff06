#!/bin/sh
# Proves a built image as it is meant to run: read-only root file system, no network, user 10001 without any right.
# As root, on Linux with buildah; where PostgreSQL's programs are, also a table read from it, by its socket.
#
#   container/image-check.sh [TAG]
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tag=${1:-facsimile}
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}" STORAGE_DRIVER="${STORAGE_DRIVER:-vfs}"
work=$(mktemp -d)
chmod 755 "$work"
made=$(buildah from --pull-never "localhost/$tag")
trap 'buildah rm "$made" >/dev/null; [ ! -e "$work/pg/data" ] || $as "$bin/pg_ctl" -D "$work/pg/data" -m immediate stop >/dev/null; rm -rf "$work"' EXIT

source=
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
as="setpriv --reuid=postgres --regid=postgres --clear-groups"
if [ -n "$bin" ]; then
    install -d -o postgres -m 755 "$work/pg"
    cd /
    $as "$bin/initdb" -D "$work/pg/data" -U steward -A trust -N -E UTF8 --locale=C >/dev/null
    $as "$bin/pg_ctl" -D "$work/pg/data" -w -l "$work/pg/log" \
        -o "-k $work/pg -c listen_addresses='' -c unix_socket_permissions=0777" start >/dev/null
    zcat "$here/../data/town_survey.csv.gz" >"$work/pg/people.csv"
    columns=$(head -1 "$work/pg/people.csv" | sed 's/,/ text, /g')
    psql -q -h "$work/pg" -U steward postgres -c "CREATE TABLE people ($columns text)" \
        -c "\\copy people FROM '$work/pg/people.csv' CSV HEADER"
    source="postgres://steward@/postgres?host=/pg"
fi

root=$(buildah mount "$made")
buildah inspect --format '{{range .Docker.Config.Env}}{{println .}}{{end}}' "$made" >"$work/env"
told() { buildah inspect --format "{{$1}}" "$made"; }
[ "$(told .Docker.Config.User)" = 10001:10001 ] || { echo "image-check.sh: the image's user is another" >&2; exit 1; }
told .Docker.Config.Healthcheck | grep -q _stcore/health || { echo "image-check.sh: no health check" >&2; exit 1; }
began=$(date +%s)
ROOT=$root WORK=$work HERE=$here SOURCE=$source unshare --mount --net --pid --fork sh -euc '
    mount --make-rprivate /
    mount --bind "$ROOT" "$ROOT"
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs "$ROOT/tmp"
    mount -t tmpfs -o uid=10001,gid=10001,mode=700,noexec,nosuid,nodev tmpfs "$ROOT/state"
    mount -t tmpfs tmpfs "$ROOT/mnt"
    mkdir "$ROOT/mnt/check" "$ROOT/mnt/pg"
    mount --bind "$HERE" "$ROOT/mnt/check"
    if [ -n "$SOURCE" ]; then mount --bind "$WORK/pg" "$ROOT/mnt/pg"; fi
    python3 -c "import fcntl, socket, struct
with socket.socket() as s:  # the loopback device, the only one there is
    fcntl.ioctl(s, 0x8914, struct.pack(\"16sh\", b\"lo\", 0x41))"
    mount -o remount,bind,ro "$ROOT"
    if touch "$ROOT/written" 2>/dev/null; then echo "image-check.sh: the root can be written" >&2; exit 1; fi
    cd "$ROOT"
    exec env -i $(cat "$WORK/env") TMPDIR=/tmp ${SOURCE:+"CHECK_SOURCE=${SOURCE%/pg}/mnt/pg"} \
        chroot . setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all \
        /bin/sh /mnt/check/check.sh /opt/facsimile
'
echo "proved: read-only root file system, no network, user 10001 without rights, in $(($(date +%s) - began)) s"
