#!/bin/sh
# Builds the image with buildah: `make image`. Where docker or podman is, `docker build .` does the same.
#
#   container/image.sh [TAG]          with EXTRAS, WITHOUT, TORCH_INDEX, BASE, DEBIAN of the environment, as the Dockerfile has them
#
# Without BASE the Dockerfile's own is pulled; where no registry answers, a base is made of Debian's packages. What pip
# is told on this machine (an index of one's own, a folder of wheels, a certificate) holds in the build and stays out of
# the image. As root; within a container too, where it takes `BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs`.
# Ends with 3 where there is no base to build on.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tag=${1:-facsimile}
made=localhost/facsimile-base:bookworm
command -v buildah >/dev/null || { echo "image.sh: buildah is not installed: apt-get install buildah" >&2; exit 2; }
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}" STORAGE_DRIVER="${STORAGE_DRIVER:-vfs}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "${BASE:-}" ]; then
    BASE=$(sed -n 's/^ARG BASE=//p' "$here/../Dockerfile")
    if ! buildah inspect --type image "$BASE" >/dev/null 2>&1 && ! timeout 60 buildah pull -q "docker.io/library/$BASE" \
        >/dev/null 2>&1; then
        BASE=$made
    fi
fi
# (debootstrap follows no virtual packages: python3-distutils, which the venv needs, is named)
if [ "$BASE" = "$made" ] && ! buildah inspect --type image "$BASE" >/dev/null 2>&1; then
    command -v debootstrap >/dev/null || { echo "image.sh: no registry answers, and debootstrap is not installed: apt-get install debootstrap" >&2; exit 3; }
    echo "image.sh: no registry answers; the base is made of Debian's packages"
    debootstrap --variant=minbase --include=python3.11,python3.11-venv,python3-distutils,ca-certificates,libpangoft2-1.0-0,fonts-dejavu-core bookworm "$work/base" \
        "${DEBIAN:-http://deb.debian.org/debian}" >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 3; }
    (cd "$work/base" && rm -rf var/cache/apt/* var/lib/apt/lists/* usr/share/doc/* usr/share/man/* usr/share/locale/* \
        usr/share/info/* var/log/*)
    find "$work/base/usr" -name __pycache__ -prune -exec rm -rf {} +
    empty=$(buildah from scratch)
    buildah add -q "$empty" "$work/base" / >/dev/null
    buildah commit -q --rm "$empty" "$made" >/dev/null
fi

# what pip is told here, in a file that the build alone sees
told=$(python3 -m pip config list 2>/dev/null || true)
volumes=
{
    echo "[global]"
    echo "$told" | grep -v "='file:" | sed -nE "s/^global\.(index-url|extra-index-url|find-links|cert|trusted-host|timeout)='(.*)'$/\1 = \2/p"
} >"$work/pip.conf"
for place in $(sed -nE 's/^(find-links|cert) = //p' "$work/pip.conf"); do
    [ -e "$place" ] && volumes="$volumes --volume $(readlink -f "$place"):$place:ro"
done
began=$(date +%s)
# shellcheck disable=SC2086 # words apart are meant
buildah bud --quiet --format docker --layers=false --tag "localhost/$tag" --build-arg "BASE=$BASE" \
    ${EXTRAS+--build-arg "EXTRAS=$EXTRAS"} ${WITHOUT+--build-arg "WITHOUT=$WITHOUT"} ${TORCH_INDEX+--build-arg "TORCH_INDEX=$TORCH_INDEX"} \
    --volume "$work/pip.conf:/etc/pip.conf:ro" $volumes -f "$here/../Dockerfile" "$here/.." >"$work/id"
size=$(buildah images --format '{{.Size}}' "localhost/$tag" | head -1)
echo "localhost/$tag: $size, built in $(($(date +%s) - began)) s on $BASE"
