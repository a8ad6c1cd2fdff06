"""One run on a table, from a file to the release folder, and all that is seen of it outside the steward's store.

The rows go through `synth.run` itself: the reader of the file, cells placed at random, the bound on a person's rows,
the ledger, the mechanisms with their noise, the fit, the draw, the files. Nothing of it is replaced.
"""

import contextlib
import gc
import io
import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth import jobs
from synth.errors import InputError, SynthError
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.pipeline import run as pipeline
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.questions import CountsRelease, SlicesRelease
from synth.release import folder, safetensors_stream
from synth.schema.dataset import Dataset, taken
from synth.schema.table import Schema

# the ledger's, or time and memory, which an audit of one machine could not judge
UNSEEN = {"created", "ledger_entry", "started", "updated", "seconds", "seconds_left", "seconds_total"}
UNSEEN |= {"peak_mib", "pid", "pid_started", "seed"}
PRIVATE = {"steward.json"}  # the steward's own
PRIOR = "prior"  # the folder of an earlier release, where a canary has one
TIMED = {"status.json"}  # its length follows from the digits of its times
MOST_VALUES = 600  # numbers of an array that are looked at one by one
SMALL = Nested(options=TreeOptions(fits=1, roots=8, children=16, steps=30))  # a fit of hundredths of a second
LEAST_SIGMA = 1.0  # of counts, below which rounding changes their spread


@dataclass(frozen=True, kw_only=True)
class Observation:
    """``numbers`` and ``texts`` by where they stood; ``answers``: the first counts that were asked for, or slices along
    whole rotations, in units of their claimed noise, None without any. Their questions are fixed before anything is
    read."""

    numbers: Mapping[str, float]
    texts: Mapping[str, str]
    answers: np.ndarray | None = field(default=None, repr=False)


