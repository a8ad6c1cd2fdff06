"""The one place where files are written: beside their place first, then under their name, whole or not at all.

Nothing is written through a link, over a device, or into a file that somebody else has laid there: a folder that a
stranger packed may hold links to anywhere. ``tests/test_architecture.py`` allows no other way of writing.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from synth.files import regular_files

PART = ".part"  # what the names of unfinished files end in; they begin with a point


def write(path: str | Path, content: str | bytes, *, private: bool = False, durable: bool = True) -> None:
    """A file with this content, text as UTF-8, in the place of what was there. Errors: OSError.

    ``private``: for its owner alone. ``durable``: on the disk before it takes its name; what is written many times a
    second need not be.
    """
    with beside(path, private=private, durable=durable) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def beside(path: str | Path, *, private: bool = False, durable: bool = True) -> Iterator[Path]:
    """An empty new file beside ``path``, to be written by name, which takes its place at the end; as ``write``."""
    path = Path(path)
    with _draft(path, private=private) as draft:
        yield draft
        if durable:
            _sync(draft)
        os.replace(draft, path)


@contextlib.contextmanager
def drafted(path: str | Path, content: str) -> Iterator[Callable[[], None]]:
    """A whole file on the disk beside ``path``; given is what puts it into that place, else it is removed at the end.

    For what must have its room before something else is done, and its name after it. Errors: OSError.
    """
    with _draft(Path(path), private=False) as draft:
        draft.write_bytes(content.encode())
        _sync(draft)
        yield lambda: os.replace(draft, path)


@contextlib.contextmanager
def _draft(path: Path, *, private: bool) -> Iterator[Path]:
    check(path)
    draft = path.with_name(f".{_short(path.name)}.{secrets.token_hex(6)}{PART}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def folder(out: str | Path) -> Iterator[Path]:
    """A hidden empty folder whose files take their names in ``out`` once all of them are whole.

    A new folder appears at once; in one that is there already each file takes its own name's place. What a killed
    process had begun is removed by the next. Errors: OSError.
    """
    out = Path(out)
    there = out.is_dir()
    home = out if there else out.parent
    home.mkdir(parents=True, exist_ok=True)
    begun = f".{_short(out.name)}.folder-"
    for left in (p for p in home.iterdir() if p.name.startswith(begun) and p.name.endswith(PART)):
        with contextlib.suppress(OSError, ValueError):  # where that cannot be told, its process is there
            try:
                os.kill(int(left.name[len(begun) :].partition("-")[0]), 0)
            except ProcessLookupError:
                shutil.rmtree(left, ignore_errors=True)
    draft = home / f"{begun}{os.getpid()}-{secrets.token_hex(6)}{PART}"
    try:
        draft.mkdir()
        yield draft
        if there:
            for file in sorted(draft.iterdir()):
                check(out / file.name)
            for file in sorted(draft.iterdir()):
                os.replace(file, out / file.name)
        else:
            os.rename(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _short(name: str) -> str:
    """The beginning of a name, so many bytes: a file system counts them, and a draft's name is longer by some."""
    return name.encode(errors="surrogateescape")[:100].decode(errors="ignore")


def check(path: Path) -> None:
    """Refuses to take the place of what is no regular file, and a name too long for one. Errors: OSError."""
    try:
        result = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(result.st_mode):
        raise OSError(errno.ELOOP, "a symbolic link, which is never written through; name the file itself", str(path))
    regular_files.check(result, path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
