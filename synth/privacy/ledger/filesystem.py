"""Where a ledger may lie: not on a file system that other machines write to, whose locks cannot be relied on."""

import ctypes
import os
import sys
from pathlib import Path

from synth.errors import InputError, LedgerLostError

SWITCH = "SYNTH_LEDGER_NETWORK"
# Magic numbers that statfs(2) tells of file systems shared by machines.
MAGIC = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x5346414F: "AFS",
    0x6B414653: "AFS",
    0x00C36400: "Ceph",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x20030528: "OrangeFS",
    0x73757245: "Coda",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
}
FUSE = 0x65735546  # programs of all kinds; which one, only the table of mounts says
FUSE_NETWORK = ("sshfs", "glusterfs", "s3fs", "rclone", "gcsfuse", "blobfuse", "davfs", "cephfs", "juicefs")


def real(path: str | Path) -> Path:
    """Where the file itself lies, behind every symbolic link: by an alias it would have a mark of its own.

    Errors: InputError for links that lead in a circle.
    """
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError):
        raise InputError(f"ledger {path}: its link leads to no file; name the file itself") from None


def check_links(path: Path) -> None:
    """Refuses a file with several names (hard links): each would have a mark, a key and a journal of its own.

    Errors: LedgerLostError, since a run that charged the file before may be under way.
    """
    try:
        links = os.stat(path).st_nlink
    except OSError:
        return
    if links > 1:
        raise LedgerLostError(
            f"ledger {path}: the file has {links} names (hard links), each with a mark of its own; remove all but one"
        )


def check(path: Path) -> None:
    """Refuses a ledger on a network file system. Errors: InputError naming the kind and the way out.

    There two machines may both believe that they hold the lock, and spend one budget twice. Setting
    ``SYNTH_LEDGER_NETWORK=allow`` vouches that one machine alone uses the ledger.
    """
    result = kind(path)
    if result is not None and os.environ.get(SWITCH) != "allow":
        raise InputError(
            f"ledger {path}: it lies on a network file system ({result}), whose locks do not keep two machines from "
            f"spending one budget twice; put it on a local disk, or set {SWITCH}=allow where one machine alone uses it"
        )


def kind(path: Path) -> str | None:
    """The kind of network file system that holds the path (or its nearest folder), None for a local or unknown one."""
    nearest = next((p for p in (path, *path.parents) if p.exists()), Path("/"))
    return named(magic(nearest), nearest)


def named(number: int | None, path: Path) -> str | None:
    """The network file system that statfs's number stands for, None for a local one.

    >>> named(0x6969, Path("/")), named(0xEF53, Path("/"))
    ('NFS', None)
    """
    if number == FUSE:
        return next((f"FUSE, {name}" for name in FUSE_NETWORK if name in mount_type(path)), None)
    return MAGIC.get(number) if number is not None else None


def magic(path: Path) -> int | None:
    """What statfs(2) calls the type of the file system, None where that cannot be had (not Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    reported = ctypes.create_string_buffer(512)  # more than any layout of struct statfs takes
    try:
        failed = ctypes.CDLL(None, use_errno=True).statfs(os.fsencode(path), reported)
    except (OSError, AttributeError):
        return None
    return None if failed else ctypes.c_ulong.from_buffer(reported).value & 0xFFFFFFFF


def mount_type(path: Path, *, table: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the mount that holds the path, as the system's table of mounts says; empty where it says nothing."""
    real, best = path.resolve(), ("", "")
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        left, _, right = line.partition(" - ")
        if len(left.split()) > 4 and right:
            point = left.split()[4].replace("\\040", " ")
            if real.is_relative_to(point) and len(point) >= len(best[0]):
                best = (point, right.split()[0])
    return best[1]
