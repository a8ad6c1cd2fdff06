"""The rows' joint shape, which tables of few columns do not see: votes of rows for the nearest of a model's rows.

A row of a neighbourhood is then drawn as many times as often as noisy votes for it exceed those of the model's own
rows. Privacy: released answers only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Self

import numpy as np

from synth.generators.base import Ask, Positions
from synth.generators.core.columns import OneWays, merge
from synth.questions import Bins, Nearest, NearestRelease
from synth.questions.features import codes
from synth.schema.table import Schema

PURPOSE = "nearest rows"
UNIT = 64.0  # between two categories, and between a number's ends; squared, a question's whole numbers
CLASS = 16.0  # times that between two classes of the target, so that rows vote within their own
HELD = 1 << 22  # most distances held at a time
RAKES = 5  # rounds over all columns
LEAST = 1 / 50  # times as often as the model has them, rows of a neighbourhood are drawn at least


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """Where rows lie, by groups of their columns.

    ``bins``: of each column; ``places`` (size, width) float32: where they lie, columns side by side, so that squared
    distances add up.
    """

    bins: tuple[Bins, ...]
    places: tuple[np.ndarray, ...]

    @classmethod
    def on(cls, bins: Sequence[Bins], schema: Schema, **more: Any) -> Self:
        """By public bounds. A number's bins lie by their middles, between those of the first and last."""
        places = []
        for own in bins:
            facts, is_class = schema.columns[own.column], own.column == schema.target
            at = np.eye(own.size) * (UNIT / sqrt(2)) * (CLASS if is_class else 1.0)
            if facts.is_numeric and not is_class:
                middle = np.minimum(own.starts + (own.widths - 1) / 2, facts.size - 1)
                mean = np.bincount(own.groups, weights=middle) / np.bincount(own.groups)
                at = UNIT * (mean - mean.min())[:, None] / max(float(np.ptp(mean)), 1.0)
            places.append(at.astype(np.float32))
        return cls(bins=tuple(bins), places=tuple(places), **more)

    def question(self, rows: np.ndarray, sigma: float) -> Nearest:
        """Votes for these candidates, with noise of ``sigma``."""
        apart = tuple(
            np.rint(((p[:, None, :] - p[None, :, :]).astype(float) ** 2).sum(2)).astype(np.int64) for p in self.places
        )
        return Nearest(purpose=PURPOSE, bins=self.bins, candidates=rows, distances=apart, sigma=sigma)

    def groups(self, rows: Positions) -> np.ndarray:
        """Each row's bins, (n, columns)."""
        return np.stack([codes(b, rows[b.column]) for b in self.bins], axis=1)

    def nearest(self, groups: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """The nearest candidate of each row, (n,)."""
        placed = self._placed(candidates)
        square, out = (placed**2).sum(1) / 2, np.empty(len(groups), dtype=np.int64)
        step = max(1, HELD // len(candidates))
        for start in range(0, len(groups), step):
            out[start : start + step] = np.argmin(
                square - self._placed(groups[start : start + step]) @ placed.T, axis=1
            )
        return out

    def _placed(self, groups: np.ndarray) -> np.ndarray:
        return np.concatenate([p[g] for p, g in zip(self.places, groups.T, strict=True)], axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tilt(Places):
    """How many times as often as a model has them rows are drawn, by the neighbourhoods that they lie in.

    ``rounds``: candidates (m, columns) int64, groups of the bins, and how many times as often rows that are nearest to
    each are drawn (m,) float64; what several rounds say is multiplied, up to ``most``. ``margins``: of each column, how
    many times as often rows of a bin are drawn besides (size,), so that single columns stay the model's.
    """

    most: float
    rounds: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    margins: tuple[np.ndarray, ...] = ()

    def weights(self, rows: Positions) -> np.ndarray:
        """How many times as often as the model has it each row is drawn, (n,)."""
        groups, out = self.groups(rows), np.ones(len(next(iter(rows.values()))))
        for candidates, times in self.rounds:
            out = self.bounded(out * times[self.nearest(groups, candidates)])
        for own, times in zip(groups.T, self.margins, strict=False):  # none before all rounds are told
            out *= times[own]
        return out

    def bounded(self, weights: np.ndarray) -> np.ndarray:
        """Weights (n,) within ``LEAST`` and ``most``."""
        return np.clip(weights, LEAST, self.most)

    def picked(self, rows: Positions, num_rows: int, rng: np.random.Generator) -> np.ndarray:
        """So many of the rows, (num_rows,), in proportion to their weights, evenly over neighbourhoods."""
        weights, last = self.weights(rows), self.rounds[-1][0]
        order = np.lexsort((rng.random(len(weights)), self.nearest(self.groups(rows), last)))
        run = np.cumsum(weights[order])
        at = np.searchsorted(run, (np.arange(num_rows) + rng.random()) * (run[-1] / max(num_rows, 1)))
        return order[np.minimum(at, len(order) - 1)]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild it."""
        about = {"columns": [b.column for b in self.bins], "cells": [b.cells for b in self.bins], "most": self.most}
        arrays: dict[str, np.ndarray] = {}
        for i, (own, places) in enumerate(zip(self.bins, self.places, strict=True)):
            arrays |= {f"tilt.{i}.starts": own.starts, f"tilt.{i}.groups": own.groups, f"tilt.{i}.places": places}
        arrays |= {f"tilt.{i}.times": times for i, times in enumerate(self.margins)}
        for k, (candidates, times) in enumerate(self.rounds):
            arrays |= {f"tilt{k}.candidates": candidates, f"tilt{k}.times": times}
        return {**about, "rounds": len(self.rounds)}, arrays

    @classmethod
    def from_state(cls, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Tilt":
        """What ``state`` described."""
        return cls(
            bins=tuple(
                Bins(column=n, cells=int(c), starts=arrays[f"tilt.{i}.starts"], groups=arrays[f"tilt.{i}.groups"])
                for i, (n, c) in enumerate(zip(about["columns"], about["cells"], strict=True))
            ),
            places=tuple(np.asarray(arrays[f"tilt.{i}.places"]) for i in range(len(about["columns"]))),
            most=float(about["most"]),
            margins=tuple(np.asarray(arrays[f"tilt.{i}.times"]) for i in range(len(about["columns"]))),
            rounds=tuple(
                (np.asarray(arrays[f"tilt{k}.candidates"]), np.asarray(arrays[f"tilt{k}.times"]))
                for k in range(int(about["rounds"]))
            ),
        )

    def problems(self) -> Iterator[str]:
        """A sentence for each part that does not fit."""
        sizes = [b.size for b in self.bins]
        if any([len(a) if a.ndim else 0 for a in of] != sizes for of in (self.places, self.margins)):
            yield "its neighbourhoods must have a place for each bin"
        elif not all(np.isfinite(a).all() for a in (*self.places, *self.margins)):
            yield "the places of its neighbourhoods must be finite numbers"
        for rows, times in self.rounds:
            if rows.shape != (len(times), len(sizes)) or rows.min() < 0 or (rows >= sizes).any():
                yield "its candidates must be groups of their columns' bins"
            if times.ndim != 1 or not (np.isfinite(times) & (times > 0)).all():
                yield "its votes must be a positive number for each candidate"


class Pool:
    """Rows that stand for a model, and what rounds of votes made of their weights (n,)."""

    def __init__(self, tilt: Tilt, rows: Positions, total: float) -> None:
        self.tilt, self.total, self.groups = tilt, total, tilt.groups(rows)
        self.weights = np.ones(len(self.groups))

    def candidates(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """At most so many of the rows, by their weights, each once."""
        run = np.cumsum(self.weights)
        at = np.searchsorted(run, (np.arange(count) + rng.random()) * (run[-1] / count))
        return np.unique(self.groups[np.minimum(at, len(run) - 1)], axis=0)

    def vote(self, release: NearestRelease) -> tuple[float, float]:
        """Takes a round in. Returns by how many deviations it departs from what noise and chance explain, and the
        variance of votes between neighbourhoods in parts of those that the model expects, squared.

        A departure is shrunk to its posterior mean, where true ones have that variance.
        """
        candidates, m = release.question.candidates, len(release.values)
        owner = self.tilt.nearest(self.groups, candidates)
        part = self.weights / self.weights.sum() * self.total
        expected, chance = (np.bincount(owner, weights=part**k, minlength=m) for k in (1, 2))
        noise = release.question.sigma**2 + expected + chance
        error = release.values - expected
        spread = max(float((error**2 - noise).sum() / (expected**2).sum()), 0.0)
        believed = spread * expected**2 / (spread * expected**2 + noise)
        times = np.clip(1 + believed * error / np.maximum(expected, 1e-9), LEAST, self.tilt.most)
        self.tilt = replace(self.tilt, rounds=(*self.tilt.rounds, (candidates, times)))
        self.weights = self.tilt.bounded(self.weights * times[owner])
        return float((error**2 / noise - 1).sum() / sqrt(2 * m)), spread

    def rake(self) -> None:
        """Brings single columns back to the model's own."""
        margins = [np.ones(b.size) for b in self.tilt.bins]
        for _ in range(RAKES):
            for own, times in zip(self.groups.T, margins, strict=True):
                drawn = np.bincount(own, weights=self.weights, minlength=len(times)) / self.weights.mean()
                off = np.bincount(own, minlength=len(times)) / np.maximum(drawn, 1e-9)
                times *= off
                self.weights = self.weights * off[own]
        self.tilt = replace(self.tilt, margins=tuple(margins))


@dataclass(frozen=True, kw_only=True)
class Votes:
    """When rows are asked for votes, and how often.

    ``share``: of the tables' budget, kept for them where at least half of the columns are numbers and rows are ``rows``
    at most; ``look``: of that, for a first round. No further one follows unless it departs by ``seen`` deviations from
    what noise and chance explain, and votes vary between neighbourhoods by ``worth`` (a squared part of those that the
    model expects): what is kept then goes to the tables. ``rounds``: after the first. ``candidates``: of a round.
    ``pool``: rows that stand for the model. ``most``: times as often, at most, as the model has them, rows of a
    neighbourhood are drawn. ``bins``: of a column, about.
    """

    share: float = 0.3
    look: float = 1 / 8
    seen: float = 5.0
    worth: float = 0.4
    rounds: int = 3
    candidates: int = 800
    pool: int = 60_000
    most: float = 6.0
    bins: int = 64
    rows: int = 100_000

    def retained(self, columns: OneWays, share: float) -> float:
        """The part of ``share`` that is kept for votes; 0 where none is asked."""
        schema = columns.setting.schema
        if not self.rounds or schema.public_columns or columns.total > self.rows:
            return 0.0
        names = [n for n in columns.histograms if n != schema.target]
        numbers = sum(columns.is_number(n) for n in names)
        return self.share * share if numbers > 1 and 2 * numbers >= len(names) else 0.0

    def ask(
        self, ask: Ask, rows: Positions, columns: OneWays, share: float, *, fitted: bool
    ) -> Iterator[NearestRelease]:
        """The rounds' releases, within ``share``; ``rows``: the model's; without ``fitted`` the first round alone."""
        rng = np.random.default_rng(0)
        parts = (
            columns.grouping(n, merge(h.mass, least=columns.total / self.bins)) for n, h in columns.histograms.items()
        )
        pool = Pool(Tilt.on(tuple(parts), columns.setting.schema, most=self.most), rows, columns.total)
        for part in [self.look, *[(1 - self.look) / self.rounds] * self.rounds]:
            sigma = columns.setting.sigma(part * share)
            yield (release := ask(pool.tilt.question(pool.candidates(self.candidates, rng), sigma)))
            deviations, spread = pool.vote(release)
            if not fitted or (len(pool.tilt.rounds) == 1 and not (deviations > self.seen and spread > self.worth)):
                return

    def tilt(self, rounds: Sequence[NearestRelease], columns: OneWays, rows: Positions) -> Tilt:
        """What all rounds say of a model that these ``rows`` are of."""
        bins, schema = rounds[0].question.bins, columns.setting.schema
        pool = Pool(Tilt.on(bins, schema, most=self.most), rows, columns.total)
        for release in rounds:
            pool.vote(release)
        pool.rake()
        return pool.tilt
