"""How near tables of two columns are to the real ones: within a table, across two, of two rows of one parent."""

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pandas as pd
from related_cases import Case

BINS = 20
NUMBER = "#"
EVEN = ", roots alike"


class Coder:
    """Columns as codes of at most ``BINS`` bins, from the real tables; both sides alike."""

    def __init__(self, case: Case) -> None:
        self.case, self.edges = case, {}
        for table, schema in case.schema["tables"].items():
            for name, column in schema["columns"].items():
                if column["type"] == "integer":
                    values = case.tables[table][name].astype(float)
                    self.edges[table, name] = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
                elif column["type"] == "categorical":
                    often = case.tables[table][name].value_counts().index[: BINS - 1]
                    self.edges[table, name] = {v: i for i, v in enumerate(often)}

    def code(self, table: str, name: str, values: pd.Series) -> np.ndarray:
        """(n,) codes below ``BINS``."""
        rule = self.edges[table, name]
        if isinstance(rule, dict):
            return values.map(rule).fillna(BINS - 1).to_numpy(dtype=np.int64)
        return np.searchsorted(rule, values.astype(float), side="right")


def coded(case: Case, tables: dict[str, pd.DataFrame], coder: Coder) -> tuple[dict, dict, np.ndarray, np.ndarray]:
    """Parents' and children's codes, each child's parent, and its place among its siblings; at most so many kept."""
    key, rng = case.key, np.random.default_rng(0)
    upper, lower = tables[key["parent"]], tables[key["child"]]
    at = pd.Series(np.arange(len(upper)), index=upper[key["columns"][0]])
    parent = at.reindex(lower[key["columns"][0]]).to_numpy().astype(np.int64)
    ordered = key.get("order") in lower.columns  # a rival makes no such column: its rows follow as they stand
    time = lower[key["order"]].astype(int).to_numpy() if ordered else np.arange(len(lower))
    if not key.get("order"):
        time = rng.random(len(lower))
    drawn = np.lexsort((rng.random(len(lower)), parent))
    retained = np.sort(drawn[_rank(parent[drawn]) < key["most_children"]])
    retained = retained[np.lexsort((time[retained], parent[retained]))]
    parent = parent[retained]
    ours = [n for t, n in coder.edges if t == key["parent"]]
    theirs = [n for t, n in coder.edges if t == key["child"]]
    above = {n: coder.code(key["parent"], n, upper[n]) for n in ours}
    above[NUMBER] = np.bincount(parent, minlength=len(upper))
    below = {n: coder.code(key["child"], n, lower[n].iloc[retained]) for n in theirs}
    return above, below, parent, _rank(parent)


def _rank(sorted_codes: np.ndarray) -> np.ndarray:
    first = np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1]))
    return np.arange(len(sorted_codes)) - np.repeat(first, np.diff(np.append(first, len(sorted_codes))))


def tables(above: dict, below: dict, parent: np.ndarray, rank: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """(what, table) of every pair of columns, as shares.

    Each row or pair of rows counts alike; those ``EVEN`` weigh so that all of one root's weigh one, as they are asked.
    """

    def share(a: np.ndarray, b: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        result = np.bincount(a * BINS + b, weights=weight, minlength=BINS**2).reshape(BINS, BINS)
        return result / max(result.sum(), 1)

    own = [n for n in above if n != NUMBER]
    yield from (("parent", share(above[a], above[b])) for a, b in combinations(own, 2))
    yield from (("number by parent", share(above[a], above[NUMBER])) for a in own)
    yield from (("child", share(below[a], below[b])) for a, b in combinations(below, 2))
    yield from (("across", share(below[a], above[b][parent])) for a, b in product(below, own))
    yield from (("number by child", share(below[a], above[NUMBER][parent])) for a in below)
    many = above[NUMBER][parent]
    yield from (("across" + EVEN, share(below[a], above[b][parent], 1 / many)) for a, b in product(below, own))
    steps = np.flatnonzero(rank + 1 < many)
    for a, b in product(below, repeat=2):
        yield "steps", share(below[a][steps], below[b][steps + 1])
        yield "steps" + EVEN, share(below[a][steps], below[b][steps + 1], 1 / (many[steps] - 1))
    pairs = [(at, at + k) for k in range(1, int(many.max(initial=1))) for at in [np.flatnonzero(rank + k < many)]]
    near, far = (np.concatenate([np.concatenate([p[i], p[1 - i]]) for p in pairs]) for i in (0, 1))
    each = 1 / (many[near] * (many[near] - 1))
    for a, b in combinations_with_replacement(below, 2):
        for name, weight in (("", None), (EVEN, each)):
            table = share(below[a][near], below[b][far], weight)
            yield "siblings" + name, table
            if a == b:
                yield "siblings, same column" + name, table


def scores(real, made) -> dict[str, dict[str, float]]:
    """By what, the mean error and that of independent columns."""
    result: dict[str, list[tuple[float, float]]] = {}
    for (what, truth), (_, table) in zip(tables(*real), tables(*made), strict=True):
        alone = np.outer(truth.sum(1), truth.sum(0))
        errors = (0.5 * float(np.abs(table - truth).sum()), 0.5 * float(np.abs(alone - truth).sum()))
        result.setdefault(what, []).append(errors)
    return {
        w: {"error": float(np.mean(e, axis=0)[0]), "independent": float(np.mean(e, axis=0)[1])}
        for w, e in result.items()
    }


def population(case: Case, coder: Coder) -> dict[str, float]:
    """What a model of the population itself would leave, by what: half of what two halves of the roots differ by.

    Half of the roots lie further from the population than all of them, by the root of two, and two such halves from
    each other by as much again.
    """
    key, rng = case.key, np.random.default_rng(0)
    upper, lower, name = case.tables[key["parent"]], case.tables[key["child"]], key["columns"][0]
    chosen = rng.random(len(upper)) < 0.5
    halves = []
    for part in (chosen, ~chosen):
        ids = upper.loc[part, name]
        tables_of = {key["parent"]: upper[part], key["child"]: lower[lower[name].isin(ids)]}
        halves.append(coded(case, tables_of, coder))
    return {w: s["error"] / 2 for w, s in scores(*halves).items()}
