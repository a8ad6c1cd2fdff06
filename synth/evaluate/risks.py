"""Attacks on a synthetic table: singling out, linkability, inference, reconstruction. For the steward alone.

Each is tried on rows that the run saw and, alike, on held-out rows that it did not see: what the attack finds of the
latter is true of the population. No attack that fails proves anything; the guarantee is the card's.

**Source**: Giomi, Boenisch, Wehmeyer and Tasnadi 2023, A Unified Framework for Quantifying Privacy Risk in Synthetic
Data, PoPETs 2023(2); Wilson 1927 for intervals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.evaluate.features import coordinates
from synth.evaluate.read_sample import Sample
from synth.languages import Said
from synth.lazy import Lazy

special = Lazy("scipy.special")

ATTACKS = 500  # of each kind on each table
WORK = 40_000_000  # rows asked about times synthetic rows times columns, at most
SHUFFLED = "columns shuffled"
COPIED = "real rows copied"
HALF = "half copied, half shuffled"
OURS = "this table"
LEVEL = 0.95  # of every interval
WIDTH = 4  # columns of a statement about several
SINGLING_OUT = ("singling out by one column", Said("singling out by {} columns", WIDTH))
TRIES = 20  # statements tried for each that is wanted
FEW = 1_000  # rows by which statements that hold of many are left out at once
COMPARED = 1 << 20  # cells compared at a time
TOLERANCE = 0.05  # of a number's value, within which a guess of it counts as right
CHUNK = 20  # rows asked about at a time
SCALE = 1_000_000  # whole numbers of a distance of 1
GROUPS = 12  # equal parts into which a hidden number is cut


@dataclass(frozen=True, kw_only=True)
class Rate:
    """``hits`` of ``attacks``; ``value`` and ``error``: middle and half width of Wilson's interval of that level."""

    hits: int = field(repr=False)
    attacks: int
    level: float = LEVEL

    @property
    def _z(self) -> float:
        return float(special.ndtri((1 + self.level) / 2))

    @property
    def value(self) -> float:
        """
        >>> round(Rate(hits=0, attacks=100).value, 4), round(Rate(hits=50, attacks=100).value, 4)
        (0.0185, 0.5)
        """
        return (self.hits + self._z**2 / 2) / (self.attacks + self._z**2)

    @property
    def error(self) -> float:
        """
        >>> round(Rate(hits=0, attacks=100).error, 4), round(Rate(hits=50, attacks=100).error, 4)
        (0.0185, 0.0962)
        """
        spread = self.hits * (self.attacks - self.hits) / self.attacks + self._z**2 / 4
        return self._z / (self.attacks + self._z**2) * sqrt(spread)

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends."""
        return max(0.0, self.value - self.error), min(1.0, self.value + self.error)


@dataclass(frozen=True, kw_only=True)
class AttackRates:
    """One attack on one table: ``real`` on rows that the run saw, ``control`` on rows that it did not.

    ``baseline``: how often guessing without the table succeeds. **Guarantee**: none; from real rows.
    """

    attack: str
    table: str
    real: Rate = field(repr=False)
    control: Rate | None = field(repr=False)
    baseline: float = field(repr=False)
    detail: str = field(repr=False, default="")

    @property
    def risk(self) -> tuple[float, float, float] | None:
        """(r - c) / (1 - c) with its interval, the errors propagated; None without rows that the run did not see."""
        if self.control is None:
            return None
        rest, other = 1 - self.real.value, 1 - self.control.value
        error = sqrt((self.real.error / other) ** 2 + (rest * self.control.error / other**2) ** 2)
        middle = 1 - rest / other
        return middle, max(middle - error, -1.0), min(middle + error, 1.0)

    @property
    def reading(self) -> str:
        """What it says, in words; never that a table is safe."""
        if self.risk is None:
            return "no held-out rows: what is the population's and what the table's cannot be told apart"
        if self.risk[1] > 0:
            return "tells more of rows that the run saw: a leak of their own"
        if self.real.interval[1] < self.baseline:
            return "the attack is weaker than guessing: it says nothing"
        return "no more than of rows that the run never saw"

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        both = {
            n: r and {**vars(r), "rate": r.value, "interval": r.interval}
            for n, r in (("real", self.real), ("control", self.control))
        }
        return {**vars(self), **both, "risk": self.risk, "reading": self.reading}


def rate(hits: np.ndarray, level: float = LEVEL) -> Rate:
    """Of one mark for each attack."""
    return Rate(hits=int(np.count_nonzero(hits)), attacks=len(hits), level=level)


@dataclass(frozen=True, kw_only=True)
class Risks:
    """What attacks found. ``rows``: of the run, held out, synthetic, that were used; ``known``: quasi-identifiers."""

    findings: tuple[AttackRates, ...] = field(repr=False)
    rows: tuple[int, int | None, int] = field(repr=False)
    known: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        rows = dict(zip(("real", "held_out", "synthetic"), self.rows, strict=True))
        return {"rows": rows, "known": self.known, "attacks": [f.plain() for f in self.findings]}


def measure(
    real: Sample,
    synthetic: Sample,
    *,
    test: Sample | None,
    known: list[str],
    rng: np.random.Generator,
    attacks: int = ATTACKS,
    rows: int = 10_000,
) -> Risks | None:
    """Singling out, linkability, inference and reconstruction. ``test``: rows that the run did not see.

    ``known``: quasi-identifiers; where there are none, or all columns are, every other column. None for a table of one
    column or without rows to attack. As many real as held-out rows are used, at most ``rows``: one row is singled out
    the easier the fewer there are. **Guarantee**: none; for the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    names = list(real.columns)
    size = min(real.used, rows) if test is None else min(real.used, test.used, rows)
    if len(names) < 2 or size < 1 or synthetic.used < 2 or attacks < 1:
        return None
    seen, held = real.at_most(size, rng), None if test is None else test.at_most(size, rng)
    known = known if 0 < len(known) < len(names) else names[::2]
    made = _shuffled(synthetic.at_most(rows, rng), rng)
    copied = _shuffled(_drawn(seen, made.used, rng), rng)
    apart = _drawn(seen, made.used, rng)  # each column in an order of its own, as `independent` without noise
    apart = replace(apart, positions={n: rng.permutation(p) for n, p in apart.positions.items()}, rows=apart.used)
    half = copied.used // 2
    mixed = {n: np.concatenate([p[:half], apart.positions[n][half:]]) for n, p in copied.positions.items()}
    tables = {OURS: made, COPIED: copied, HALF: _shuffled(replace(copied, positions=mixed), rng), SHUFFLED: apart}
    results = [
        f
        for name, table in tables.items()
        for f in attack(seen, table, test=held, name=name, known=known, attacks=attacks, rng=rng)
    ]
    order = list(dict.fromkeys(f.attack for f in results))
    results.sort(key=lambda f: order.index(f.attack))
    return Risks(
        findings=tuple(results), rows=(seen.used, None if held is None else held.used, made.used), known=tuple(known)
    )


