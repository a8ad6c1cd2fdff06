"""Tables made for what they will be used for: errors of what was named, and of the rest, with uses and without.

    python benchmarks/uses.py [--parts tables,regressions,related] [--methods mixture] [--seeds 3]
    python benchmarks/uses.py --parts tables --methods mixture,aim

Tables: ten tables of three columns of ACSIncome, drawn once for all, and ten of NIST's excerpt by PUMA. ``named`` is
their mean total variation in groups of at most 8, ``pairs`` and ``columns`` that of all pairs and single columns in the
same groups (the rest of the table), ``second`` what a second sample of as many rows would show in the named tables.
Regressions: those of benchmarks/verified.py; the root mean square error over coefficients, in standard errors of the
private table's own estimate. Related: accounts of a bank and their orders, three
tables of two columns named, or one regression; all other tables of two columns are the rest, ``columns`` the numbers of
orders. Each cell is a run with fresh noise; cells
that the JSON, benchmarks/results/uses.json, holds are passed over.
"""

from functools import cache, partial
from itertools import combinations
from math import pi
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import verified
from beyond_pairs import BY
from markdown_tables import means
from orders import _apart, _coded, _frequent, _quantiles
from public_tables import facts, numeric, prepared, ran, texts
from related_cases import bank
from runner import Row, grid, measured, start

import synth
from synth.evaluate.named_uses import judged_by
from synth.evaluate.related_fidelity import compare_related, forest
from synth.verified import language
from synth.verified.law import Law

WITHOUT, NAMED = "without", "with uses"
WAYS = (WITHOUT, NAMED)
BANK = ("orders.k_symbol by orders.amount", "orders.k_symbol by accounts.frequency", "orders.bank_to by accounts.year")
RELATED = {"bank": list(BANK), "bank, amounts": ["orders.amount ~ accounts.year + orders.k_symbol"]}
GROUPS, TEN = 8, 10


@cache
def ten(names: tuple[str, ...], by: str | None) -> tuple[tuple[str, ...], ...]:
    """Ten tables of three columns, drawn once for all; all with ``by`` where it is named."""
    others = [n for n in names if n != by]
    every = list(combinations(others, 3)) if by is None else [(by, *p) for p in combinations(others, 2)]
    return tuple(every[i] for i in np.random.default_rng(0).permutation(len(every))[:TEN])


def measurable(folder: Path) -> tuple[str, ...]:
    """The columns that are measured."""
    return tuple(n for n, c in facts(folder).items() if c["type"] != "identifier")


def said(tables) -> list[str]:
    """Words of the command line for these tables."""
    return [w for t in tables for w in ("--for", " by ".join(f"`{n}`" for n in t))]


def errors(folder: Path, made: Path, tables) -> Row:
    """Mean total variations: of the named tables, of all pairs, of single columns; a second sample's of the named."""
    real, rows, names = texts(folder / "train.csv"), texts(made), list(measurable(folder))
    codes = _coded(real[names], rows[names], numeric(folder), lambda r, m: _quantiles(r, m, GROUPS), _frequent)

    def mean_of(chosen) -> float:
        return float(np.mean([_apart(codes, t) for t in chosen]))

    return {
        "named": mean_of(tables),
        "second": float(np.mean([by_chance(codes, t, len(real)) for t in tables])),
        "pairs": mean_of(combinations(names, 2)),
        "columns": mean_of((n,) for n in names),
    }


def by_chance(codes, columns, rows: int) -> float:
    """The total variation that a second sample of so many rows would show, about."""
    flat = np.zeros(1, dtype=np.int64)
    for column in columns:
        flat = flat * codes[column][2] + codes[column][0]
    p = np.unique(flat, return_counts=True)[1] / rows
    return float(0.5 * (4 / pi / rows) ** 0.5 * np.sqrt(p * (1 - p)).sum())


def tables_part(folder: Path, cell: Row, *, given) -> Row:
    """A run and the errors of its named tables."""
    tables, made = ten(measurable(folder), BY.get(cell["table"])), folder / "out" / "synthetic.csv"
    result = ran(folder, cell, *(said(tables) if cell["way"] == NAMED else ()), most=given.most_seconds)
    if "failed" in result:
        return result
    return result | errors(folder, made, tables)


