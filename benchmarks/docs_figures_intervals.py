"""The table of docs/inference.md, from what benchmarks/inference.py wrote."""

import json
from pathlib import Path
from typing import Any

from markdown_tables import table

RESULTS = Path(__file__).resolve().parent / "results" / "inference.json"


def inference() -> str:
    """Coverage of nominal 95 % intervals by family: epsilon 0.2 and 1 of each table side by side."""
    rows = {(r["family"], r["table"], r["epsilon"]): r for r in json.loads(RESULTS.read_text())}
    sides = sorted({key[1:] for key in rows})
    lines = [[family, *(_covered(rows.get((family, *side))) for side in sides)]
             for family in dict.fromkeys(key[0] for key in rows)]  # fmt: skip
    whole = [rows["all", *side] for side in sides]
    lines.append(["all, of one table as if it were real", *(f"{r['naive']:.0%}" for r in whole)])
    lines.append(["median width over that of paid statistics", *(f"{r['width']:.2f}" for r in whole)])
    lines.append(["releases", *(str(r["releases"]) for r in whole)])
    return table(("family", *(f"{name}, {epsilon:g}" for name, epsilon in sides)), lines)


def _covered(row: Any) -> str:
    return "-" if row is None else f"{row['covered']:.0%}"
