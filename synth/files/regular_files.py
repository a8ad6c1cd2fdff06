"""Small files of text that somebody else may have written: read only where they are regular files of a sane size.

A named pipe, a device or a socket is never read: opening one can wait for ever, and reading one need not end.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO

MAX_BYTES = 32 << 20  # bytes of a schema, a card, a code book or a file of rules
ENDLESS = 1 << 40  # of what this tool writes itself, however long it grows


def is_file(path: str | Path) -> bool:
    """Whether there is a file of that name; none has one that is no path at all, of too many letters, or hidden."""
    return os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder of that name, as ``is_file``."""
    return os.path.isdir(path)


def opened(path: str | Path, *, follow: bool = True) -> IO[bytes]:
    """The file, opened for reading, never waiting for a writer; ``follow``: also through a link.

    Errors: OSError, its ``strerror`` for a message.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        check(os.fstat(handle), path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check(result: os.stat_result, path: str | Path) -> None:
    """Refuses what is no regular file. Errors: IsADirectoryError for a folder, else OSError."""
    if stat.S_ISDIR(result.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(result.st_mode):
        raise OSError(errno.EINVAL, "a pipe, a device or a socket, not a regular file", str(path))


def text(path: str | Path, *, encoding: str = "utf-8", most: int = MAX_BYTES) -> str:
    """The whole file as text. Errors: OSError, also for one of more than ``most`` bytes; UnicodeDecodeError."""
    with opened(path) as file:
        content = file.read() if os.fstat(file.fileno()).st_size <= most else None
    if content is None or len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB, more than such a file can need", str(path))
    return content.decode(encoding)
