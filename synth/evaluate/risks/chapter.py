"""All attacks on a synthetic table and, beside it, on tables that leak and on one that cannot tell relations."""

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
        return {
            "rows": dict(zip(("real", "held_out", "synthetic"), self.rows, strict=True)),
            "known": self.known,
            "attacks": [f.plain() for f in self.findings],
        }


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
    both = real if test is None else test  # without held-out rows the second figure is left out
    results = [
        *_singled_out(real, synthetic, both, name, attacks, rng),
        *_by_neighbours(real, synthetic, both, name, attacks, rng),
        _reconstructed(real, synthetic, both, name, known),
    ]
    return results if test is not None else [replace(f, control=None) for f in results]


def _singled_out(
    real: Sample, synthetic: Sample, test: Sample, name: str, attacks: int, rng: np.random.Generator
) -> list[AttackRates]:
    reported = {
        singling_out.NAMES[0]: (1, singling_out.of_one_column(synthetic, attacks, rng)),
        singling_out.NAMES[1]: (
            singling_out.COLUMNS,
            singling_out.of_several_columns(synthetic, attacks, rng),
        ),
    }
    ours, others = (singling_out.matrix(s) for s in (real, test))
    return [
        AttackRates(
            attack=title,
            table=name,
            real=rate(said.counts(ours) == 1),
            control=rate(said.counts(others) == 1),
            baseline=_alone(singling_out.at_random(synthetic, attacks, width, rng), ours),
        )
        for title, (width, said) in reported.items()
        if len(said.columns)
    ]


def _alone(said: singling_out.Statements, table: np.ndarray) -> float:
    return float(np.mean(said.counts(table) == 1))


def _by_neighbours(
    real: Sample, synthetic: Sample, test: Sample, name: str, attacks: int, rng: np.random.Generator
) -> list[AttackRates]:
    names = list(real.columns)
    halves = (names[::2], names[1::2])
    some = max(20, min(attacks, WORK // (synthetic.used * len(names))))
    asked = [s.at_most(some, rng) for s in (real, test)]
    link, other = (rate(neighbours.linked(a, synthetic, halves)) for a in asked)
    hits, misses = (neighbours.inferred(a, synthetic) for a in asked)
    level, guess = 1 - (1 - LEVEL) / len(names), rng.integers(0, synthetic.used, asked[0].used)
    each = [
        AttackRates(
            attack="inference",
            table=name,
            real=rate(hits[n], level),
            control=rate(misses[n], level),
            detail=n,
            baseline=float(neighbours.same(asked[0], n, np.asarray(synthetic.positions[n])[guess]).mean()),
        )
        for n in names
    ]
    message = " | ".join(", ".join(h) for h in halves)
    linked = AttackRates(
        attack="linkability", table=name, real=link, control=other, baseline=1 / synthetic.used, detail=message
    )
    return [linked, worst(each)]


def _reconstructed(real: Sample, synthetic: Sample, test: Sample, name: str, known: list[str]) -> AttackRates:
    result, held = (reconstruction.reconstructed(s, synthetic, known) for s in (real, test))
    level = 1 - (1 - LEVEL) / len(result)
    return worst(
        [
            AttackRates(
                attack="reconstruction from quasi-identifiers",
                table=name,
                real=rate(hits, level),
                control=rate(held[n][0], level),
                baseline=float(mode.mean()),
                detail=n,
            )
            for n, (hits, mode) in result.items()
        ]
    )


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