def observed_run(
    table: Any, source: str | None, request: RunRequest, schema: Schema | Dataset, place: Path
) -> Observation:
    """Runs the request once on a ``table``: a path, one at a ``source``, or rows in memory. ``place``: a folder that
    holds the table, its ledger, a prior; it is left as it was found."""
    before = {p.name for p in place.iterdir()}
    out, err = io.StringIO(), io.StringIO()
    notes: list[str] = []
    if source is not None:
        gc.collect()  # an earlier run's connection must not be this one's warning
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        code, message = _run(table, source, request, schema, place, notes)
    texts = {
        "exit code": str(code),
        "message": message,
        "notes": "\n".join(notes),
        "standard output": out.getvalue(),
        "standard error": err.getvalue(),
        "warnings": "\n".join(sorted(str(w.message) for w in warned)),
    }
    numbers: dict[str, float] = {}
    _look(place, before, numbers, texts)
    answers = _tables_and_answers(taken(schema), place / "out", numbers) if code == 0 else None
    for path in place.iterdir():
        if path.name not in before and not path.name.startswith("ledger."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Observation(
        numbers=numbers, texts={n: t.replace(str(place), "PLACE") for n, t in texts.items()}, answers=answers
    )


class _Noting(jobs.Reporter):
    """The reporter of a run on the command line, whose notes are listened to."""

    heard: list[str]

    def note(self, message: str) -> None:
        self.heard.append(message)
        super().note(message)


def _run(
    table: Any, source: str | None, request: RunRequest, schema: Schema | Dataset, place: Path, notes: list[str]
) -> tuple[int, str]:
    """Exit code and message, as the command line gives them."""
    job = jobs.create({}, folder=place / "job")
    report = _Noting(job, stages=pipeline.STAGES, bar=True)
    report.heard = notes
    try:
        with report:
            there: dict[str, Any] = {"ledger": place / "ledger.sqlite", "out": place / "out", "source": source}
            there |= {"table": table} if isinstance(table, str | Path) else {}
            request = request.changed(dataset="audit", device="cpu", prior=tuple(place.glob(PRIOR)), **there)
            rows = None if request.table else table
            smaller = SMALL if taken(schema).tree else None  # that is past all rows
            context = Context(rows=rows, reporter=report, log=place / "job" / "steward.json", questions=smaller)
            pipeline.carry_out(request, schema, context)
    except SynthError as error:
        report.finish("failed", str(error), error.exit_code)
        return error.exit_code, str(error)
    except Exception as error:  # the command line names the kind alone
        report.finish("failed", f"internal error {type(error).__name__}", 1)
        return 1, f"internal error {type(error).__name__}"
    report.finish("done", "done", 0)
    return 0, "done"


def _look(place: Path, before: set[str], numbers: dict[str, float], texts: dict[str, str]) -> None:
    """Names and sizes of files, what their JSON says and their arrays hold."""
    paths = [p for p in sorted(place.rglob("*")) if p.is_file() and p.name not in PRIVATE]
    paths = [p for p in paths if p.relative_to(place).parts[0] not in before and not p.name.startswith("ledger.")]
    texts["files"] = "\n".join(str(p.relative_to(place)) for p in paths)
    for path in paths:
        name = str(path.relative_to(place))
        if path.name not in TIMED:
            numbers[f"size of {name}"] = float(path.stat().st_size)
        if path.suffix == ".json":
            _leaves(json.loads(path.read_text(encoding="utf-8")), name, numbers, texts)
        elif path.suffix == ".safetensors":
            for array, values in safetensors_stream.read(path)[0].items():
                numbers |= {f"{name}: {array}, {i}": float(v) for i, v in enumerate(values.ravel()[:MOST_VALUES])}


def _leaves(plain: Any, name: str, numbers: dict[str, float], texts: dict[str, str]) -> None:
    """Everything that a JSON file says, by its place in it."""
    inside = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in inside:
        if key not in UNSEEN:
            _leaves(value, f"{name}: {key}", numbers, texts)
    if isinstance(plain, bool | str) or plain is None:
        texts[name] = str(plain)
    elif isinstance(plain, int | float):
        numbers[name] = float(plain)


def _tables_and_answers(schema: Schema | Dataset, out: Path, numbers: dict[str, float]) -> np.ndarray | None:
    """What each synthetic table holds, column by column, and row by row or how many children parents have; the first
    answers for ``Observation``, which of every table are asked for before anything is known of the rows."""
    tree = schema.tree is not None
    listed: list[tuple[str, Schema | None]] = [*schema.written.items()] if tree else [("", None)]
    for name, facts in listed:
        table = pd.read_csv(out / f"{name or 'synthetic'}.csv", dtype=str, keep_default_na=False)
        of, measured = (
            f"{name}." if name else "",
            [c for c in (facts.measured() if facts else table) if c != "person"],
        )
        numbers[f"rows of {name or 'the table'}"] = float(len(table))
        for column in measured:
            numbers |= {f"{of}{column} = {v}": float(n) for v, n in table[column].value_counts().items()}
        if not name:
            whole = table[measured].agg(" | ".join, axis=1).value_counts()
            numbers |= {f"row {v}": float(n) for v, n in whole.items()}
        elif key := schema.key_above(name if schema.several else schema.downwards[-1]):
            sizes = table.groupby(list(key.columns)).size().value_counts()
            numbers |= {f"parents with {n} rows of {name}": float(many) for n, many in sizes.items()}
    try:
        releases = folder.load_release(out, tree=tree).releases
    except InputError:  # a method whose release holds no counts
        return None
    parts = [v.ravel() / sigma for v, sigma in _first(releases, tree) if sigma >= LEAST_SIGMA]
    return np.concatenate(parts) if parts else None


def _first(releases: Any, tree: bool) -> Iterator[tuple[np.ndarray, float]]:
    """The first answers with the noise of each."""
    if tree:
        asked = [r for r in releases if r.question.view == "rows"]
        asked = [r for r in asked if all(len(m.bins) == 1 for m in r.question.marginals)]
    else:
        asked = [r for r in releases[:1] if isinstance(r, CountsRelease)]
        for r in (r for r in releases[:1] if isinstance(r, SlicesRelease) and r.directions is None):
            yield r.values, r.question.sigma
    for r in asked:
        yield from ((v, m.sigma) for m, v in zip(r.question.marginals, r.values, strict=True))
