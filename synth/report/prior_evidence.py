"""Where a prior was right and where the rows corrected it: its shares beside the noisy answers and the synthetic table.

Privacy: public tables and released answers only, so that it may be published.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from synth.evaluate.distances import tv
from synth.evaluate.read_sample import read
from synth.generators.core.columns import PRIOR_LEAVES, estimate_columns, with_public
from synth.generators.core.mixture import said as all_said
from synth.generators.core.public_rows import weighed_rows
from synth.generators.core.tables import FINER, averaged, prior_targets, tables_of
from synth.languages import _
from synth.questions import CountsRelease, PublicCounts
from synth.release import folder as folders
from synth.report import svg_charts
from synth.report.html import percent
from synth.report.noisy_tables import NoisyTable
from synth.schema.grouping import bin_labels
from synth.schema.table import Schema

MOST_ROWS = 1_000_000  # synthetic rows that are counted
SHOWN, LONGEST = 6, 30  # charts on a page, and values of one
SURE = 3.0  # deviations of the distance that noise and chance make, from which on a prior is seen to be off


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorEvidence:
    """One table of a prior's, of a column or a pair, all as shares of rows of the table's shape.

    ``prior``: its name; ``known``: its shares; ``released``: the noisy answer's; ``deviation``: of their difference,
    were both samples of the same people, noise included. ``made``: the synthetic table's. ``weight``: part of the
    estimate that came from the prior, 0 to 1; of pairs, only of how their columns go together. ``labels``: of each
    column's groups. Distances are total variations: ``off`` of prior and answer, ``by_chance`` what noise and chance
    alone make of that on average, ``rest`` of synthetic table and answer.

    Privacy: released answers only.
    """

    prior: str
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    known: np.ndarray = field(repr=False)
    released: np.ndarray = field(repr=False)
    made: np.ndarray = field(repr=False)
    deviation: np.ndarray = field(repr=False)
    weight: float

    @property
    def off(self) -> float:
        """Total variation between prior and noisy answer."""
        return tv(self.known, self.released)

    @property
    def rest(self) -> float:
        """Total variation between synthetic table and noisy answer."""
        return tv(self.made, self.released)

    @property
    def by_chance(self) -> float:
        """The mean total variation that noise and the chance of both samples make."""
        return min(1.0, 0.5 * sqrt(2 / pi) * float(self.deviation.sum()))

    @property
    def corrected(self) -> bool:
        """Whether the rows are seen to differ from the prior by more than noise and chance explain."""
        spread = 0.5 * sqrt((1 - 2 / pi) * float((self.deviation**2).sum()))
        return self.off > self.by_chance + SURE * spread

    def plain(self) -> dict[str, Any]:
        """As JSON data, without the cells."""
        reported = {n: float(getattr(self, n)) for n in ("off", "by_chance", "rest", "weight")}
        return {"prior": self.prior, "columns": list(self.columns), **reported, "corrected": self.corrected}


def prior_evidence(release: str | Path) -> list[PriorEvidence]:
    """Each column and pair of which a prior and the noisy answers both tell, those that it is farthest off first.

    ``release``: a folder, of one table. Empty where the run had no prior. Errors: InputError for an unusable release.

    **Guarantee**: that of the release. Privacy: released answers only.
    """
    place = Path(release).parent if Path(release).suffix == ".json" else Path(release)
    if folders.is_related(place):
        return []
    stored = folders.load_release(place)
    publics = [r for r in stored.releases if isinstance(r, PublicCounts)]
    if not publics:
        return []
    schema, rng = stored.setting.schema, np.random.default_rng(0)
    made = read(place / "synthetic.csv", schema, limit=MOST_ROWS, rng=rng, synthetic=True).positions
    own = [r for r in stored.releases if isinstance(r, CountsRelease)]
    columns, tables, _targets = all_said(stored.releases, stored.setting)
    rows = weighed_rows(stored.releases, columns, tables)
    out: list[PriorEvidence] = []
    for sha in dict.fromkeys(p.sha256 for p in publics):
        said = [p for p in publics if p.sha256 == sha]
        out += _columns(own, said, stored.setting, made)
        part = None if rows is None else rows.part if rows.sha256 == sha else 0.0
        out += _pairs(own, said, stored.setting, made, part)
    return sorted(out, key=lambda e: (len(e.columns), -e.off + e.by_chance))


def section(prior_evidences: Sequence[PriorEvidence]) -> dict[str, Any] | None:
    """The part of the publishable report about priors; None without any."""
    if not prior_evidences:
        return None
    charts = [e for e in prior_evidences if len(e.columns) == 1 and len(e.labels[0]) <= LONGEST][:SHOWN]
    return {
        "charts": [
            {
                "name": e.columns[0],
                "words": in_words(e),
                "chart": svg_charts.three(e.labels[0], e.known, e.released, e.made, words=in_words(e)),
            }
            for e in charts
        ],
        "rows": [
            [", ".join(e.columns), e.prior, *(percent(x) for x in (e.off, e.by_chance, e.rest, e.weight)), verdict(e)]
            for e in prior_evidences
        ],
    }


def verdict(one: PriorEvidence) -> str:
    """Whether the prior was right, in a word or two."""
    return _("corrected by the rows") if one.corrected else _("right, as far as noise lets one see")


def in_words(one: PriorEvidence) -> str:
    """A sentence on one table, for whoever cannot see its picture too."""
    return _(
        "{columns}: {prior} is off the noisy answer by {off}, of which noise and chance explain {by_chance}: "
        "{verdict}. It counted for {weight} of the estimate; the synthetic table is off by {rest}."
    ).format(
        columns=", ".join(one.columns),
        prior=one.prior,
        off=percent(one.off),
        by_chance=percent(one.by_chance),
        verdict=verdict(one),
        weight=percent(one.weight, 0),
        rest=percent(one.rest),
    )


def _columns(
    own: Sequence[CountsRelease], said: Sequence[PublicCounts], setting: Any, made: Mapping[str, np.ndarray]
) -> Iterator[PriorEvidence]:
    """Single columns, on the groups that the private rows were asked on."""
    columns = estimate_columns(own, setting)
    leaves = [p for p in said if p.question.purpose == PRIOR_LEAVES]
    alone, beside = columns.histograms, with_public(columns, leaves).histograms
    asked = {
        m.columns[0]: (m, v) for r in own for m, v in r.items() if len(m.bins) == 1 and m.bins[0].groups.min() >= 0
    }
    for public in leaves:
        for marginal, counts in public.items():
            name, fine = marginal.columns[0], marginal.bins[0]
            if name in public.missing or name not in asked or public.num_rows < 1:
                continue
            coarse = asked[name][0].bins[0]
            at = coarse.groups[np.searchsorted(coarse.starts, fine.starts, side="right") - 1]
            known = np.bincount(at, weights=counts.ravel(), minlength=coarse.size)
            weight = 1 - (beside[name].sigma / alone[name].sigma) ** 2
            yield _shown(public, asked[name], known, setting.schema, made, weight)


def _pairs(
    own: Sequence[CountsRelease],
    said: Sequence[PublicCounts],
    setting: Any,
    made: Mapping[str, np.ndarray],
    part: float | None,
) -> Iterator[PriorEvidence]:
    """Tables of two columns, on the groups that the private rows were asked on; ``part``: what public rows, from which
    the model departs, say of each, of this or another prior."""
    columns, tables = estimate_columns([*own, *said], setting), tables_of(own)
    weights = {t.marginal.columns: t.weight for t in prior_targets(tables, said, columns)}
    asked = averaged(t for t in tables if len(t.marginal.bins) == 2)
    finest = {t.marginal.columns: (t.marginal, t.values) for t in asked.values()}
    for public in (p for p in said if p.question.purpose not in (PRIOR_LEAVES, FINER)):
        for marginal, counts in public.items():
            answer = finest.pop(marginal.columns, None) if len(marginal.bins) == 2 else None
            if answer is None or set(marginal.columns) & set(public.missing):
                continue
            if answer[0].shape != marginal.shape:
                finest[marginal.columns] = answer
                continue
            yield _shown(
                public,
                answer,
                counts,
                setting.schema,
                made,
                weights.get(marginal.columns, 0.0) if part is None else part,
            )


def _shown(
    public: PublicCounts, answer: Any, known: np.ndarray, schema: Schema, made: Mapping[str, np.ndarray], weight: float
) -> PriorEvidence:
    marginal, values = answer
    table = NoisyTable(bins=marginal.bins, values=values.astype(float), sigma=marginal.sigma)
    rows = max(float(values.sum()), 1.0)
    synthetic = table.counted(made)
    share = (known.reshape(values.shape) + np.maximum(values, 0.0)) / max(float(known.sum()) + rows, 1.0)
    return PriorEvidence(
        prior=public.name,
        columns=marginal.columns,
        labels=tuple(tuple(bin_labels(schema.columns[b.column], b.starts, b.groups)) for b in marginal.bins),
        known=known.reshape(values.shape) / max(float(known.sum()), 1.0),
        released=values / rows,
        made=synthetic / max(float(synthetic.sum()), 1.0),
        deviation=np.sqrt((table.deviation / rows) ** 2 + share * (1 - share) * (1 / rows + 1 / public.num_rows)),
        weight=float(np.clip(weight, 0.0, 1.0)),
    )
