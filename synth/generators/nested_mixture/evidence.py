"""What released tables of two columns say beyond independent columns, and how sure that is beside their noise.

Privacy: released answers only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.nested_mixture.known import Known
from synth.questions import Bins, LinkedRelease, Marginal
from synth.questions.linked import FAR, View, placed
from synth.schema.dataset import Dataset, number_of

FEWEST: Mapping[View, int] = {
    "rows": 1,
    "first": 1,
    "last": 1,
    "steps": 2,
    "far": FAR,
    "siblings": 2,
}  # rows of a parent with an entry
CAUTIOUS = 1.0  # deviations of what noise alone makes, below which a table's dependence is none
TINY = 1e-9


@dataclass(frozen=True, kw_only=True)
class Apart:
    """A released table of two columns beside independent ones. ``alone``, ``off``: of its shape, their sum the answer
    but for the noise of margins, and 0 where no entry can be.

    ``degrees``: of freedom of ``off``. ``far``: its sum of squares, in variances of the noise.
    """

    marginal: Marginal
    alone: np.ndarray
    off: np.ndarray
    degrees: int
    far: float

    @property
    def part(self) -> float:
        """How much of ``off`` is no noise, from 0 to 1.

        **Source**: positive-part estimator of James and Stein 1961.
        """
        noise = self.degrees + CAUTIOUS * np.sqrt(2 * self.degrees)
        return max(0.0, 1 - noise / max(self.far, TINY)) if self.degrees else 0.0

    @property
    def drawn(self) -> np.ndarray:
        """The table with as much dependence as stands out of its noise."""
        out: np.ndarray = self.alone + self.part * self.off
        return out

    @property
    def free(self) -> float:
        """Cells' worth of noise that is left in ``drawn``, about."""
        return self.part * self.degrees + sum(self.marginal.shape) - 1


def apart(release: LinkedRelease, schema: Dataset, known_tables: Mapping[str, Known]) -> Iterator[tuple[int, Apart]]:
    """Each table of two columns of a release, with its number among the question's."""
    view, answers = release.question.view, list(zip(release.question.marginals, release.values, strict=True))
    pairs = [i for i, (m, _) in enumerate(answers) if len(m.bins) == 2]
    if not pairs:
        return
    margins = _Margins(view, [answers[i] for i in pairs], schema, known_tables)
    for i in pairs:
        marginal, values = answers[i]
        lines, columns = (margins.of(b) for b in marginal.bins)
        alone = np.outer(lines, columns) / margins.whole
        none = margins.empty(marginal.bins[1], release.question.table)
        inner = (values - alone)[:, none:]
        inner = inner - inner.mean(0) - inner.mean(1, keepdims=True) + inner.mean()
        off = np.zeros(marginal.shape)
        off[:, none:] = inner
        degrees = (inner.shape[0] - 1) * (inner.shape[1] - 1)
        yield (
            i,
            Apart(
                marginal=marginal,
                alone=alone,
                off=off,
                degrees=max(degrees, 0),
                far=float((off**2).sum()) / marginal.sigma**2,
            ),
        )


class _Margins:
    """What all tables of a view say of each column's bins, those of rows drawn to what the one-ways say."""

    def __init__(
        self,
        view: View,
        answers: Sequence[tuple[Marginal, np.ndarray]],
        schema: Dataset,
        known_tables: Mapping[str, Known],
    ) -> None:
        self._view, self._schema, self._known = view, schema, known_tables
        self._table = placed(answers[0][0].bins[0].column)[0]
        self._seen: dict[tuple[str, bytes], list[tuple[np.ndarray, float]]] = {}
        for marginal, values in answers:
            for axis, bins in enumerate(marginal.bins):
                noise = marginal.sigma**2 * marginal.bins[1 - axis].size
                self._seen.setdefault(_key(bins), []).append((values.sum(1 - axis).astype(float), noise))
        sums = [(c.sum(), v * len(c)) for one in self._seen.values() for c, v in one]
        self.whole = max(_mean(sums)[0], 1.0)
        self._done: dict[tuple[str, bytes], np.ndarray] = {}

    def of(self, bins: Bins) -> np.ndarray:
        """Counts (B,) of a column's bins, not negative, that sum to ``whole``."""
        key = _key(bins)
        if key not in self._done:
            self._done[key] = self._estimated(bins)
        return self._done[key]

    def _estimated(self, bins: Bins) -> np.ndarray:
        counts, noise = _mean(self._seen[_key(bins)])
        table, name, _ = placed(bins.column)
        usual = np.bincount(bins.groups, weights=self._known[table].histograms[name].mass, minlength=bins.size)
        none = self.empty(bins, self._table)
        usual[:none] = 0.0
        usual *= self.whole / max(usual.sum(), TINY)
        gap = counts - usual
        gap -= gap.mean()
        way = max(0.0, 1 - (len(gap) - 1) * noise / max(float(gap @ gap), TINY))
        mass = np.maximum(usual + way * gap, 0.0)
        mass[:none] = 0.0
        whole = mass.sum()
        even = np.arange(bins.size) >= none
        return mass * (self.whole / whole) if whole > 0 else even * (self.whole / max(even.sum(), 1))

    def empty(self, bins: Bins, table: str) -> int:
        """How many of the first bins no entry has: a number of rows of a parent that has some."""
        owner, name, _ = placed(bins.column)
        way = self._schema.upwards(table)
        if owner == table or owner not in way:
            return 0
        branch = way[way.index(owner) - 1]
        if name != number_of(branch):
            return 0
        return min(FEWEST[self._view] if branch == table else 1, bins.size - 1)


def _key(bins: Bins) -> tuple[str, bytes]:
    return bins.column, bins.groups.tobytes()


def _mean(answers: Sequence[tuple]) -> tuple:
    """The mean by precision of (value, variance), and its variance."""
    precision = np.array([1 / v for _, v in answers])
    return sum(p * x for p, (x, _) in zip(precision, answers, strict=True)) / precision.sum(), 1 / precision.sum()


def pooled(releases: Sequence[LinkedRelease], purpose: str) -> list[LinkedRelease]:
    """The releases, those with this purpose one for each view of a table: what was asked twice is averaged."""
    out = [r for r in releases if r.question.purpose != purpose]
    views: dict[tuple[str, View], list[LinkedRelease]] = {}
    for release in releases:
        if release.question.purpose == purpose:
            views.setdefault((release.question.table, release.question.view), []).append(release)
    return [*out, *(r[0] if len(r) == 1 else _averaged(r) for r in views.values())]


def _averaged(releases: Sequence[LinkedRelease]) -> LinkedRelease:
    """Answers about one view as one; tables on the same bins as their mean by precision."""
    seen: dict[tuple, list[tuple[Marginal, np.ndarray]]] = {}
    for release in releases:
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            seen.setdefault(tuple(_key(b) for b in marginal.bins), []).append((marginal, values))
    answers = []
    for same in seen.values():
        values, variance = _mean([(v, m.sigma**2) for m, v in same])
        answers.append((replace(same[0][0], sigma=float(np.sqrt(variance))), values))
    question = replace(releases[0].question, marginals=tuple(m for m, _ in answers))
    return LinkedRelease(question=question, values=tuple(v for _, v in answers))
