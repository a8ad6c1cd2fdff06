#!/bin/sh
# Proves an installation as the image runs it: read-only root file system, no network, a user without rights.
# Needs root, and Linux with unshare(1).
#
#   sh container/prove.sh TARGET
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=$(CDPATH='' cd -- "${1:?"name the folder of the virtual environment"}" && pwd)
work=$(mktemp -d)
trap 'rmdir "$work"' EXIT
chmod 755 "$work"
HERE=$here TARGET=$target WORK=$work unshare --net --mount sh -euc '
    mount --make-rprivate /
    mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs "$WORK"
    "$TARGET/bin/python" - <<END
import fcntl, socket, struct
with socket.socket() as any_socket:  # brings up the loopback device, the only one there is
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x41))
END
    mount -o remount,bind,ro /
    if touch /written 2>/dev/null; then echo "prove.sh: the root file system can be written" >&2; exit 1; fi
    cd "$WORK"
    exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all \
        env TMPDIR="$WORK" sh "$HERE/check.sh" "$TARGET"
'
echo "proved: read-only root file system, no network, user 65534 without rights"
