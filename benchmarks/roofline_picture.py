"""What roofline.py measured, as a picture and as tables of docs/performance.md."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from markdown_tables import figure, filled, table

NAMES = {
    "memory": "memory",
    "disk_read": "disk, reading",
    "disk_write": "disk, writing",
    "arithmetic": "arithmetic",
    "increments": "increments of counts",
}
UNITS = dict.fromkeys(("memory", "disk_read", "disk_write"), "GB/s") | {
    "arithmetic": "10^9 operations a second",
    "increments": "10^9 a second",
}


def draw(result: dict[str, Any], path: Path) -> None:
    """Left: each stage's share of each ceiling that its work meets. Right: cost curves of the stages."""
    import altair as alt
    import pandas as pd

    shares = [
        {"stage": n, "ceiling": NAMES[c], "share": least / s["seconds"]}
        for n, s in result["stages"].items()
        for c, least in s["least"].items()
    ]
    bars = (
        alt.Chart(pd.DataFrame(shares))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share of the ceiling", scale=alt.Scale(type="log", domain=[1e-4, 1], clamp=True)),
            y=alt.Y("ceiling:N", title=None),
            color=alt.Color("ceiling:N", legend=None),
            row=alt.Row("stage:N", title=None, sort=list(result["stages"])),
        )
        .properties(width=260, height=75)
    )
    costs = [
        {"stage": n, "seconds": max(seconds, 1e-3), "over": r["vary"], "value": r[r["vary"]]}
        for r in result["curves"]
        for n, seconds in r["stages"].items()
    ]
    charts = [
        alt.Chart(pd.DataFrame([c for c in costs if c["over"] == over]))
        .mark_line(point=True)
        .encode(
            x=alt.X("value:Q", title=over, scale=alt.Scale(type="log")),
            y=alt.Y("seconds:Q", title="processor, s", scale=alt.Scale(type="log", domain=[1e-3, 100])),
            color=alt.Color("stage:N", title="stage", sort=["read", "measure", "fit", "sample", "write"]),
        )
        .properties(width=210, height=150)
        for over in dict.fromkeys(c["over"] for c in costs)
    ]
    if not charts:
        bars.save(str(path))
        return
    grid = alt.vconcat(*(alt.hconcat(*charts[i : i + 2]) for i in range(0, len(charts), 2)))
    alt.hconcat(bars, grid).resolve_scale(color="independent").save(str(path))


def ceilings(result: dict[str, Any]) -> str:
    """What the machine does at most."""
    lines = [[NAMES[n], f"{figure(v / 1e9, 2)} {UNITS[n]}"] for n, v in result["ceilings"].items()]
    return table(("ceiling, one core", "measured"), lines)


def stages(result: dict[str, Any]) -> str:
    """Each stage's seconds, the least that its work takes, and the share of the ceiling met first."""
    rows = []
    for name, s in result["stages"].items():
        work = ", ".join(f"{NAMES[c]} {figure(w / 1e9, 2)}" for c, w in s["work"].items())
        rate = f"{figure(s['work'][s['bound']] / s['seconds'] / 1e9, 3)} {UNITS[s['bound']]}"
        rows.append(s | {"stage": name, "work": work, "rate": rate, "met": NAMES[s["bound"]], "of": 100 * s["share"]})
    heads = "stage|processor, s|work, 10^9 (bytes, operations, increments)|rate|ceiling met first|share of it"
    return filled(rows, heads, "{stage}|{seconds:,.2f}|{work}|{rate}|{met}|{of:.1f} %")


def cost(result: dict[str, Any]) -> str:
    """Processor seconds of each stage where one thing is varied."""
    names = list(result["curves"][0]["stages"])
    lines = [[r["vary"], f"{r[r['vary']]:,g}", *(figure(r["stages"][n], 2) for n in names)] for r in result["curves"]]
    return table(("varied", "value", *names), lines)


def paper(result: dict[str, Any]) -> str:
    """Minutes of a cluster, reckoned."""
    lines = [[name, figure(seconds / 60, 1)] for name, seconds in result["paper"].items()]
    lines.append(["in all, one after the other", figure(sum(result["paper"].values()) / 60, 1)])
    return table(("stage", "minutes"), lines)


TABLES: dict[str, Callable[[Any], str]] = {
    f"roofline-{n}": (lambda retained, own=own: own(retained("roofline")))  # type: ignore[misc]
    for n, own in {"ceilings": ceilings, "stages": stages, "curves": cost, "paper": paper}.items()
}
