"""Whether intervals of verified answers cover, and whether they are as wide as the price promised: by kind.

    python benchmarks/verified_coverage.py [--tables acs,adult,simulated] [--rows 1000,6000] [--samples 34]
                                           [--answers 3]

Of each table of benchmarks/inference.py so many rows are drawn ``--samples`` times, a release at epsilon 1 is made of
each sample, and each of 67 questions is answered ``--answers`` times for each at ``--epsilon``: an interval covers the
population's value, and the narrower one the sample's own, or does not. Releases stand in ``--retained`` and are made
once. Prints Markdown; lines that the JSON, benchmarks/results/verified_coverage.json, holds are passed over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import inference
import inference_estimands as estimands
import numpy as np
from markdown_tables import figure, table
from runner import ROOT, Row, grid, measured, start
from verified import DELTA, Positions, answered, positions, released

import synth
from synth.pipeline.verified import Questions
from synth.privacy.accounting.gaussian import calibrate
from synth.questions import Score
from synth.verified.law import Law, SurvivalLaw
from synth.verified.plan import Planned, described

QUESTIONS = 67  # of each table, three tables
AT_ONCE = 40  # questions of one request
NEAR = 1e-9  # rounding of sums
PROMISED = (0.8, 1.25)  # of the promised width


def questions(name: str) -> list[dict[str, Any]]:
    """``QUESTIONS`` of all kinds about a table of benchmarks/inference.py."""
    return [*_first(name), *_filtered(name)][:QUESTIONS]


def _filtered(name: str) -> Iterator[dict[str, Any]]:
    """Questions under filters, value by value of each group."""
    table_ = estimands.TABLES[name]
    hit, numbers, groups = (
        {table_.target: table_.yes},
        list(table_.numbers),
        [g for g in table_.groups if g != table_.target],
    )
    for i in range(max(len(table_.categories[g]) for g in groups)):
        for g in groups:
            if i >= len(table_.categories[g]):
                continue
            where = {g: table_.categories[g][i]}
            yield {"kind": "count", "where": where | hit}
            yield {"kind": "share", "of": where}
            for n in numbers:
                low, high = table_.numbers[n]
                yield {"kind": "mean", "column": n, "where": where}
                yield {"kind": "quantile", "column": n, "level": 0.4, "where": where}
                yield {"kind": "share", "of": {n: f"{low}..{(low + high) // 2}"}, "where": where}


def _first(name: str) -> list[dict[str, Any]]:
    table_ = estimands.TABLES[name]
    numbers, groups, target = list(table_.numbers), [g for g in table_.groups if g != table_.target], table_.target
    hit, values = {target: table_.yes}, {g: list(table_.categories[g]) for g in groups}
    out: list[dict[str, Any]] = [{"kind": "count", "where": hit}, {"kind": "share", "of": hit}]
    for g in groups:
        first, second = values[g][:2]
        out += [
            {"kind": "count", "where": {g: first}},
            {"kind": "share", "of": hit, "where": {g: first}},
            {"kind": "share", "of": hit | {g: second}},
            {"kind": "difference", "of": hit, "by": g, "groups": [first, second]},
            *({"kind": "difference", "column": n, "by": g, "groups": [first, second]} for n in numbers),
        ]
    for n in numbers:
        out += [{"kind": "mean", "column": n}, {"kind": "mean", "column": n, "where": hit}]
        out += [{"kind": "quantile", "column": n, "level": level} for level in (0.25, 0.5, 0.75)]
    for kind, y, by in table_.fits:
        right = " + ".join(by)
        out.append({"kind": kind, "formula": f"{y} ~ {right}"} | ({"positive": table_.yes} if y == target else {}))
    at = [float(q) for q in np.quantile(inference.population(name)[numbers[0]], (0.25, 0.5, 0.75))]
    event = {"kind": "survival", "time": numbers[0], "event": hit, "at": at}
    return [*out, event, *(event | {"where": {g: values[g][0]}} for g in groups)]


@contextmanager
def sampled(name: str, rows: int, sample: int, retained: Path) -> Iterator[tuple[list[Planned], Positions, int]]:
    """The plans of all questions on a release of a sample, and the sample."""
    everybody = inference.population(name)
    schema, rng = synth.Schema.parse(estimands.TABLES[name].schema), np.random.default_rng([sample, rows])
    own = everybody.iloc[rng.integers(0, len(everybody), rows)].reset_index(drop=True).astype(str)
    retained.mkdir(parents=True, exist_ok=True)
    place, asked = released(own, schema, retained / f"{name}-{rows}-{sample}", 1.0), questions(name)
    parts = [Questions(place, asked[i : i + AT_ONCE]) for i in range(0, len(asked), AT_ONCE)]
    for part in parts[1:]:
        vars(part)["drawn"] = parts[0].drawn  # the same rows for all
    yield [p for part in parts for p in part.planned], positions(own, schema), sample


@cache
def _everybody(name: str) -> Positions:
    return positions(inference.population(name).astype(str), synth.Schema.parse(estimands.TABLES[name].schema))


def own_of(score: Score, rows: Positions) -> np.ndarray:
    """What the analysis of these rows alone comes to, (p,)."""
    total = float(len(next(iter(rows.values()))))
    law = SurvivalLaw.of(score, rows, total) if score.link == "survival" else Law.of(score, rows, total, bent=False)
    return law.coefficients(np.zeros_like(law.beta))


_OF_EVERYBODY: dict[tuple[str, int, tuple[int, ...]], np.ndarray] = {}


def truth(name: str, question: int, plan: Planned, rows: int) -> np.ndarray:
    """The population's own coefficients; of a count that of so many rows of it."""
    key = (name, question, plan.retained)
    if key not in _OF_EVERYBODY:
        _OF_EVERYBODY[key] = own_of(plan.law.template, _everybody(name))
    own = _OF_EVERYBODY[key]
    return own * rows / len(next(iter(_everybody(name).values()))) if plan.law.template.link == "count" else own


