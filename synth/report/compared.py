"""A result beside the real table, for whoever holds both in Python: the verdict, as a notebook shows it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from synth.evaluate import examination
from synth.evaluate.examination import Limits
from synth.evaluate.fidelity import Comparison
from synth.evaluate.related_fidelity import Across, appraise_related
from synth.evaluate.verdict import Verdict
from synth.languages import _, prose
from synth.report import chosen_release, html
from synth.report.steward.page import MARK

if TYPE_CHECKING:
    from synth.pipeline.result import Result


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
        return str(
            html.render("compared.html", mark=_(MARK), uses=self.verdict.lines, unsure=prose(self.verdict.unsure))
        )


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
