"""The table of docs/related-tables.md, from benchmarks/results/related.json."""

from collections.abc import Callable
from typing import Any

from markdown_tables import figure, table

Kept = Callable[[str], Any]
RELATED = {"number of children by root column, total variation": "number by parent", "columns of one child": "child",
           "across the two tables": "across", "siblings, the same column": "siblings, same column",
           "siblings, any two columns": "siblings", "from one row to the next": "steps"}  # fmt: skip


def related(kept: Kept) -> str:
    """Means over runs of the error against that of independent columns, but for the number of children.

    Of the model, of one for single columns with the same budget, and of google/dpsynth's tables.
    """
    names = ("hospital", "bank")
    rows = {n: [r for r in kept("related") if r["table"] == n] for n in names}
    rivals = {n: [v for r in rows[n] for v in r.get("rivals", {}).values()] for n in names}

    def told(name: str, what: str) -> list[str]:
        columns = [r["columns"] for r in rows[name] if "columns" in r]
        sides = ([r["scores"][what]["model"] for r in rows[name]], [c[what]["model"] for c in columns],
                 [r["scores"][what]["error"] for r in rivals[name]],
                 [r["population"][what] for r in rows[name] if "population" in r])  # fmt: skip
        whole = 1.0 if what == "number by parent" else rows[name][0]["scores"][what]["independent"]
        return [mean([e / whole for e in side], 4 if whole == 1.0 else 2) for side in sides]

    def mean(values: list[float], digits: int) -> str:
        return figure(sum(values) / len(values), digits) if values else "-"

    def beside(name: str, place: int) -> list[str]:
        pairs = [list(r["alone"].values())[place] for r in rows[name]]
        return [" and ".join(mean([p[k] for p in pairs], 4) for k in ("related", "mixture")), "-", "-", "-"]

    def quality(name: str) -> list[str]:
        ours = [[r[k] for r in rows[name] if r.get(k)] for k in ("sdmetrics", "columns sdmetrics")]
        return [*(mean(v, 3) for v in (*ours, [r["sdmetrics"] for r in rivals[name] if r.get("sdmetrics")])), "-"]

    def runs(name: str) -> list[str]:
        return [str(k) for k in (len(rows[name]), sum("columns" in r for r in rows[name]), len(rivals[name]))] + ["-"]

    lines = [[label, *(cell for n in names for cell in told(n, what))] for label, what in RELATED.items()]
    for place, which in enumerate(("root's table", "child's")):
        what = f"pairs of the {which} alone: made together, and by `mixture` with half the budget"
        lines.append([what, *(cell for n in names for cell in beside(n, place))])
    lines.append(["SDMetrics' multi-table quality, 1 the best", *(cell for n in names for cell in quality(n))])
    lines.append(["runs", *(cell for n in names for cell in runs(n))])
    sides = ("single columns, same budget", "dpsynth", "the population")
    return table(("what", "patients and stays", *sides, "accounts and orders", *sides), lines)
