"""What a method keeps of a table, as measured on public tables: single columns, pairs of columns, the target.

The figures stand in retention.json, which ``benchmarks/retention.py`` writes; the rule that makes words of them is
here. A method is said to keep a thing where it did on every table on which it was measured. One that takes no table of
many columns is measured on a few of a table's columns, and its words say on how many.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from synth.languages import Said, joined

DATA = Path(__file__).with_name("retention.json")
MOST_COLUMNS = 0.05  # single columns are kept where at most this share of rows would have to change
MOST_PAIRS = 0.9  # pairs: where their error is at most this part of `independent`'s at the same epsilon
LEAST_TARGET = 0.5  # the target: where a model learns at least this part of what it learns of real rows, above chance
FLOOR = "independent"


@dataclass(frozen=True, kw_only=True)
class Retention:
    """What a method kept at ``epsilon``; ``rows`` of each table; ``few``: columns of a table cut down for it, or 0.

    Privacy: public only: measured on public tables.
    """

    method: str
    epsilon: float
    rows: tuple[int, ...]
    columns: bool
    pairs: bool
    target: bool
    few: int = 0

    @property
    def relations(self) -> bool:
        """Whether it kept anything between columns."""
        return self.pairs or self.target

    @property
    def in_words(self) -> str:
        """The things kept, one after another.

        >>> Retention(method="m", epsilon=1.0, rows=(9,), columns=True, pairs=True, target=False).in_words
        'single columns, pairs'
        """
        named = {"single columns": self.columns, "pairs": self.pairs, "target": self.target}
        said = joined(", ", [Said(n) for n, held in named.items() if held]) or Said("none")
        return Said("{} (of {} columns)", said, self.few) if self.few else said


@cache
def figures() -> dict[str, Any]:
    """retention.json.

    Privacy: public only.
    """
    return json.loads(DATA.read_text())


def retention(method: str, *, epsilon: float, rows: int | None = None) -> Retention | None:
    """What ``method`` keeps at this epsilon; None where it was not measured.

    Of each table the figures of the largest epsilon measured that is not above the asked one count; with ``rows``, a
    public or said number, epsilon times rows is compared, since noise goes with that. Below all of them nothing is
    claimed: only what already keeps no relations at the smallest keeps none below it.

    Privacy: public only.

    >>> retention("independent", epsilon=1.0).in_words
    'single columns'
    """
    tables = figures()["tables"]
    near = {t: one for t in tables if (one := _nearest(method, t, epsilon, rows))}
    measured = [f for t, f in near.items() if "few" not in tables[t]] or list(near.values())
    known = [f for f, below in measured if not below]
    if not measured:
        return None
    chosen = known or [f for f, _ in measured]
    of = [tables[f["table"]] for f in chosen]
    alone = {(f["table"], f["epsilon"]): f["pair_tv_err"] for f in figures()["figures"] if f["method"] == FLOOR}
    kept = Retention(
        method=method,
        epsilon=max(f["epsilon"] for f in chosen),
        rows=tuple(t["rows"] for t in of),
        few=max(t.get("few", 0) for t in of),
        columns=all(1 - min(f["tv"], f["ks"]) <= MOST_COLUMNS for f in chosen),
        pairs=all(f["pair_tv_err"] <= MOST_PAIRS * alone[f["table"], f["epsilon"]] for f in chosen),
        target=all(f["tstr_auc"] - 0.5 >= LEAST_TARGET * (t["auc"] - 0.5) for f, t in zip(chosen, of, strict=True)),
    )
    return None if kept.relations and not known else kept


def everywhere(method: str) -> dict[str, str]:
    """What a method keeps at each epsilon measured, in words; empty where it was not measured.

    Privacy: public only.
    """
    steps = sorted({f["epsilon"] for f in figures()["figures"] if f["method"] == method})
    return {f"{e:g}": kept.in_words for e in steps if (kept := retention(method, epsilon=e))}


def needs(method: str) -> str:
    """Rows and time that a method needs, as measured: from how many it kept relations, and seconds of a run.

    With fewer rows it takes as much more epsilon, since noise goes with their product. Empty where none was measured.

    Privacy: public only.

    >>> needs("independent").split(";")[0]
    'rows: no relations up to epsilon 5.1 at 25,044 rows'
    """
    mine = [f for f in figures()["figures"] if f["method"] == method]
    if not mine:
        return ""
    wide = [f for f in mine if "few" not in figures()["tables"][f["table"]]] or mine
    kept = [k for e in sorted({f["epsilon"] for f in wide}) if (k := retention(method, epsilon=e))]
    enough = next((k for k in kept if k.relations), None)
    least = min((enough or kept[-1]).rows)
    rows = (
        Said("relations from epsilon {:g} on at {:,} rows", enough.epsilon, least)
        if enough
        else Said("no relations up to epsilon {:g} at {:,} rows", kept[-1].epsilon, least)
    )
    low, high = min(f["seconds"] for f in wide), max(f["seconds"] for f in wide)
    time = Said("{:.0f} to {:.0f}", max(low, 1), high) if high > 1.5 else Said("about 1")
    return Said("rows: {}; time: {} s a run, on busy processors", rows, time)


def warning(method: str, *, epsilon: float, rows: int | None = None) -> str:
    """One sentence for whoever is about to spend on a method that keeps nothing between columns; else nothing.

    ``method``, ``epsilon``: of that run. ``rows``: about how many the table has, None if unknown.

    Privacy: public only.

    >>> warning("mixture", epsilon=1.0)
    ''
    """
    kept = retention(method, epsilon=epsilon, rows=rows)
    if kept is None or kept.relations:
        return ""
    return Said(
        "{} at epsilon {:g} keeps no relations between columns: measured, with its default options, on public "
        "tables of at least {:,} rows at epsilon {:g}, it kept {}",
        method,
        epsilon,
        min(kept.rows),
        kept.epsilon,
        kept.in_words if kept.columns else Said("none of single columns, pairs and target"),
    )


def _nearest(method: str, table: str, epsilon: float, rows: int | None) -> tuple[dict[str, Any], bool] | None:
    """A method's figures on one table next to this epsilon and number of rows, and whether these lie below them all."""
    mine = sorted(
        (f for f in figures()["figures"] if (f["method"], f["table"]) == (method, table)), key=lambda f: f["epsilon"]
    )
    scale = rows / figures()["tables"][table]["rows"] if rows else 1.0
    below = [f for f in mine if f["epsilon"] <= epsilon * scale * (1 + 1e-9)]
    return (below[-1], False) if below else (mine[0], True) if mine else None
