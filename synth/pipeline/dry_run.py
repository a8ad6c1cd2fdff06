"""A whole run before anything is spent, on rows made up from the schema or drawn from public tables.

A dry run is thrown away: measured, fitted, sampled and written to a temporary folder. A preview is kept: the private
table is taken for another sample of the people of whom a prior is one, and card and pages say that they are of public
rows. The ledger is made for either and thrown away with its line.

Privacy: public only; no private row is read, nothing is charged.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from synth.errors import COMMITTED, SpentError, SynthError, UsageError
from synth.generators.core.related import Nested
from synth.jobs import Cancelled
from synth.pipeline.charge import ChargedRun
from synth.pipeline.methods import check_pure, generator_named, granted, resolve_device
from synth.pipeline.plan import NEEDED
from synth.pipeline.prepare import Context, RunPlan
from synth.pipeline.priors import encoded, stated
from synth.pipeline.private_rows import wanted
from synth.pipeline.rehearsal import Pretend, Preview
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import RunRequest
from synth.pipeline.result import Result
from synth.pipeline.run import carry_out, finish
from synth.pipeline.schema_approval import adjacency_of, with_target
from synth.pipeline.uses import with_uses
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.row_marks import NOBODY
from synth.privacy.relation import relation_named
from synth.release import folder
from synth.release.card.card import PREVIEW
from synth.schema.dataset import ONE, Dataset, taken
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.sources.table_source import place_of

ROWS, WRITTEN = 500, 5  # most rows that are made up; rows of the table that is written
STAGES = ("read", "measure", "fit", "sample", "write")
LEFT_OUT = ("the table's own form and size", "learning of missing facts", "the real ledger and output folder")


ONE_TABLE = (
    "a preview is of one table whose rows stand alone; of others a forecast with `prior=` rehearses the questions on "
    "the public rows"
)
MOST_ROWS = 100_000  # of a preview
TWIN, RELEASE = "public_twin.csv", "release"
STATEMENT = (
    f"{PREVIEW}. {{rows:,}} rows were drawn from {{name}} in place of the private table, of which nothing was read and "
    "to which nothing was charged"
)
FAILED = (
    "the preview would fail after the spend, as the run on the private table might ({}); choose other options or "
    "another method"
)


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


def dry_run(schema: Schema | Dataset, *, rows: int, seconds: float = 30.0, **options: Any) -> DryRun:
    """All that such a run would do after its spend, on at most ``ROWS`` rows drawn evenly from the schema.

    ``options``: as of ``run``.

    The time is looked at whenever a stage tells of progress: a stage that tells of none goes on to its end.
    Errors: UsageError for what the run would be refused for, or for what would strike it after the spend.

    **Guarantee**: none is needed, for no row is private; no ledger but its own is touched.

    Privacy: public only: its rows are made up.
    """
    began, many = time.monotonic(), min(rows, ROWS)
    watch = _Watch(until=began + seconds)
    request = RunRequest(num_rows=WRITTEN, seed=0, **options)
    facts = with_uses(with_target(schema, request.target), request.uses)
    try:
        with tempfile.TemporaryDirectory(prefix="synth-dry-run-") as folder, uncharged():
            plan = _plan(taken(facts), many, request.changed(out=Path(folder) / RELEASE), Path(folder))
            paid = ChargedRun(plan, Context(reporter=watch, audience=NOBODY, log=Path(folder) / "steward.json"))
            with paid.charged():
                releases, setting = paid.measure()
                how: dict[str, Any] = {"started": began, "device": plan.device}
                finish(plan.request, plan.questions, releases, setting, watch, paid.card, **how)
                watch.ended = True
    except SpentError as error:
        cause = error.__cause__
        if not isinstance(cause, Cancelled):
            method, reason = request.method, str(cause)
            reason = reason if isinstance(cause, SynthError) else f"{type(cause).__name__}: {cause}"
            raise UsageError(
                "method {} with these options would fail after the spend, in the stage {}, as it does on made-up "
                "rows of this schema ({}); choose other options or another method",
                method,
                watch.at,
                reason,
            ) from None
    done = watch.done()
    return DryRun(done=done, left=STAGES[len(done) :], rows=many, seconds=time.monotonic() - began)


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
        return STAGES if self.ended else STAGES[: STAGES.index(self.at) if self.at in STAGES else 0]


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
        rows=wanted({n: place_of(f) for n, f in Pretend.of(schema, rows).frames().items()}, schema),
        schema=schema,
        questions=generator,
        grant=granted(request.epsilon, request.delta, adjacency, learning=False),
        dataset="made-up rows",
        device=resolve_device("auto", generator),
        book=Ledger(folder / "ledger.sqlite"),
    )
    plan.check()
    return plan


@contextmanager
def uncharged() -> Iterator[None]:
    """What was charged to the ledger that is thrown away is not told by the command's exit code."""
    before = list(COMMITTED)
    try:
        yield
    finally:
        COMMITTED[:] = before


@dataclass(frozen=True, kw_only=True)
class Previewed:
    """What a run on public rows made. ``paths``: of its files; ``statement``: what it is made of.

    Privacy: public only.
    """

    result: Result
    statement: str
    paths: dict[str, str]

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return {**{n: v for n, v in asdict(self).items() if n != "result"}, **self.result.plain(), "paths": self.paths}


def run_preview(
    schema: Schema | Dataset,
    out: str | PathLike[str],
    *,
    prior: Sequence[str | PathLike[str]],
    rows: int,
    reporter: Reporter | None = None,
    **options: Any,
) -> Previewed:
    """A run on about ``rows`` rows that are drawn from the priors, with the files that a run would write, into ``out``.

    ``prior``: at least one; that which covers most columns stands in for the private table, whose other columns are
    drawn evenly. ``options``: as of ``run``. Errors: UsageError, InputError for whatever a run with these options would
    be refused for, and for what would strike it after its spend.

    **Guarantee**: none is needed, for no row is private; no ledger but its own is touched.

    Privacy: public only.
    """
    linked = options.get("linked")
    if schema.several or (schema.linked_rows if linked is None else linked):
        raise UsageError(ONE_TABLE)
    schema = schema.tables[schema.root]
    if not prior:
        raise UsageError(NEEDED)
    place, many = Path(out), min(rows, MOST_ROWS)
    with tempfile.TemporaryDirectory(prefix="synth-preview-") as beside, uncharged():
        asked = {**options, "prior": tuple(prior), "dataset": "preview", "separate": True, "actor": None, "run": None}
        request = RunRequest(**{**asked, "ledger": f"{beside}/ledger.sqlite", "out": place / RELEASE})
        questions = generator_named(request.method, relation_named(request.relation), request.options)
        paid = options.get("ledger")
        known = encoded(stated(request.prior, request.prior_reason, schema, questions, ledger=paid), schema)
        pretend = Pretend.of(schema, many, priors=known)
        twin, frame = pretend.twin, pretend.frames()[ONE]
        said = STATEMENT.format(rows=many, name=twin.name)
        about = {"statement": said, "name": twin.name, "sha256": twin.sha256, "rows": many}
        try:
            public = Preview(priors=pretend.priors, card=about)
            context = Context(rows=frame, reporter=reporter or Quiet(), audience=NOBODY, preview=public)
            made = carry_out(request, schema, context)
        except SpentError as error:
            cause = error.__cause__
            raise UsageError(FAILED, cause if isinstance(cause, SynthError) else type(cause).__name__) from None
    folder.write_table(place / TWIN, {n: pa.array(frame[n]) for n in frame}, schema, raw_text=True)
    return Previewed(result=made, statement=said, paths={**made.paths, "twin": str(place / TWIN)})
