"""All attacks on a synthetic table and, beside it, on tables that leak and on one that cannot tell relations."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synth.evaluate.read_sample import Sample
from synth.evaluate.risks import neighbours, reconstruction, singling_out
from synth.evaluate.risks.rates import LEVEL, AttackRates, rate

ATTACKS = 500  # of each kind on each table
WORK = 40_000_000  # rows asked about times synthetic rows times columns, at most
SHUFFLED = "columns shuffled"
COPIED = "real rows copied"
HALF = "half copied, half shuffled"
OURS = "this table"


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
    apart = _apart(_drawn(seen, made.used, rng), rng)
    tables = {OURS: made, COPIED: copied, HALF: _shuffled(_half(copied, apart), rng), SHUFFLED: apart}
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

    one, several = (of(synthetic, attacks, rng) for of in (singling_out.of_one_column, singling_out.of_several_columns))
    rows = [singling_out.matrix(s) for s in sides]
    for title, width, said in zip(singling_out.NAMES, (1, singling_out.COLUMNS), (one, several), strict=True):
        if len(said.columns):
            guesses = singling_out.at_random(synthetic, attacks, width, rng)
            alone = float(np.mean(guesses.counts(rows[0]) == 1))
            results.append(found(title, [said.counts(r) == 1 for r in rows], alone))

    halves = (names[::2], names[1::2])
    asked = [s.at_most(max(20, min(attacks, WORK // (synthetic.used * len(names)))), rng) for s in sides]
    linked = [neighbours.linked(a, synthetic, halves) for a in asked]
    about = " | ".join(", ".join(h) for h in halves)
    results.append(found("linkability", linked, 1 / synthetic.used, about))
    hits = [neighbours.inferred(a, synthetic) for a in asked]
    guess = rng.integers(0, synthetic.used, asked[0].used)
    by_chance = {n: neighbours.same(asked[0], n, np.asarray(synthetic.positions[n])[guess]).mean() for n in names}
    each = [found("inference", [h[n] for h in hits], float(by_chance[n]), n, len(names)) for n in names]
    results.append(worst(each))

    built = [reconstruction.reconstructed(s, synthetic, known) for s in sides]
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


def _apart(sample: Sample, rng: np.random.Generator) -> Sample:
    """Each column in an order of its own: what ``independent`` would make without noise."""
    positions = {n: rng.permutation(p) for n, p in sample.positions.items()}
    return Sample(columns=sample.columns, positions=positions, rows=sample.used)


def _half(copied: Sample, apart: Sample) -> Sample:
    """The first half of each."""
    half = copied.used // 2
    positions = {n: np.concatenate([p[:half], apart.positions[n][half:]]) for n, p in copied.positions.items()}
    return Sample(columns=copied.columns, positions=positions, rows=copied.used)
