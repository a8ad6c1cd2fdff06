"""A release as an object, the report that is made of it, and a result beside the real table, for whoever holds both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from synth.errors import UsageError
from synth.evaluate import examination
from synth.evaluate.examination import Limits
from synth.evaluate.fidelity import Comparison
from synth.evaluate.related_fidelity import Across, appraise_related
from synth.evaluate.verdict import Verdict
from synth.languages import _, prose
from synth.pipeline.inference.estimates import estimates
from synth.pipeline.multiple import multiple
from synth.pipeline.result import Framed
from synth.pipeline.run import refit
from synth.pipeline.sample import sample
from synth.pipeline.verified import Questions
from synth.release import folder
from synth.release.card import verify
from synth.release.card.card import Card
from synth.report import chosen_release, html, publish
from synth.report.prior_evidence import PriorEvidence, prior_evidence
from synth.report.steward import write as steward
from synth.report.steward.page import MARK
from synth.report.words import written
from synth.schema.table import Schema
from synth.verified import language as questions_in

if TYPE_CHECKING:
    import pyarrow as pa

    from synth.pipeline.result import Result


class Release(Framed):
    """What a run released, of one table or of several, in the folder that it wrote; all that is done with it is free.

    >>> Release("nowhere")
    Release('nowhere': no card)

    **Guarantee**: that of the card. Errors: InputError for a folder without a release, or a damaged one.

    Privacy: released answers only.
    """

    def __init__(self, place: str | Path) -> None:
        place = Path(place)
        self.place = place.parent if place.suffix == ".json" else place

    @cached_property
    def card(self) -> Card:
        """The guarantee, and how it came about."""
        return verify.load(self.place)

    @cached_property
    def schema(self) -> Any:
        """The public facts of the table, or tables; what was learnt is in it."""
        return folder.load_release(self.place, tree=None).schema.stated

    def _cells(self, name: str, schema: Schema) -> Mapping[str, "pa.Array"]:
        return folder.read_texts(self.place / f"{name}.csv", schema)

    def sample(
        self, num_rows: int | None = None, conditions: Mapping[str, str] | None = None, *, seed: int | None = None
    ) -> pd.DataFrame:
        """More rows, typed as ``frame``; ``conditions``: by column a value, ``a|b``, or ``low..high``."""
        return sample(self.place, num_rows=num_rows, where=conditions, seed=seed)[0]

    def refit(self, **options: Any) -> "Result":
        """Another model and table of the same answers; ``options``: as of ``synth.app_api.refit``."""
        return refit(self.place, **options)

    def multiple(self, **options: Any) -> Iterator[pd.DataFrame]:
        """Tables for ``synth.combine``; ``options``: as of ``synth.app_api.multiple``."""
        return multiple(self.place, **options)

    def estimates(self, ask: Sequence[str], **options: Any) -> list[dict[str, Any]]:
        """Answers with intervals that count the noise, as of ``synth.estimates``."""
        return estimates(self.place, ask, **options)

    def priors(self) -> list[PriorEvidence]:
        """Where each prior was right and where the rows corrected it, by column and pair; empty without priors."""
        return prior_evidence(self.place)

    def question(self, question: Any) -> Questions:
        """What an analysis here says of the private table: its ``price``, which is free, and its ``answer``, which is
        charged; ``question``: an object, a list of them or a file, in the language of docs/verified.md."""
        is_file = isinstance(question, str | Path)
        return Questions(self.place, questions_in.load(question) if is_file else question)

    def check(self) -> verify.Checked:
        """Derives the card's epsilon again, as ``synth.check``."""
        return verify.check(self.card)

    def __repr__(self) -> str:
        try:
            card = self.card
            message = f"{card['method']}, epsilon {card['epsilon']:g}, delta {card['delta']:g}, {card['relation']}"
        except Exception:  # whatever lies there: showing an object must not fail
            message = "no card"
        return f"Release({str(self.place)!r}: {message})"

    def _repr_html_(self) -> str:
        """What it is and what it is good for, for notebooks."""
        try:
            good_for = publish.verdict(self.place)
        except Exception:  # as above
            good_for = Verdict(uses=())
        return _shown(repr(self), good_for)