def counted(into: Row, plan: Planned, name: str, term: Row, true: np.ndarray, own: np.ndarray) -> int | None:
    """Counts a term that is settled, and whether its intervals cover the two values; its place among these."""
    if term["estimate"] is None:
        return None
    j = plan.names.index(plan.question.shown[name])
    into["settled"] += 1
    into["hits"] += bool(term["low"] - NEAR <= true[j] <= term["high"] + NEAR)
    into["table_hits"] += bool(term["table_low"] - NEAR <= own[j] <= term["table_high"] + NEAR)
    return j


def coverage(place: tuple[list[Planned], Positions, int], cell: Row, epsilon: float, answers: int) -> list[Row]:
    """By kind how many of its intervals cover, and their widths beside what the price promised."""
    plans, rows, _ = place
    merged: dict[str, Row] = {}
    for i, plan in enumerate(plans):
        kind = str(plan.question.plain["kind"])
        empty = {"kind": kind, "hits": 0, "table_hits": 0, "settled": 0, "asked": 0, "promised": 0, "widths": []}
        into = merged.setdefault(kind, empty)
        whole, own = truth(cell["table"], i, plan, cell["rows"]), own_of(plan.law.template, rows)
        expected = plan.expected(1 / calibrate(epsilon, DELTA)).variance ** 0.5
        for result in (answered(plan, rows, epsilon) for _ in range(answers)):
            for name, term in described(plan, result, {}).items():
                into["asked"] += 1
                if (j := counted(into, plan, name, term, whole, own)) is None:
                    continue
                into["widths"].append(float(result.variance[j] ** 0.5 / max(expected[j], 1e-12)))
                into["promised"] += PROMISED[0] <= into["widths"][-1] <= PROMISED[1]
    return [m | {"widths": float(np.median(m["widths"] or [0]))} for m in merged.values()]


def markdown(rows: list[Row]) -> str:
    """By kind of question, a number of rows a column: shares of the intervals that were settled."""
    parts = {"covered": "hits", "of the table": "table_hits", "as promised": "promised"}
    sizes, kinds = sorted({r["rows"] for r in rows}), sorted({r["kind"] for r in rows})

    def share(part: str, size: int, kinds: list[str]) -> str:
        own = [r for r in rows if r["rows"] == size and r["kind"] in kinds]
        return figure(100 * sum(r[part] for r in own) / max(sum(r["settled"] for r in own), 1), 1)

    of = {k: [k] for k in kinds} | {"all": kinds}
    lines = [[k, *(share(p, n, some) for p in parts.values() for n in sizes)] for k, some in of.items()]
    return table(["%", *(f"{head}, {n:,} rows" for head in parts for n in sizes)], lines)


def main(given) -> None:
    cells = grid(seed=range(given.samples), rows=given.rows, table=given.tables)
    lines = measured(
        given,
        cells,
        lambda place, cell: coverage(place, cell, given.epsilon, given.answers),
        prepare=lambda *by: sampled(*by, given.retained),
        by=("table", "rows", "seed"),
    )
    print(markdown(lines))


if __name__ == "__main__":
    usual = {"tables": ["acs", "adult", "simulated"], "rows": [1000, 6000], "samples": 34, "answers": 3}
    start(main, json="verified_coverage", public=True, epsilon=0.5, retained=ROOT / "build" / "verified", **usual)
