"""A folder of this process's own where DuckDB spills; what a killed process left there is removed by the next one.

What lies there is as private as the rows. A living process holds a lock on its folder, which the system lets go with
the process, however that ends; so nobody has to be known by a number, also not in another container.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX, LOCK = "facsimile-spill-", "lock"

_held: dict[int, Path] = {}  # by process: a fork has none of its own


def folder() -> Path:
    """This process's folder, made on first use, when also those that killed processes left are removed."""
    own = _held.get(os.getpid())
    if own is None or not own.is_dir():
        sweep()
        own = _held[os.getpid()] = _made()
    return own


def sweep() -> int:
    """Removes the folders of this user that no living process holds; how many.

    Errors: none; what cannot be removed stays. Privacy: public only.
    """
    left = [place for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _ours(place) and _left(place)]
    for place in left:
        shutil.rmtree(place, ignore_errors=True)
    return len(left)


def _made() -> Path:
    while True:
        place = Path(tempfile.mkdtemp(prefix=PREFIX))  # nobody else may look in there
        try:
            handle = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until the process ends
        except OSError:
            if place.is_dir() and not os.access(place, os.W_OK):
                raise
            continue  # another process swept between the two
        atexit.register(_gone, place, os.getpid())
        return place


def _gone(place: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(place, ignore_errors=True)


def _ours(place: Path) -> bool:
    try:
        return place.lstat().st_uid == os.getuid() and place.is_dir() and not place.is_symlink()
    except OSError:
        return False


def _left(place: Path) -> bool:
    """Whether nobody holds the folder. One without its lock is just being made, or was left then and is empty."""
    try:
        handle = os.open(place / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
