"""The tables of docs/related-tables.md, from benchmarks/results/related.json."""

from collections.abc import Callable, Iterable
from typing import Any

from markdown_tables import figure, table

Stored = Callable[[str], Any]
CASES = {"hospital": "Patients and stays", "bank": "Accounts and orders"}
RELATED = {
    "number of children by root column": "number by parent",
    "columns of one child": "child",
    "across the two tables": "across",
    "siblings, the same column": "siblings, same column",
    "siblings, any two columns": "siblings",
    "from one row to the next": "steps",
}
ALIKE = ", roots alike"  # each parent counting once: in brackets
RIVALS = {"dpsynth": "dpsynth"}  # column: how the rival's name begins


def related(stored: Stored) -> str:
    """Means over runs of the error against that of independent columns, but for the number of children.

    Of the model, of one for single columns with the same budget, and of the tables that others made.
    """
    runs = {n: [r for r in stored("related") if r["table"] == n] for n in CASES}
    return "\n\n".join(f"**{title}**\n\n{_case(runs[n])}" for n, title in CASES.items() if runs[n])


def _case(runs: list[dict]) -> str:
    columns = [r["columns"] for r in runs if "columns" in r]
    rivals = {
        c: [v for r in runs for n, v in r.get("rivals", {}).items() if n.startswith(begins)]
        for c, begins in RIVALS.items()
    }

    def reported(what: str) -> list[str]:
        whole = 1.0 if what == "number by parent" else runs[0]["scores"][what]["independent"]
        others = [[r["scores"][what]["error"] for r in item if what in r["scores"]] for item in rivals.values()]
        own = [r["scores"][what]["model"] for r in runs], [c[what]["model"] for c in columns]
        sides = (*own, *others, [r["population"][what] for r in runs if what in r.get("population", {})])
        return [_mean((e / whole for e in side), 4 if whole == 1.0 else 2) for side in sides]

    def beside_alike(what: str) -> list[str]:
        if what + ALIKE not in runs[0]["scores"]:
            return reported(what)
        return [
            a if "-" in (a, b) else f"{a} ({b})" for a, b in zip(reported(what), reported(what + ALIKE), strict=True)
        ]

    lines = [[label, *beside_alike(what)] for label, what in RELATED.items() if what in runs[0]["scores"]]
    lines.append(["runs", *(str(len(item)) for item in (runs, columns, *rivals.values())), "-"])
    return table(("what", "synth", "single columns, same budget", *RIVALS, "the population"), lines)


def _mean(values: Iterable[float], digits: int) -> str:
    result = list(values)
    return figure(sum(result) / len(result), digits) if result else "-"
