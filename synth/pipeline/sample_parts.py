"""Rows from a stored model into a folder of Parquet files: drawn side by side, and gone on with where they stopped.

Every file is a part of its own, drawn from a seed of its own that follows from the whole's: who draws it, when, and
beside how many others makes no difference to its bytes. A part appears whole or not at all; one that is there is not
drawn again. Beside the parts stand their checksums, as ``sha256sum -c _SHA256SUMS`` reads them.
"""

import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np

from synth.errors import InputError, UsageError
from synth.files import whole_files
from synth.pipeline.condition import allowed_by
from synth.pipeline.draw_rows import Drawn, rows_at_a_time
from synth.pipeline.related_condition import Condition
from synth.release import folder

ABOUT, SUMS = "_parts.json", "_SHA256SUMS"  # by their names, readers of folders of Parquet pass such files over
FORMAT = "facsimile-parts/1"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a folder of parts holds; whoever has the model can draw any of them.

    ``model``: SHA-256 of the model's two files. ``rows``: of each part but the last. ``where``: a condition's words.
    """

    model: str
    num_rows: int
    rows: int
    seed: int
    where: dict[str, str]

    @property
    def count(self) -> int:
        """Number of files."""
        return -(-self.num_rows // self.rows)

    def name(self, part: int) -> str:
        """A part's file."""
        return f"part-{part:06d}.parquet"

    @classmethod
    def there(cls, out: Path) -> Self | None:
        """What the folder says of itself; None where it holds no parts. Errors: InputError where it is damaged."""
        try:
            parsed = json.loads((out / ABOUT).read_text())
            if parsed.pop("format") != FORMAT:
                raise ValueError
            return cls(**parsed)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise InputError(f"{out / ABOUT}: not readable; remove the folder, or name another one") from None


def write(
    model: str | Path,
    stored: folder.StoredModel,
    out: Path,
    *,
    num_rows: int,
    seed: int | None,
    where: Mapping[str, str],
    allowed: Condition,
    workers: int | None = None,
    draw: "Callable[[Parts, list[int]], dict[str, str]] | None" = None,
) -> None:
    """All parts of ``out`` that are not there, and the checksums of all. ``stored``: what ``model`` holds.

    ``workers``: processes, by default one for each processor. ``draw``: who draws parts in their place, and returns the
    checksums by file.

    **Guarantee**: that of the model's release. Errors: InputError for a folder of other rows, or one that cannot be
    written to; UsageError.

    Privacy: released answers only.
    """
    before = Parts.there(out)
    parts = Parts(
        model=_digest(Path(model)),
        num_rows=num_rows,
        rows=rows_at_a_time(stored.schema),
        seed=_seed(seed, before),
        where=dict(where),
    )
    if before is not None and before != parts:
        raise UsageError(f"`out={out}`: it holds parts of other rows ({_apart(before, parts)}); name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        if before is None and any(out.iterdir()):
            raise UsageError(f"`out={out}`: the folder holds other files; name one that is empty or not there")
        whole_files.write(out / ABOUT, json.dumps({"format": FORMAT, **asdict(parts)}) + "\n")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or 'input/output error'})") from None
    left = [p for p in range(parts.count) if not (out / parts.name(p)).exists()]
    many = min(workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, len(left))
    if draw is not None:
        drawn = draw(parts, left) if left else {}
    elif many <= 1:
        drawn = {parts.name(p): part(stored, parts, out, p, allowed) for p in left}
    else:
        drawn = _draw_side_by_side(Path(model), out, [left[i::many] for i in range(many)])
    _add_sums(out, parts, drawn)
    for begun in out.glob(".part-*.part"):  # by a call that was killed
        begun.unlink(missing_ok=True)


def _seed(seed: int | None, before: Parts | None) -> int:
    if seed is not None:
        return seed
    return before.seed if before is not None else secrets.randbits(32)


def _apart(before: Parts, parts: Parts) -> str:
    names = {
        "model": "model",
        "num_rows": "`num_rows=`",
        "rows": "rows of a part",
        "seed": "`seed=`",
        "where": "`where=`",
    }
    return "another " + " and ".join(
        reported for n, reported in names.items() if getattr(before, n) != getattr(parts, n)
    )


def _digest(model: Path) -> str:
    path = model / "model.json" if model.is_dir() else model
    both = hashlib.sha256()
    for file in (path, path.with_suffix(".safetensors")):
        with file.open("rb") as opened:
            both.update(hashlib.file_digest(opened, "sha256").digest())
    return both.hexdigest()


def part(stored: folder.StoredModel, parts: Parts, out: Path, number: int, allowed: Condition) -> str:
    """Draws one part into its file; its SHA-256.

    Errors: InputError. Privacy: released answers only.
    """
    first = number * parts.rows
    rng = np.random.default_rng([parts.seed, number])
    size = min(parts.rows, parts.num_rows - first)
    drawn = Drawn(stored.model, stored.schema, size, rng=rng, where=allowed or None, first=first + 1)
    folder.write_listed(out / parts.name(number), drawn.listed())
    return checksum(out / parts.name(number))


def checksum(path: Path) -> str:
    """The SHA-256 of a file. Privacy: public only."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _add_sums(out: Path, parts: Parts, drawn: Mapping[str, str]) -> None:
    """Writes the checksums of all parts: those just drawn, those known before, and others from their files.

    Errors: InputError for a part that is not there.
    """
    lines = (out / SUMS).read_text().splitlines() if (out / SUMS).exists() else []
    known = {name: held for held, _, name in (line.partition("  ") for line in lines)} | dict(drawn)
    names = [parts.name(p) for p in range(parts.count)]
    absent = [n for n in names if not (out / n).exists()]
    if absent:
        raise InputError(
            f"{out}: {len(absent)} parts are not there; the folder must lie on a disk that all who draw share"
        )
    listed = "".join(f"{known.get(n) or checksum(out / n)}  {n}\n" for n in names)
    whole_files.write(out / SUMS, listed)


def _draw_side_by_side(model: Path, out: Path, turns: list[list[int]]) -> dict[str, str]:
    """Processes of their own: text and files are made under one interpreter's lock each. Returns the checksums.

    Errors: InputError with what the first that failed says.
    """
    threads = {"OMP_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    helpers = [
        subprocess.Popen(
            [sys.executable, "-m", "synth.pipeline.sample_parts", str(model), str(out), json.dumps(turn)],
            env={**os.environ, **threads},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for turn in turns
    ]
    try:
        said = [(*h.communicate(), h.returncode) for h in helpers]
    finally:
        for helper in helpers:
            helper.kill()
    for _, text, code in said:
        if code:
            reported = (
                text.strip() if text.strip().count("\n") == 0 else ""
            )  # more than a line is Python's own complaint
            raise InputError(reported or f"{out}: a process that drew rows was ended; call again to go on")
    return {name: held for answer, _, _ in said for name, held in json.loads(answer).items()}


def _main(model: str, out: str, turn: str) -> None:
    """A helper's part of the work."""
    parts = Parts.there(Path(out))
    if parts is None:
        sys.exit(f"{out}: the folder was removed while rows were drawn")
    stored = folder.load_model(model)
    allowed = allowed_by(stored.schema, parts.where)
    try:
        drawn = {parts.name(p): part(stored, parts, Path(out), p, allowed) for p in json.loads(turn)}
    except InputError as error:
        sys.exit(str(error))
    print(json.dumps(drawn))


if __name__ == "__main__":
    _main(*sys.argv[1:])
