"""Questions about rows of roots: do intervals of verified answers cover, by table and epsilon?

    python benchmarks/verified_roots.py [--tables equal,bank,hospital,persons] [--methods independent] [--samples 12]
                                        [--epsilons 0.1,0.5,1] [--answers 2] [--roots 2000]

So many roots of the tables of related_cases.py are drawn with replacement ``--samples`` times, with all below them; of
``equal``, homes of one to five persons, all rows of a home are equal. A release at epsilon 1 is made of each sample,
and seven questions are answered ``--answers`` times each. Counted are intervals that cover the population's value, and
those that cover the sample's own; `width` is the median width by that of sampling alone. Prints Markdown, which
docs/verified.md holds; writes benchmarks/results/verified_roots.json.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from markdown_tables import figure, table
from related_cases import Case, bank, hospital, persons
from runner import Row, grid, measured, start
from verified_coverage import counted

import synth
from synth.generators.base import Run, Setting
from synth.mechanisms import embeddings
from synth.pipeline import verified
from synth.pipeline.verified import Questions
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.sources.rows.forest import Forest
from synth.verified.law import Law
from synth.verified.plan import Planned, VerifiedQuestions, answer

DELTA = 1e-5
Sample = tuple[tuple[Planned, ...], Forest, Forest]
KINDS = ("count", "share", "mean", "quantile", "difference", "linear", "logistic")


def equal() -> Case:
    """Homes of one to five persons whose rows are all equal."""
    rng, many = np.random.default_rng(5), 20_000
    area, size = rng.choice(["a", "b"], many, p=[0.6, 0.4]), rng.integers(1, 6, many)
    homes = pd.DataFrame({"id": np.arange(many).astype(str), "area": area})
    age = np.clip(np.rint(40 + 15 * rng.standard_normal(many) + 5 * (area == "b")), 0, 99).astype(int).astype(str)
    ill = np.where(rng.random(many) < 0.1 + 0.004 * age.astype(int), "yes", "no")
    owner = np.repeat(np.arange(many), size)
    below = pd.DataFrame({"id": homes.id.to_numpy()[owner], "age": age[owner], "ill": ill[owner]})
    named = {"a": {"type": "identifier"}, "c": {"type": "categorical"}, "n": {"type": "integer", "min": 0, "max": 99}}
    columns = {
        "homes": {"id": named["a"], "area": named["c"] | {"categories": ["a", "b"]}},
        "persons": {"id": named["a"], "age": named["n"], "ill": named["c"] | {"categories": ["no", "yes"]}},
    }
    key = {"parent": "homes", "child": "persons", "columns": ["id"], "most_children": 5}
    schema = {"dataset": "equal", "tables": {t: {"columns": c} for t, c in columns.items()}, "keys": [key]}
    return Case("equal", {"homes": homes, "persons": below}, schema)


CASES = {"equal": equal, "bank": bank, "hospital": hospital, "persons": persons}
# of each case the rows asked about: a number, a category with a value, a column above with two groups
ASKED = {
    "equal": ("persons", "age", "ill", "yes", "homes.area", ["a", "b"]),
    "bank": ("orders", "amount", "k_symbol", "SIPO", "accounts.frequency", ["POPLATEK MESICNE", "POPLATEK TYDNE"]),
    "hospital": ("stays", "time_in_hospital", "insulin", "No", "patients.gender", ["Female", "Male"]),
    "persons": ("persons", "born", "gender", "F", "accounts.frequency", ["POPLATEK MESICNE", "POPLATEK TYDNE"]),
}


def questions(name: str) -> list[dict[str, Any]]:
    """One of each kind."""
    rows, number, column, value, above, groups = ASKED[name]
    parts: list[dict[str, Any]] = [
        {"where": {column: value}},
        {"of": {column: value}},
        {"column": number},
        {"column": number, "level": 0.5},
        {"column": number, "by": above, "groups": groups},
        {"formula": f"{number} ~ C({column}) + C(`{above}`)", "where": {above: "|".join(groups)}},
        {"formula": f"{column} ~ {number}", "positive": value},
    ]
    return [{"table": rows, "kind": kind, **part} for kind, part in zip(KINDS, parts, strict=True)]


def forest(case: Case, folder: Path) -> Forest:
    """The tables as a curator has them."""
    folder.mkdir(exist_ok=True)
    for name, rows in case.tables.items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    return verified.released_trees(folder, synth.app_api.parse_related(case.schema))


def drawn(case: Case, roots: int, seed: int) -> Case:
    """So many of its roots with all below them, drawn with replacement, under new keys."""
    parent, child, (column,) = case.key["parent"], case.key["child"], case.key["columns"]
    upper = case.tables[parent].sample(roots, replace=True, random_state=seed).reset_index(drop=True)
    new = upper[[column]].assign(new=[f"r{i}" for i in range(roots)])
    below = case.tables[child].merge(new, on=column).drop(columns=column).rename(columns={"new": column})
    other = [n for n in below if case.schema["tables"][child]["columns"][n]["type"] == "identifier" and n != column]
    below = below.assign(**{n: np.arange(len(below)).astype(str) for n in other})
    upper = upper.assign(**{column: new["new"]})
    return Case(case.name, {parent: upper, child: below[list(case.tables[child])]}, case.schema)


@cache
def population(name: str) -> tuple[Case, Forest]:
    """The whole tables."""
    case = CASES[name]()
    with TemporaryDirectory() as folder:
        return case, forest(case, Path(folder) / "all")


def own_of(planned: Planned, rows: Forest) -> np.ndarray:
    """What the analysis of these tables alone comes to, (p,)."""
    positions, _ = verified.rows_of(rows, planned.law.template)
    law = Law.of(planned.law.template, positions, float(len(next(iter(positions.values())))), bent=False)
    return law.coefficients(np.zeros_like(law.beta))


@contextmanager
def sampled(name: str, method: str, seed: int, roots: int) -> Iterator[Sample]:
    """The plans of all questions on a release of a sample, the sample and the population."""
    case, everybody = population(name)
    with TemporaryDirectory() as scratch:
        place, own = Path(scratch), drawn(case, roots, seed)
        rows, schema = forest(own, place / "rows"), synth.app_api.parse_related(case.schema)
        how = {"method": method, "ledger": place / "l.sqlite", "out": place / "release", "delta": DELTA}
        synth.run(place / "rows", schema=schema, epsilon=1.0, **how)
        yield Questions(place / "release", questions(name)).planned, rows, everybody


def covered(samples: list[Sample], epsilon: float, answers: int) -> list[Row]:
    """By kind how many intervals of all samples cover, and how wide they are in the middle."""
    setting = Setting(schema=None, mu=calibrate(epsilon, DELTA), sensitivity=1.0, signed=1.0)  # type: ignore
    lines: dict[str, Row] = {}
    for plans, rows, everybody in samples:
        for plan in plans:
            asked = VerifiedQuestions(planned=(plan,))
            own, true = own_of(plan, rows), own_of(plan, everybody)
            if plan.law.template.link == "count":
                true = true * rows.num_roots / everybody.num_roots
            kind = str(plan.question.plain["kind"])
            line = lines.setdefault(kind, {"kind": kind, "settled": 0, "hits": 0, "table_hits": 0, "width": []})
            for _ in range(answers):
                releases = asked.measure(Run(lambda q, rows=rows: embeddings.answer(q, rows, SystemNoise()), setting))
                for name, term in answer(plan, releases, {})["terms"].items():
                    if (j := counted(line, plan, name, term, true, own)) is not None:
                        line["width"].append((term["high"] - term["low"]) / float(plan.sampling[j] ** 0.5))
    return [r | {"width": float(np.median(r["width"])) if r["width"] else None} for r in lines.values()]


@contextmanager
def samples(name: str, method: str, many: int, roots: int) -> Iterator[list[Sample]]:
    """All of them."""
    with ExitStack() as stack:
        yield [stack.enter_context(sampled(name, method, seed, roots)) for seed in range(many)]


def markdown(rows: list[Row], by: str = "table") -> str:
    """Shares of intervals that cover, and median widths."""
    lines = []
    for of in dict.fromkeys((r[by], r["epsilon"]) for r in rows):
        some = [r for r in rows if (r[by], r["epsilon"]) == of]
        shares = [100 * sum(r[n] for r in some) / sum(r["settled"] for r in some) for n in ("hits", "table_hits")]
        width = float(np.median([r["width"] for r in some if r["width"]]))
        lines.append([of[0], f"{of[1]:g}", *(figure(v, 1) for v in (*shares, width))])
    return table((by, "epsilon", "covered, %", "of the table, %", "width"), lines)


def main(given) -> None:
    """Measures, prints, stores."""
    lines = measured(
        given,
        grid(table=given.tables, method=given.methods, epsilon=given.epsilons),
        lambda place, cell: covered(place, cell["epsilon"], given.answers),
        prepare=lambda *by: samples(*by, given.samples, given.roots),
        by=("table", "method"),
    )
    print(f"{markdown(lines)}\n\n{markdown(lines, 'kind')}")


if __name__ == "__main__":
    usual = {"tables": ["equal", "bank", "hospital", "persons"], "methods": ["independent"], "samples": 12}
    start(main, json="verified_roots", epsilons=[0.1, 0.5, 1.0], answers=2, roots=2000, **usual)
