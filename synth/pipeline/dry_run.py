"""A whole run on made-up rows: measured, fitted, sampled and written to a temporary folder, which is then removed.

The ledger, the rows and the release are made for it and thrown away; no private row is read, nothing is charged.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import COMMITTED, SpentError, SynthError, UsageError
from synth.generators.core.related import Nested
from synth.jobs import Cancelled
from synth.pipeline.charge import ChargedRun
from synth.pipeline.fit_and_draw import fit_and_sample, write
from synth.pipeline.methods import check_pure, generator_named, granted, resolve_device
from synth.pipeline.prepare import Context, RunPlan
from synth.pipeline.private_rows import wanted
from synth.pipeline.rehearsal import made_up, most_roots
from synth.pipeline.request import RunRequest
from synth.pipeline.schema_approval import adjacency_of, with_target
from synth.pipeline.uses import with_uses
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.row_marks import NOBODY
from synth.privacy.relation import relation_named
from synth.schema import codec, persons
from synth.schema.dataset import ONE, Dataset
from synth.schema.enforcement import Rules
from synth.schema.persons import taken
from synth.schema.table import Schema
from synth.sources.table_source import place_of

ROWS, WRITTEN = 500, 5  # most rows that are made up; rows of the table that is written
STAGES = ("read", "measure", "fit", "sample", "write")
LEFT_OUT = ("the table's own form and size", "learning of missing facts", "the real ledger and output folder")


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """``done``: stages rehearsed to their end; ``left``: those that the time did not allow; ``rows``: made up.

    >>> print(DryRun(done=("read",), left=("measure", "fit"), rows=500, seconds=30.1).in_words().split("; never")[0])
    rehearsed on 500 made-up rows in 30 s: read; not rehearsed, for want of time (`seconds=`): measure, fit
    """

    done: tuple[str, ...]
    left: tuple[str, ...]
    rows: int
    seconds: float

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return {**asdict(self), "never": list(LEFT_OUT)}

    def in_words(self) -> str:
        """One line."""
        short = f"; not rehearsed, for want of time (`seconds=`): {', '.join(self.left)}" if self.left else ""
        return (
            f"rehearsed on {self.rows} made-up rows in {self.seconds:.0f} s: {', '.join(self.done) or 'nothing'}{short}"
            f"; never rehearsed: {', '.join(LEFT_OUT)}"
        )


def dry_run(
    schema: Schema | Dataset,
    *,
    rows: int,
    epsilon: float,
    delta: float,
    method: str = "mixture",
    relation: str = "add_remove",
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    uses: str | Sequence[str | Mapping[str, Any]] = (),
    seconds: float = 30.0,
) -> DryRun:
    """All that such a run would do after its spend, on at most ``ROWS`` rows drawn evenly from the schema.

    The time is looked at whenever a stage tells of progress: a stage that tells of none goes on to its end.
    Errors: UsageError for what the run would be refused for, or for what would strike it after the spend.

    **Guarantee**: none is needed, for no row is private; no ledger but its own is touched.

    Privacy: public only: its rows are made up.
    """
    began, many = time.monotonic(), min(rows, ROWS)
    watch = _Watch(until=began + seconds)
    request = RunRequest(
        epsilon=epsilon, delta=delta, method=method, relation=relation, num_rows=WRITTEN, seed=0, options=options
    )
    facts = with_target(schema, target)
    facts = with_uses(facts, uses)
    try:
        with tempfile.TemporaryDirectory(prefix="synth-dry-run-") as folder, uncharged():
            request = request.changed(out=Path(folder) / "release")
            _through(_plan(taken(facts), many, request, Path(folder)), Path(folder), watch)
    except SpentError as error:
        cause = error.__cause__
        if not isinstance(cause, Cancelled):
            reason = str(cause) if isinstance(cause, SynthError) else f"{type(cause).__name__}: {cause}"
            raise UsageError(
                f"method {method} with these options would fail after the spend, in the stage {watch.at}, as it does "
                f"on made-up rows of this schema ({reason}); choose other options or another method"
            ) from None
    return DryRun(done=watch.done(), left=watch.left(), rows=many, seconds=time.monotonic() - began)


class _Watch:
    """A reporter that keeps the stages and stops the run once the time is over."""

    def __init__(self, *, until: float) -> None:
        self.until, self.at, self.ended = until, "", False

    def stage(self, name: str) -> None:
        """Notes the stage. Errors: Cancelled."""
        self.at = name
        self.progress(0.0)

    def progress(self, _: float) -> None:
        """Errors: Cancelled once the time is over."""
        if time.monotonic() > self.until:
            raise Cancelled

    def note(self, message: str) -> None:
        """Ignored."""

    def done(self) -> tuple[str, ...]:
        """Stages that came to their end."""
        return STAGES if self.ended else STAGES[: self._place()]

    def left(self) -> tuple[str, ...]:
        """Stages that did not."""
        return STAGES[len(self.done()) :]

    def _place(self) -> int:
        return STAGES.index(self.at) if self.at in STAGES else 0


def _plan(schema: Schema | Dataset, rows: int, request: RunRequest, folder: Path) -> RunPlan:
    """A checked plan on made-up rows, with a ledger of its own. Errors: UsageError, InputError."""
    link = relation_named(request.relation)
    adjacency = adjacency_of(schema, link)
    for table in schema.tables.values():
        Rules(table)
    generator = generator_named(request.method, link, request.options, tree=schema.tree is not None)
    generator = generator.quick() if isinstance(generator, Nested) else generator
    if request.delta == 0:
        check_pure(generator)
    plan = RunPlan(
        request=request,
        rows=wanted({n: place_of(f) for n, f in _frames(schema, rows).items()}, schema),
        schema=schema,
        questions=generator,
        grant=granted(request.epsilon, request.delta, adjacency, learning=False),
        dataset="made-up rows",
        device=resolve_device("auto", by_torch=generator.by_torch),
        book=Ledger(folder / "ledger.sqlite"),
    )
    plan.check()
    return plan


def _frames(schema: Schema | Dataset, rows: int) -> dict[str, pd.DataFrame]:
    """Rows drawn evenly and independently from what the schema allows, as text, by table."""
    if schema.tree is None:
        return {ONE: _frame(schema.tables[ONE], rows)}
    result: dict[str, pd.DataFrame] = {}
    forest = made_up(schema.tree, most_roots(schema.tree, rows))
    for name in schema.downwards:
        branch, own, key = forest[name], schema.tables[name], schema.key_above(name)
        many = len(branch.parent)
        columns = {n: branch.columns[n] for n in own.measured()}
        result[name] = pd.DataFrame({n: t.to_pandas() for n, t in codec.decode(columns, own, num_rows=many).items()})
        for column in schema.key_columns(name):
            result[name][column] = [str(i) for i in range(many)]
        for column, above in zip(key.columns, key.referred, strict=True) if key is not None else ():
            result[name][column] = result[key.parent][above].to_numpy()[branch.parent]  # type: ignore[union-attr]
    if schema.one_table:
        return {ONE: result[persons.ROWS].merge(result[persons.PERSONS], on=schema.privacy_unit[0])}
    return result


def _frame(schema: Schema, rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    places = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    texts = {n: t.to_pandas() for n, t in codec.decode(places, schema, num_rows=rows).items()}
    whose = {schema.person: [str(i) for i in range(rows)]} if schema.person else {}
    return pd.DataFrame({**texts, **whose})


def _through(plan: RunPlan, folder: Path, watch: _Watch) -> None:
    """The run from its spend to its files. Errors: SpentError."""
    paid = ChargedRun(plan, Context(reporter=watch, audience=NOBODY, log=folder / "steward.json"))
    with paid.charged():
        releases, setting = paid.measure()
        made = fit_and_sample(plan.questions, releases, setting, watch, plan.request, device=plan.device)
        write(plan.request, made, releases, setting, made.on_card(paid.card(), releases), watch)
        watch.ended = True


@contextmanager
def uncharged() -> Iterator[None]:
    """What was charged to the ledger that is thrown away is not told by the command's exit code."""
    before = list(COMMITTED)
    try:
        yield
    finally:
        COMMITTED[:] = before
