"""Figures of the benchmarks, as SVG by Altair and vl-convert: quality against epsilon, and against seconds."""

from pathlib import Path

import altair as alt
import pandas as pd

SHOWN = {
    "pair_tv_err": "error of pairs (total variation)",
    "tstr_auc": "AUC of trees trained on the table",
    "c2st_auc": "AUC of real against synthetic",
}


def quality(methods: pd.DataFrame, floors: pd.DataFrame, path: Path, *, title: str) -> None:
    """``methods``: a row a run with method, epsilon, seconds and scores; ``floors``: the real rows' own scores."""
    held = [n for n in SHOWN if n in methods and methods[n].notna().any()]
    means = methods.groupby(["method", "epsilon"], as_index=False)[["seconds", *held]].mean()
    rows = [alt.hconcat(_against(means, floors, n, "epsilon"), _against(means, floors, n, "seconds")) for n in held]
    chart = alt.vconcat(*rows, title=f"{title}: each method's quality, by epsilon and by seconds")
    chart.configure_view(strokeOpacity=0.3).save(str(path))


def _against(means: pd.DataFrame, floors: pd.DataFrame, score: str, over: str) -> alt.LayerChart:
    base = alt.Chart(means).encode(
        x=alt.X(f"{over}:Q", scale=alt.Scale(type="log"), title=over),
        y=alt.Y(f"{score}:Q", scale=alt.Scale(zero=False), title=SHOWN[score]),
        color=alt.Color("method:N", title="method"),
        shape=alt.Shape("method:N", title="method"),
    )
    layers = [base.mark_point(filled=True, size=60)]
    if over == "epsilon":
        layers.append(base.mark_line(opacity=0.5))
    if score in floors and floors[score].notna().any():
        rule = alt.Chart(floors[[score]].head(1)).mark_rule(strokeDash=[4, 4], opacity=0.6)
        layers.append(rule.encode(y=alt.Y(f"{score}:Q")))
    return alt.layer(*layers).properties(width=260, height=170)