def regression_part(_: object, cell: Row) -> Row:
    """The error of a regression on the rows of a release, in the private table's own standard errors."""
    which, plain = verified.ASKED[cell["table"]]
    with verified.table(which) as (rows, schema):
        asked = plain if "kind" in plain else verified.LOGISTIC | plain
        line = {"kind": "regression", "formula": asked["formula"], "positive": asked.get("positive")}
        how = {n: cell[n] for n in ("epsilon", "method", "seed")} | {"delta": verified.DELTA, "separate": True}
        how |= {"dataset": "b", "uses": [line] if cell["way"] == NAMED else []}
        result = synth.run(rows, schema=schema, ledger=Path(str(cell["place"])) / "l.sqlite", **how)
        question = language.read(asked, schema)[0]
        laws = [
            Law.of(question.score, p, float(len(next(iter(p.values())))))
            for p in (verified.positions(rows, schema), verified.positions(result.frame, schema))
        ]
    none = np.zeros_like(laws[0].beta)
    truth, own = (law.coefficients(none) for law in laws)
    error = np.sqrt((laws[0].influences(none) ** 2) @ laws[0].w)
    each = dict(zip(question.names, np.round((own - truth) / error, 3).tolist(), strict=True))
    return {"error": float(np.sqrt((((own - truth) / error) ** 2).mean())), "each": each}


def related_part(_: object, cell: Row) -> Row:
    """A run of related tables, and the errors of its named tables and of all others of two columns."""
    case = bank()
    plain = synth.app_api.parse_related(case.schema)
    named = synth.app_api.parse_related({**case.schema, "uses": RELATED[cell["table"]]})
    with TemporaryDirectory() as folder:
        how = {n: cell[n] for n in ("epsilon", "method", "seed")} | {"delta": verified.DELTA}
        how |= {"schema": named if cell["way"] == NAMED else plain, "ledger": Path(folder) / "l.sqlite"}
        result = synth.run(case.tables, **how)
    across = compare_related(forest(case.tables, named), forest(result.frames, named), named)
    wanted = [p for pairs in across.named.values() for p in pairs]
    errors = [judged_by(words, each).value for words, each in across.regressions.items()]
    places = {(p.first, p.second) for p in wanted}
    rest = [
        p for pairs in across.pairs.values() for p in pairs if not {(p.first, p.second), (p.second, p.first)} & places
    ]
    return {
        "named": float(np.mean([p.distance for p in wanted])),
        "second": float(np.mean([p.by_chance for p in wanted])),
        "pairs": float(np.mean([p.distance for p in rest])),
        "columns": float(np.mean([n.distance for n in across.numbers])),
        **({"error": errors[0]} if errors else {}),
    }


COLUMNS = {"named": 4, "second": 4, "pairs": 4, "columns": 4, "error": 2}


def markdown(rows: list[Row]) -> str:
    """Means over runs, a line for each part, table, method and way; of the figures that were measured."""
    columns = {name: digits for name, digits in COLUMNS.items() if any(name in r for r in rows)}
    return means(rows, by=("part", "table", "method", "way"), columns=columns, runs="runs", spread=True)


def main(given) -> None:
    rows: list[Row] = []
    ways = {"epsilon": [given.epsilon], "method": given.methods, "seed": range(given.seeds), "way": given.ways}
    for part in given.parts:
        if part == "related":
            rows += measured(given, grid(part=[part], table=RELATED, **ways), related_part)
            continue
        if part == "regressions":

            def regress(place: object, cell: Row) -> Row:
                with TemporaryDirectory() as folder:
                    return regression_part(place, cell | {"place": folder})

            cells = grid(part=[part], table=given.questions, **ways)
            rows += measured(given, cells, regress)
            continue
        one = partial(tables_part, given=given)
        rows += measured(given, grid(part=[part], table=given.tables, **ways), one, prepare=prepared)
    print(markdown([r for r in rows if r["part"] in given.parts]))


if __name__ == "__main__":
    usual = {"parts": "tables,regressions,related", "methods": ["mixture"], "ways": ",".join(WAYS)}
    usual |= {"tables": "acs,nist24", "questions": ";".join(verified.ASKED), "seeds": 3, "epsilon": 1.0}
    start(main, public=True, json="uses", most_seconds=7200.0, **usual)