def attack(
    real: Sample,
    synthetic: Sample,
    *,
    test: Sample | None,
    name: str,
    known: list[str],
    attacks: int,
    rng: np.random.Generator,
) -> list[AttackRates]:
    """Every attack on one table."""
    other = real if test is None else test  # without held-out rows the second figure is left out
    sides, results, names = (real, other), list[AttackRates](), list(real.columns)

    def found(title: str, hits: Sequence[np.ndarray], baseline: float, detail: str = "", of: int = 1) -> AttackRates:
        """``of``: so many columns, of which the worst is told."""
        ours, theirs = (rate(h, 1 - (1 - LEVEL) / of) for h in hits)
        return AttackRates(attack=title, table=name, real=ours, control=theirs, baseline=baseline, detail=detail)

    one, several = (of(synthetic, attacks, rng) for of in (of_one_column, of_several_columns))
    rows = [places(s) for s in sides]
    for title, width, said in zip(SINGLING_OUT, (1, WIDTH), (one, several), strict=True):
        if len(said.columns):
            guesses = at_random(synthetic, attacks, width, rng)
            alone = float(np.mean(guesses.counts(rows[0]) == 1))
            results.append(found(title, [said.counts(r) == 1 for r in rows], alone))

    halves = (names[::2], names[1::2])
    asked = [s.at_most(max(20, min(attacks, WORK // (synthetic.used * len(names)))), rng) for s in sides]
    both = [linked(a, synthetic, halves) for a in asked]
    about = " | ".join(", ".join(h) for h in halves)
    results.append(found("linkability", both, 1 / synthetic.used, about))
    hits = [inferred(a, synthetic) for a in asked]
    guess = rng.integers(0, synthetic.used, asked[0].used)
    by_chance = {n: same(asked[0], n, np.asarray(synthetic.positions[n])[guess]).mean() for n in names}
    each = [found("inference", [h[n] for h in hits], float(by_chance[n]), n, len(names)) for n in names]
    results.append(worst(each))

    built = [reconstructed(s, synthetic, known) for s in sides]
    title = "reconstruction from quasi-identifiers"
    modes = {n: float(mode.mean()) for n, (_hits, mode) in built[0].items()}
    results.append(worst([found(title, [b[n][0] for b in built], m, n, len(modes)) for n, m in modes.items()]))
    return results if test is not None else [replace(f, control=None) for f in results]


def worst(findings: list[AttackRates]) -> AttackRates:
    """The column that the attack tells most of: by risk, without held-out rows by its gain over guessing."""
    return max(findings, key=lambda f: f.real.value - f.baseline if f.risk is None else f.risk[1])


def _drawn(sample: Sample, size: int, rng: np.random.Generator) -> Sample:
    """So many rows, none twice as long as there are enough."""
    return sample.at_most(size, rng) if size <= sample.used else sample.resampled(size, rng)


def _shuffled(sample: Sample, rng: np.random.Generator) -> Sample:
    """The same rows in another order."""
    return sample.take(rng.permutation(sample.used))


@dataclass(frozen=True, kw_only=True, eq=False)
class Statements:
    """``columns`` (m, k) as places in the schema, ``low`` and ``high`` (m, k) the positions that a row must lie in."""

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def take(self, index: np.ndarray) -> "Statements":
        """Those at these places."""
        return Statements(columns=self.columns[index], low=self.low[index], high=self.high[index])

    def counts(self, table: np.ndarray) -> np.ndarray:
        """Rows (m,) of a table (n, d) of positions of which each holds."""
        out, across = np.empty(len(self.columns), dtype=np.int64), np.ascontiguousarray(table.T)
        low, high = (side.astype(table.dtype) for side in (self.low, self.high))
        step = max(1, COMPARED // max(len(table), 1))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            holds = np.ones((len(out[part]), len(table)), dtype=bool)
            for j in range(self.columns.shape[1]):
                cells = across[self.columns[part, j]]
                holds &= (cells >= low[part, j, None]) & (cells <= high[part, j, None])
            out[part] = np.count_nonzero(holds, axis=1)
        return out


def places(sample: Sample) -> np.ndarray:
    """Positions (n, d), columns in the order of the schema."""
    return np.column_stack([np.asarray(p) for p in sample.positions.values()]).astype(np.int32)


def of_one_column(synthetic: Sample, wanted: int, rng: np.random.Generator) -> Statements:
    """Values that one synthetic row alone has; of numbers also "at most the least" and "at least the greatest"."""
    result: list[tuple[int, int, int]] = []
    for j, (name, column) in enumerate(synthetic.columns.items()):
        values, count = np.unique(synthetic.positions[name], return_counts=True)
        result += [(j, int(v), int(v)) for v in values[count == 1]]
        known = values[values < column.size] if column.is_numeric else values[:0]
        if len(known):
            result += [(j, 0, int(known[0])), (j, int(known[-1]), column.size - 1)]
    found = rng.permutation(np.asarray(result, dtype=np.int64).reshape(-1, 3))
    retained = Statements(columns=found[:, :1], low=found[:, 1:2], high=found[:, 2:3])
    return retained.take(np.flatnonzero(retained.counts(places(synthetic)) == 1)[:wanted])


def of_several_columns(synthetic: Sample, wanted: int, rng: np.random.Generator) -> Statements:
    """A few columns of a synthetic row: its categories, and numbers as beyond its own, seen from the median."""
    table = places(synthetic)
    width, many = min(WIDTH, table.shape[1]), wanted * TRIES
    columns = np.argsort(rng.random((many, table.shape[1])), axis=1)[:, :width]
    cells = table[rng.integers(0, len(table), many)[:, None], columns]
    made = _ranges(synthetic, columns, cells, above=cells > np.median(table, axis=0)[columns])
    hopeful = np.flatnonzero(made.counts(table[:FEW]) <= 1)
    alone = hopeful[made.take(hopeful).counts(table) == 1]
    _, first = np.unique(np.hstack([made.columns, made.low, made.high])[alone], axis=0, return_index=True)
    return made.take(alone[np.sort(first)][:wanted])


def at_random(synthetic: Sample, wanted: int, width: int, rng: np.random.Generator) -> Statements:
    """Statements of a guesser who knows the schema alone."""
    cells = np.array([c.cells for c in synthetic.columns.values()])
    columns = np.argsort(rng.random((wanted, len(cells))), axis=1)[:, : min(width, len(cells))]
    drawn = (rng.random(columns.shape) * cells[columns]).astype(np.int64)
    return _ranges(synthetic, columns, drawn, above=rng.random(columns.shape) < 0.5)


def _ranges(sample: Sample, columns: np.ndarray, cells: np.ndarray, *, above: np.ndarray) -> Statements:
    """A category or a missing number is itself; a number is all above it, or all below."""
    kinds = list(sample.columns.values())
    size = np.array([c.size if c.is_numeric else -1 for c in kinds])[columns]
    number = cells < size
    low = np.where(number & ~above, 0, cells)
    high = np.where(number & above, size - 1, cells)
    return Statements(columns=columns, low=low, high=high)


def linked(asked: Sample, synthetic: Sample, halves: tuple[list[str], list[str]]) -> np.ndarray:
    """Whether (asked.used,) one synthetic row is the nearest to both halves of a row, of unlike columns.

    Of equally near ones the first counts: shuffle the synthetic rows.
    """
    ends = [np.concatenate([total(half).argmin(axis=1) for total in _distances(asked, synthetic)]) for half in halves]
    return np.asarray(ends[0] == ends[1])


def inferred(asked: Sample, synthetic: Sample) -> dict[str, np.ndarray]:
    """By column whether (asked.used,) the row that is nearest in all others has the value of the row asked about."""
    names = list(asked.columns)
    nearest: dict[str, list[np.ndarray]] = {n: [] for n in names}
    for total in _distances(asked, synthetic):
        for name in names:
            nearest[name].append(total([n for n in names if n != name]).argmin(axis=1))
    return {n: same(asked, n, np.asarray(synthetic.positions[n])[np.concatenate(at)]) for n, at in nearest.items()}


def same(asked: Sample, name: str, guess: np.ndarray) -> np.ndarray:
    """Whether guessed positions are right: equal, or a number within the tolerance of the true value."""
    column, truth = asked.columns[name], np.asarray(asked.positions[name])
    if not column.is_numeric or column.type == "datetime":
        return np.asarray(truth == guess)
    low, step = float(column.bounds[0]), float(column.step)
    known = (truth < column.size) & (guess < column.size)
    off = np.abs(truth - guess) * step <= TOLERANCE * np.abs(low + step * truth)
    return (truth == guess) | (known & off)


class _Total:
    """Distances (chunk, n) by column of some asked rows to all synthetic ones, each computed once, in whole numbers."""

    def __init__(self, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], numeric: set[str]) -> None:
        self._part = {n: _gaps(ours[n], theirs[n], numeric=n in numeric) for n in ours}
        self._whole = _sum(list(self._part.values()))

    def __call__(self, names: list[str]) -> np.ndarray:
        """The sum over these columns."""
        if len(names) == len(self._part) - 1:
            (left,) = set(self._part) - set(names)
            return self._whole - self._part[left]
        return _sum([self._part[n] for n in names])


def _gaps(ours: np.ndarray, theirs: np.ndarray, *, numeric: bool) -> np.ndarray:
    if not numeric:
        return (ours[:, None] != theirs[None, :]) * np.int32(SCALE)
    whole = [np.round(side * SCALE).astype(np.int32) for side in (ours, theirs)]
    out = whole[0][:, None] - whole[1][None, :]
    return np.minimum(np.abs(out, out=out), SCALE, out=out)


def _sum(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _distances(asked: Sample, synthetic: Sample) -> Iterator[_Total]:
    """As for nearest records: 1 for unlike categories, the difference of ranks for numbers, times ``SCALE``."""
    numeric = set(asked.numeric())
    sides = [dict(zip(asked.columns, coordinates(s, synthetic), strict=True)) for s in (asked, synthetic)]
    for start in range(0, asked.used, CHUNK):
        yield _Total({n: v[start : start + CHUNK] for n, v in sides[0].items()}, sides[1], numeric)


def reconstructed(asked: Sample, synthetic: Sample, known: list[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By hidden column whether (asked.used,) the guess is right, and whether the commonest value is.

    The guess is the commonest value among the synthetic rows that agree in all ``known`` columns; where none does, the
    commonest of all, which is the rival: guess by mode. **Source**: the task of NIST's Collaborative Research Cycle.
    """
    both = np.column_stack([np.concatenate([synthetic.positions[n], asked.positions[n]]) for n in known])
    _, key = np.unique(both, axis=0, return_inverse=True)
    key = key.reshape(-1)
    here, there = key[: synthetic.used], key[synthetic.used :]
    out = {}
    for name in asked.columns:
        if name in known:
            continue
        value, truth = _grouped(synthetic, name), _grouped(asked, name, base=synthetic)
        commonest = int(np.bincount(value).argmax())
        modes = np.full(int(key.max()) + 1, commonest)
        pairs, count = np.unique(np.column_stack([here, value]), axis=0, return_counts=True)
        order = np.lexsort((-count, pairs[:, 0]))  # of each key the commonest value first
        groups, first = np.unique(pairs[order, 0], return_index=True)
        modes[groups] = pairs[order[first], 1]
        out[name] = modes[there] == truth, truth == commonest
    return out


def _grouped(sample: Sample, name: str, *, base: Sample | None = None) -> np.ndarray:
    """Codes: of a category itself, of a number the part of the synthetic table's range in which it lies."""
    column, base = sample.columns[name], base or sample
    position = np.asarray(sample.positions[name])
    if not column.is_numeric:
        return position
    known = np.asarray(base.positions[name])
    known = known[known < column.size]
    if not len(known):
        return np.minimum(position, column.size)
    cuts = np.unique(np.quantile(known, np.arange(1, GROUPS) / GROUPS))
    return np.where(
        position < column.size, np.searchsorted(cuts, position, side="right"), GROUPS + position - column.size
    )
