"""How commands answer: one JSON object or a few lines on stdout, everything else on stderr."""

import contextlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, TextIO

from synth.cli.guide import unknown
from synth.cli.spelling import spelled
from synth.errors import MACHINE, UsageError, ended
from synth.files import whole_files

NUMBERS = {  # the parser's own words for a number that is none, and ours
    "Input should be a valid integer, unable to parse string as an integer": "write a whole number",
    "Input should be a valid number, unable to parse string as a number": "write a number",
}


def answer(plain: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """One JSON object on stdout, or lines, which are made only then. Errors: OSError where it cannot be written."""
    if as_json:
        print(json.dumps(plain, ensure_ascii=False), flush=True)
        return
    for line in lines:
        print(line)


def as_file(plain: Any) -> str:
    """Data as the text of a file."""
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def leave(message: str, code: int) -> NoReturn:
    """One line on stderr, and the exit code: 5 where something was charged, whatever followed."""
    message, code = ended(message, code)
    with contextlib.suppress(OSError):  # nobody may be there to read it; the exit code still tells
        print(f"synth: {' '.join(spelled(message).split())}", file=sys.stderr, flush=True)
    _hush(sys.stdout)
    sys.exit(code)


def _hush(stream: TextIO) -> None:
    """A stream that can no longer be written must not change the exit code when the process ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def foreign(error: Exception) -> tuple[str, int]:
    """Message and exit code of an error that is not ours; its text is shown only where it cannot quote a cell."""
    shown = getattr(error, "format_message", None)  # a usage error of the command line parser
    if shown is not None:
        words = shown()
        for theirs, ours in NUMBERS.items():
            words = words.replace(theirs, ours)
        _, _, below = str(getattr(getattr(error, "ctx", None), "command_path", "")).partition(" ")
        help_of = " ".join(["synth", *below.split(), "--help"])
        return f"{(unknown(error) or words).rstrip('.')} (see `{help_of}`)", UsageError.exit_code
    if isinstance(error, OSError):
        return f"{error.filename or 'file'}: {error.strerror or type(error).__name__}", MACHINE
    return f"internal error {type(error).__name__}; please report it with the command you ran", 1


def tell(notes: Iterable[str]) -> None:
    """Lines on stderr."""
    for line in notes:
        print(spelled(line), file=sys.stderr)


def names(text: str | None) -> list[str]:
    """The parts of a comma-separated option.

    >>> names("A, B,,C")
    ['A', 'B', 'C']
    """
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def check_writable(path: Path) -> None:
    """Refuses a file that could not be written. Errors: UsageError."""
    try:
        whole_files.check(path)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise UsageError(f"{path}: {reason}; choose another --out") from None
    if path.is_dir() or not path.absolute().parent.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise UsageError(f"{path}: cannot be written; choose another --out")


def write_text(path: Path, text: str) -> None:
    """Writes a file. Errors: UsageError when it cannot be written."""
    try:
        whole_files.write(path, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; choose another --out") from None
