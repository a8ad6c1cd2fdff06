"""The estimands of benchmarks/inference.py: means, proportions, differences, quantiles, three kinds of regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

Z = 1.959964
YES = ("1", ">50K", "yes")  # how the files write the target
Estimated = dict[str, tuple[float, float]]  # estimate and variance by name


@dataclass(frozen=True, kw_only=True)
class Table:
    """Which columns, and what is asked of them. ``fits``: (kind, outcome, regressors)."""

    numbers: Mapping[str, tuple[int, int]]
    categories: Mapping[str, tuple[str, ...]]
    fits: Sequence[tuple[str, str, tuple[str, ...]]]
    names: Mapping[str, str] = field(default_factory=dict)
    target: str = "high"
    yes: str = "yes"

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns of categories."""
        return tuple(self.categories)

    def shaped(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The columns alone, numbers within their public bounds, categories as text."""
        out = pd.DataFrame({n: rows[self.names.get(n, n)] for n in (*self.numbers, *self.groups)})
        for n, (low, high) in self.numbers.items():
            out[n] = out[n].astype(float).clip(low, high).astype(int)
        for n in self.groups:
            text = out[n].astype(str).str.removesuffix(".0").str.removesuffix(".")
            if n == self.target:
                text = pd.Series(np.where(text.isin(YES), self.yes, "no"), index=out.index)
            out[n] = text.where(text.isin(self.categories[n]), self.categories[n][-1])
        return out.reset_index(drop=True)

    def typed(self, texts: pd.DataFrame) -> pd.DataFrame:
        """A synthetic table read as text: its numbers as such."""
        return texts.assign(**{n: texts[n].astype(int) for n in self.numbers})

    @property
    def schema(self) -> dict[str, Any]:
        """Public facts, by declaration."""
        numbers = {n: {"type": "integer", "min": a, "max": b} for n, (a, b) in self.numbers.items()}
        groups = {n: {"type": "categorical", "categories": list(self.categories[n])} for n in self.groups}
        return {"target": self.target, "columns": numbers | groups}

    @property
    def _numeric(self) -> list[str]:
        quantiles = [f"quantile:{n}:{q}" for n in self.numbers for q in QUANTILES]
        return [*(f"mean:{n}" for n in self.numbers), *quantiles]

    @property
    def questions(self) -> list[str]:
        """All estimands, in the words of ``synth.estimates``."""
        hit = f"{self.target}={self.yes}"
        others = [g for g in self.groups if g != self.target]
        return [
            *self._numeric,
            *(f"share:{g}" for g in self.groups),
            *(f"difference:{hit}*{g}" for g in others),
            *(f"difference:{n}*{g}" for n in self.numbers for g in self.groups),
            *(f"{kind}:{hit if y == self.target else y}~{'+'.join(by)}" for kind, y, by in self.fits),
        ]

    def truth(self, rows: pd.DataFrame) -> dict[str, float]:
        """Of the whole population."""
        return {n: v for n, (v, _) in self.analysed(rows).items()}

    def analysed(self, rows: pd.DataFrame) -> Estimated:
        """Every estimand as if the rows were a simple random sample of people; of groups only neighbours differ."""
        out: Estimated = {}
        for n in self.numbers:
            x = rows[n].to_numpy(float)
            out[f"mean:{n} {n}"] = (x.mean(), x.var(ddof=1) / len(x))
            for q in QUANTILES:
                out[f"quantile:{n}:{q} {n}"] = quantile(x, q)
        hit = (rows[self.target] == self.yes).to_numpy(float)
        for g in self.groups:
            labels = rows[g].to_numpy()
            for c in self.categories[g]:
                p = float((labels == c).mean())
                out[f"share:{g} {c}"] = (p, p * (1 - p) / len(rows))
            for a, b in pairwise(self.categories[g]):
                if g != self.target:
                    out[f"difference:{self.target}={self.yes}*{g} {a} - {b}"] = difference(hit, labels, a, b)
                for name in self.numbers:
                    out[f"difference:{name}*{g} {a} - {b}"] = difference(rows[name].to_numpy(float), labels, a, b)
        for kind, outcome, regressors in self.fits:
            out |= self._fit(kind, outcome, regressors, rows)
        return out

    def _fit(self, kind: str, outcome: str, regressors: Sequence[str], rows: pd.DataFrame) -> Estimated:
        x, names = [np.ones(len(rows))], ["1"]
        for n in regressors:
            if n in self.numbers:
                x, names = [*x, rows[n].to_numpy(float)], [*names, n]
            else:
                for c in self.categories[n][1:]:
                    x, names = [*x, (rows[n] == c).to_numpy(float)], [*names, f"{n}={c}"]
        hit = outcome == self.target
        y = (rows[outcome] == self.yes).to_numpy(float) if hit else rows[outcome].to_numpy(float)
        beta, variance = FITS[kind](np.stack(x, 1), y)
        asked = f"{kind}:{outcome}{f'={self.yes}' if hit else ''}~{'+'.join(regressors)}"
        return {f"{asked} {n}": (float(b), float(v)) for n, b, v in zip(names, beta, variance, strict=True)}


QUANTILES = (0.25, 0.5, 0.75)


def quantile(x: np.ndarray, q: float) -> tuple[float, float]:
    """Of whole numbers, taken as spread evenly over their unit; its variance by Woodruff's interval."""
    x = np.sort(x)
    first, last = np.searchsorted(x, x), np.searchsorted(x, x, side="right")
    spread = x + (np.arange(len(x)) - first) / np.maximum(last - first, 1) - 0.5
    half = Z * np.sqrt(q * (1 - q) / len(x))
    low, middle, high = np.quantile(spread, [max(q - half, 0), q, min(q + half, 1)])
    return float(middle), float(((high - low) / (2 * Z)) ** 2)


def difference(x: np.ndarray, labels: np.ndarray, a: str, b: str) -> tuple[float, float]:
    """Of two groups' means; of a group without two rows nothing is known."""
    one, two = x[labels == a], x[labels == b]
    if min(len(one), len(two)) < 2:
        return 0.0, float(np.ptp(x) ** 2)
    return float(one.mean() - two.mean()), float(one.var(ddof=1) / len(one) + two.var(ddof=1) / len(two))


def linear(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares with variances that do not assume equal spread."""
    bread = np.linalg.pinv(x.T @ x)
    beta = bread @ (x.T @ y)
    meat = (x * ((y - x @ beta) ** 2)[:, None]).T @ x
    return beta, np.diag(bread @ meat @ bread)


def _newton(x: np.ndarray, y: np.ndarray, mean: Any, weight: Any, start: float) -> tuple[np.ndarray, np.ndarray]:
    scale = np.abs(x).max(axis=0)  # so that a step is of one size for all
    x, beta = x / np.maximum(scale, 1e-9), np.zeros(x.shape[1])
    beta[0] = start
    ridge = 1e-6 * np.eye(x.shape[1])
    for _ in range(40):
        mu = mean(np.clip(x @ beta, -20, 20))
        information = (x * weight(mu)[:, None]).T @ x + ridge
        beta = beta + np.clip(np.linalg.solve(information, x.T @ (y - mu)), -2, 2)
    mu = mean(np.clip(x @ beta, -20, 20))
    bread = np.linalg.inv((x * weight(mu)[:, None]).T @ x + ridge)
    variance = np.diag(bread @ ((x * ((y - mu) ** 2)[:, None]).T @ x) @ bread)
    return beta / scale, variance / scale**2


def logistic(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By Newton's method, with sandwich variances."""
    return _newton(x, y, lambda t: 1 / (1 + np.exp(-t)), lambda m: m * (1 - m), 0.0)


def poisson(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By Newton's method, with sandwich variances."""
    return _newton(x, y, np.exp, lambda m: m, float(np.log(max(y.mean(), 1e-3))))


FITS = {"linear": linear, "logistic": logistic, "poisson": poisson}

MARRIED = ("Husband", "Not-in-family", "Own-child", "Unmarried", "Wife", "other")
CENSUS = (
    ("linear", "hours", ("age", "sex", "school")),
    ("logistic", "high", ("age", "sex", "hours", "school")),
    ("poisson", "hours", ("age", "sex")),
)
CODES = {"age": "AGEP", "hours": "WKHP", "school": "SCHL", "sex": "SEX", "marital": "MAR", "race": "RAC1P"}
HIGH = {"high": ("no", "yes")}
TABLES = {
    "acs": Table(
        numbers={"age": (17, 94), "hours": (1, 99), "school": (1, 24)},
        categories={"sex": ("1", "2"), "marital": tuple("12345"), "race": ("1", "2", "6", "other"), **HIGH},
        names={**CODES, "high": "PINCP"},
        fits=CENSUS,
    ),
    "adult": Table(
        numbers={"age": (17, 90), "hours": (1, 99), "school": (1, 16)},
        categories={"sex": ("Female", "Male"), "race": ("White", "Black", "other"), "relationship": MARRIED, **HIGH},
        names={"hours": "hours-per-week", "school": "education-num", "high": "income"},
        fits=CENSUS,
    ),
    "simulated": Table(
        numbers={"age": (18, 90), "hours": (0, 80), "visits": (0, 20)},
        categories={"group": ("a", "b", "c", "d"), "sex": ("f", "m"), **HIGH},
        fits=(
            ("linear", "hours", ("age", "sex")),
            ("logistic", "high", ("age", "hours", "group")),
            ("linear", "age", ("group", "sex")),
            ("logistic", "high", ("group", "sex")),
            ("poisson", "visits", ("age", "sex")),
        ),
    ),
}
