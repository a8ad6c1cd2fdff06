"""The table of long histories, from benchmarks/results/histories.json."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markdown_tables import figure, table


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each case and what is judged: mean total variation of each method over runs."""
    methods = list(dict.fromkeys(r["method"] for r in rows))
    lines = []
    for case, most in dict.fromkeys((r["table"], r["most"]) for r in rows):
        some = [r for r in rows if (r["table"], r["most"]) == (case, most)]
        for what in some[0]["scores"]:
            values = [[r["scores"][what] for r in some if r["method"] == m] for m in methods]
            lines.append([case, f"{most}", what, *(figure(float(np.mean(v)), 3) if v else "-" for v in values)])
    return table(("case", "rows at most", "what", *methods), lines)
