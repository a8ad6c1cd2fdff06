"""The table and the picture of docs/inference.md, from what benchmarks/inference.py wrote."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown_tables import table

RESULTS = Path(__file__).resolve().parent / "results" / "inference.json"


def inference() -> str:
    """Coverage of nominal 95 % intervals by family: epsilon 0.2 and 1 of each table side by side."""
    further = {
        "of those not warned of": "unwarned",
        "warned of": "warned",
        "the estimand least covered": "lowest",
        "one table as if it were real": "naive",
    }
    return _families("covered", further, "width", "releases")


def combined() -> str:
    """The same of `synth.combine`."""
    return _families("combined", {}, "combined_width", "combined_releases")


def _families(covered: str, further: Mapping[str, str], width: str, releases: str) -> str:
    """A line a family, then those of all estimands."""
    rows = {(r["family"], r["table"], r["epsilon"]): r for r in json.loads(RESULTS.read_text())}
    sides = sorted({key[1:] for key in rows})
    lines = [
        [family, *(_part(rows.get((family, *side)), covered) for side in sides)]
        for family in dict.fromkeys(key[0] for key in rows)
    ]
    whole = [rows["all", *side] for side in sides]
    lines += [[text, *(_part(r, name) for r in whole)] for text, name in further.items()]
    lines.append(["median width over that of paid statistics", *(f"{r[width]:.2f}" for r in whole)])
    lines.append(["estimands, releases", *(f"{r['estimands']}, {r[releases]}" for r in whole)])
    return table(("family", *(f"{name}, {epsilon:g}" for name, epsilon in sides)), lines)


def _part(row: Any, name: str) -> str:
    return "-" if row is None or row[name] is None else f"{row[name]:.1%}"


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Coverage by family: a dot for each table and epsilon, of estimates and of one table as if it were real."""
    import altair as alt
    import pandas as pd

    kinds = {"covered": "synth.estimates", "naive": "one table as if it were real"}
    dots = pd.DataFrame(
        [{"family": r["family"], "covered": r[kind], "by": text} for r in rows for kind, text in kinds.items()]
    )
    order = list(dict.fromkeys(dots["family"]))
    band = (
        alt.Chart(pd.DataFrame([{"low": 0.93, "high": 0.97}]))
        .mark_rect(opacity=0.2, color="gray")
        .encode(y="low:Q", y2="high:Q")
    )
    points = (
        alt.Chart(dots)
        .mark_point(filled=True, size=45)
        .encode(
            x=alt.X("family:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)),
            xOffset="by:N",
            y=alt.Y("covered:Q", title="covered", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("by:N", title=None, sort=list(kinds.values()), legend=alt.Legend(orient="top")),
        )
    )
    (band + points).properties(width=560, height=240).save(str(path))
