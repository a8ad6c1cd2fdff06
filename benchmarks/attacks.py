"""Precision attacks on noised counts: ours, and two ways of adding noise in floating point.

    .venv/bin/python benchmarks/attacks.py

Two tables differ in one row: a cell holds 0 or 1. For each draw an attack names a table when the value cannot come from
the other, as far as it can tell. Under (1, delta)-differential privacy delta bounds how often it can be sure.

**Source**: Mironov 2012, "On significance of the least significant bits for differential privacy", section 3 (reachable
values of a Laplace sampler); Haney et al. 2022, arXiv 2207.13793 (the precision of a sum tells its summands).
"""

from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np
from runner import start, tell
from scipy.special import ndtr

from synth.mechanisms import counts
from synth.privacy.noise import SystemNoise
from synth.questions import Bins, Counts, Marginal

SCALE = 4.0
EPSILON = 1.0
Release = Callable[[int, int, np.random.Generator], np.ndarray]
NEAR = np.arange(-3, 4)


def naive_laplace(exact: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """exact + Laplace noise from the inverse of its distribution, in double precision."""
    return exact + rng.choice([-1.0, 1.0], size) * SCALE * np.log(rng.integers(1, 2**53, size) * 2.0**-53)


def naive_gaussian(exact: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """exact + Gaussian noise, in double precision, as most libraries add it."""
    return exact + rng.standard_normal(size) * SCALE


def ours(exact: int, size: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001 - noise has no seed
    """The counts mechanism of this library on a table whose cells all hold ``exact`` rows."""
    rows = {"x": np.repeat(np.arange(size), exact)}
    asked = Counts(purpose="attack", marginals=(Marginal(bins=(Bins.each("x", size),), sigma=SCALE),))
    return counts.answer(asked, rows, SystemNoise()).values[0].astype(float)


def reachable(values: np.ndarray, exact: int) -> np.ndarray:
    """Mironov: whether the naive Laplace sampler can give each value from this count, by trying the random bits."""
    noise = values - exact
    grid = np.rint(np.exp(-np.abs(noise) / SCALE) * 2.0**53)[:, None] + NEAR
    grid = np.clip(grid, 1, 2.0**53 - 1)
    made = exact - np.sign(noise)[:, None] * SCALE * np.log(grid * 2.0**-53)
    return (made == values[:, None]).any(1)


def mironov(values: np.ndarray) -> np.ndarray:
    """1 or 0 where only that count can have given the value, -1 where both or neither can."""
    zero, one = reachable(values, 0), reachable(values, 1)
    return np.where(zero & ~one, 0, np.where(one & ~zero, 1, -1))


def haney(values: np.ndarray) -> np.ndarray:
    """0 where the value is finer than any sum of 1 and a noise that brings it there; else no opinion."""
    near = np.abs(values) < 0.5
    fine = values * 2.0**53
    return np.where(near & (fine != np.rint(fine)), 0, -1)


ATTACKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"Mironov 2012": mironov, "Haney et al. 2022": haney}
TARGETS: dict[str, Release] = {"naive Laplace": naive_laplace, "naive Gaussian": naive_gaussian, "ours": ours}


def attacked(
    target: Release, attack: Callable[[np.ndarray], np.ndarray], *, draws: int, seed: int = 0
) -> dict[str, Any]:
    """What the attack says of values from either table, and the delta that alone would explain it at ``EPSILON``.

    Each table's name, once said, is an event; under (epsilon, delta) its probability under one table is at most
    e^epsilon times that under the other, and delta.
    """
    rng = np.random.default_rng(seed)
    named = [attack(target(exact, draws, rng)) for exact in (0, 1)]
    said = np.array([[(n == name).mean() for name in (0, 1)] for n in named])  # table, name
    excess = np.maximum(said - exp(EPSILON) * said[::-1], 0.0)
    certain = said.sum() / 2
    return {
        "draws": 2 * draws,
        "names a table": round(float(certain), 5),
        "right then": round(float(np.trace(said) / said.sum()), 4) if said.any() else None,
        "delta at least": round(float(excess.max()), 5),
    }


def main(given) -> None:
    result: dict[str, Any] = {
        name: {a: attacked(t, f, draws=given.draws) for a, f in ATTACKS.items()} for name, t in TARGETS.items()
    }
    mu = 1 / SCALE
    proven = ndtr(mu / 2 - EPSILON / mu) - exp(EPSILON) * ndtr(-mu / 2 - EPSILON / mu)
    result["ours"]["its delta by proof"] = float(proven)
    tell(given.json, result)


if __name__ == "__main__":
    start(main, draws=200_000)