def report(
    release: str | Path,
    out: str | Path,
    *,
    real: str | Path | None = None,
    test: str | Path | None = None,
    target: str | None = None,
    groups: Sequence[str] = (),
    shadow_runs: int = 0,
    rows: int = 50_000,
    statistics: str | Path | None = None,
    ledger: str | Path | None = None,
    language: str | None = None,
) -> dict[str, str]:
    """Writes a page about a release to ``out``, and its JSON beside it; the paths of both.

    Without ``real``: the publishable report, from the release alone, with further ``statistics`` that were paid for.
    With the ``real`` table: the steward's, marked as not for release; that somebody looked is noted beside the
    ``ledger`` that paid. ``test``: real rows that the run did not see; ``target``: a column to be predicted;
    ``groups``: columns that divide people; ``shadow_runs``: attacks; ``rows``: at most so many of each table;
    ``language``: of the page, ``de`` or ``en``.

    Errors: UsageError for options that do not fit, InputError for an unusable file or release.

    Privacy: released answers only; with ``real``: reads rows, exact: for the steward alone, never released.
    """
    several, only_real = folder.is_related(release), (test, target, tuple(groups), shadow_runs)
    if real is None and any(only_real):
        raise UsageError("a publishable report reads no real row: leave out test, target, groups and shadow_runs")
    if real is not None and statistics is not None:
        raise UsageError("statistics belong to the publishable report: leave out real")
    if several and (test or groups or shadow_runs or statistics):
        raise UsageError("related tables have no test, groups, shadow_runs or statistics; leave them out")
    with written(language):
        if real is None:
            return publish.write(release, out, statistics=statistics, ledger=ledger)
        chosen_release.look(release, ledger=ledger)
        how: Any = {"test": test, "target": target, "groups": groups, "shadow_runs": shadow_runs}
        return steward.put(steward.pages(release, out, real=real, limits=Limits(rows=rows), **how))


@dataclass(frozen=True, kw_only=True)
class Compared:
    """How far a synthetic table is from the real one, and what it is good for. As private as the real rows.

    Of related tables both are about what these say of each other.

    Privacy: reads rows, exact: for the steward alone, never released.
    """

    comparison: Comparison | Across = field(repr=False)
    verdict: Verdict = field(repr=False)

    def __repr__(self) -> str:
        return "\n".join([f"{MARK}:", *(f"{u.level} {u.sentence}" for u in self.verdict.uses)])

    def _repr_html_(self) -> str:
        return _shown(_(MARK), self.verdict)


def _shown(what: str, verdict: Verdict) -> str:
    return str(html.render("notebook.html", what=what, uses=verdict.lines, unsure=prose(verdict.unsure)))


def compare(result: "Result", real: Any, *, ledger: str | Path | None = None) -> Compared:
    """What a ``result`` is good for beside the ``real`` table, a file or frame: done in seconds; of related tables
    beside their folder, or their frames by table.

    Where the result was written, it is noted beside the ``ledger`` that paid for it that somebody looked, as for
    ``synth.report``. Errors: UsageError for another ledger; InputError for an unusable table.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    if card := result.paths.get("card"):
        chosen_release.look(card, ledger=ledger)
    if result.schema.several:
        held = {n: pd.DataFrame({c: a.to_pandas() for c, a in t.items()}) for n, t in result.tables.items()}
        across = appraise_related(real, Path(card).parent if card else held, result.schema)
        return Compared(comparison=across, verdict=across.verdict)
    written = result.paths.get("synthetic")
    made: Any = written or pd.DataFrame({n: t.to_pandas() for n, t in result.texts.items()})
    fit = result.card.get("fit")
    comparison, verdict = examination.appraise(real, made, result.schema, limits=Limits(), fit=fit)
    return Compared(comparison=comparison, verdict=verdict)
