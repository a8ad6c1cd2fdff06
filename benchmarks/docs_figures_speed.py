"""Tables of docs/performance.md, from what rows.py, columns.py, roofline.py and others wrote."""

from collections.abc import Callable
from math import comb, log10
from typing import Any

import roofline_picture
from markdown_tables import figure, table

Kept = Callable[[str], Any]


def power(rows: int) -> str:
    """A row count as a power of ten where it is one."""
    exponent = round(log10(rows))
    return f"10^{exponent}" if rows == 10**exponent else f"{rows:,}"


def counting(kept: Kept) -> str:
    """Seconds of ours and of bare DuckDB, by the clock and by the processor."""
    lines = []
    for rows, found in kept("rows")["sizes"].items():
        cells = [power(int(rows)), *_times(found["ours"]), figure(found["ours"]["peak_mib"], 0)]
        for rival in ("group by", "groupings"):
            cells += _times(found[rival]) if rival in found else ["-", "-"]
        lines.append(cells)
    heads = (
        "rows",
        "ours, s",
        "processor",
        "MiB",
        "`GROUP BY` a pair, s",
        "processor",
        "grouping sets, s",
        "processor",
    )
    return table(heads, lines)


def billion(kept: Kept) -> str:
    """Counting where every file is read several times, beside bare DuckDB."""
    heads = ("rows", "ours, s", "processor", "MiB", "`GROUP BY` a pair, s", "processor", "ours to `GROUP BY`")
    return table(heads, [_beside(*size, "ours", "group by") for size in kept("rows_billion")["sizes"].items()])


def runs(kept: Kept) -> str:
    """The check of files' form beside the counting, and whole runs."""
    heads = (
        "rows",
        "check, s",
        "processor",
        "MiB",
        "counting, s",
        "processor",
        "check to counting",
        "`run` with `mixture`, s",
        "processor",
        "peak MiB",
    )
    found = kept("rows_runs")["sizes"].items()
    whole = [[*_times(own["run"]), figure(own["run"]["peak_mib"], 0)] for _, own in found]
    return table(heads, [[*_beside(*size, "form", "ours"), *run] for size, run in zip(found, whole, strict=True)])


def _beside(rows: str, found: dict[str, Any], one: str, other: str) -> list[str]:
    share = found[one]["cpu_seconds"] / found[other]["cpu_seconds"]
    peak = figure(found[one]["peak_mib"], 0)
    return [power(int(rows)), *_times(found[one]), peak, *_times(found[other]), figure(share, 2)]


def touring(kept: Kept) -> str:
    """The scripted tour of the application: a column for each table."""
    found = kept("app_seconds")

    def seconds(kind: str) -> list[str]:
        own = [sorted(s["seconds"] for s in f["steps"] if s["kind"] == kind) for f in found.values()]
        return [f"{figure(s[len(s) // 2], 1)}, {figure(s[-1], 1)}" if s else "-" for s in own]

    def busy(who: str) -> list[str]:
        own = [sorted(s[who] for s in f["steps"] if s["kind"] == "page" and who in s) for f in found.values()]
        return [f"{figure(s[len(s) // 2], 2)}" if s else "-" for s in own]

    def one(step: str) -> list[str]:
        own = [[s["seconds"] for s in f["steps"] if s["step"] == step] for f in found.values()]
        return [figure(s[0], 1) if s else "-" for s in own]

    lines = [
        ["clicks, decisions", *(f"{f['clicks']}, {f['decisions']}" for f in found.values())],
        ["errors on the console", *(str(len(f["errors"])) for f in found.values())],
        ["first page after `synth app`", *(figure(f["first_page"], 1) for f in found.values())],
        ["change of page (median, worst)", *seconds("page")],
        *([f"processor of it, {who} (median)", *busy(who)] for who in ("browser", "server") if set(busy(who)) != {"-"}),
        ["button or field (median, worst)", *seconds("widget")],
        ["the run", *one("the run")],
        ["the comparison", *one("Show the comparison")],
    ]
    return table(("seconds, but for the first two lines", *found), lines)


def promising(kept: Kept) -> str:
    """What is promised before a run, beside what it takes of the processor."""
    lines = [
        [
            name,
            f"{f['rows']:,}",
            str(f["columns"]),
            figure(f["promised"], 1),
            figure(f["processor"], 1),
            figure(f["promised"] / f["processor"], 2),
        ]
        for name, f in kept("app_promises").items()
    ]
    return table(("table", "rows", "columns", "promised, s", "processor, s", "promised to taken"), lines)


def _times(found: dict[str, float]) -> list[str]:
    return [figure(found["seconds"], 1), figure(found["cpu_seconds"], 1)]


def files(kept: Kept) -> str:
    lines = [
        [f"{int(size) / 1000:g} GB", f"{r['rows']:,}", *_times(r), figure(r["peak_mib"], 0)]
        for size, r in kept("rows_csv").items()
    ]
    return table(("CSV file", "rows", "`run` with `mixture`, s", "processor", "peak MiB"), lines)


def persons(kept: Kept) -> str:
    lines = [
        [power(int(rows)), f"{int(rows) // 3:,}", *_times(r), figure(r["peak_mib"], 0)]
        for rows, r in kept("rows_persons").items()
    ]
    return table(("rows", "persons", "`run` with `mixture`, s", "processor", "peak MiB"), lines)


STAGES = ("read", "measure", "fit", "sample", "write")


def _stages(kept: Kept, name: str, over: str) -> str:
    """Seconds of the clock, in brackets of the processor, of each stage and in all."""
    found = kept(name)
    lines = []
    for r in found["runs"]:
        clocks = [(r["stages"][s]["seconds"], r["stages"][s]["cpu_seconds"]) for s in STAGES]
        told = [f"{wall:.1f} ({busy:.1f})" for wall, busy in [*clocks, tuple(map(sum, zip(*clocks, strict=True)))]]
        size = power(r["rows"]) if over == "rows" else f"{r['columns']} ({comb(r['columns'], 2):,} pairs)"
        lines.append([size, *told, figure(r["peak_mib"], 0)])
    slopes = [f"{found['slopes'][s]['seconds']:.2f} ({found['slopes'][s]['cpu_seconds']:.2f})" for s in STAGES]
    return table((over, *STAGES, "in all", "peak MiB"), [*lines, ["log-log slope", *slopes, "", ""]])


def drawing(kept: Kept) -> str:
    found = kept("draw_adult")
    lines = []
    for name, r in found["runs"].items():
        rates = [figure(found["rows"] / r[clock], 0) for clock in ("seconds", "cpu_seconds")]
        lines.append([*name.split(), *_times(r), *rates, figure(r["peak_mib"], 0)])
    heads = ("drawn", "cores allowed", "seconds", "processor", "rows/s", "rows a second of processor", "peak MiB")
    return table(heads, lines)


def _scaling(kept: Kept, half: int) -> str:
    from scaling import markdown

    return markdown(kept("scaling")).split("\n\nLog-log slopes:\n\n")[half]


def ledger(kept: Kept) -> str:
    """Milliseconds of an act on a ledger: of the processor, and by the clock, in the median of fifteen."""
    found = kept("ledger")["measured"]
    heads = [f"{m['lines']:,} lines, {m['datasets']} dataset{'s' * (m['datasets'] > 1)}" for m in found]
    lines = [[act, *(_both(m["ms"].get(act)) for m in found)] for act in found[-1]["ms"]]
    lines.append(["verification, seconds of the processor", *(figure(m["verify_s"], 1) for m in found)])
    return table(("", *heads), lines)


def _both(taken: list[float] | None) -> str:
    return "-" if taken is None else f"{figure(taken[0], 1)} ({figure(taken[1], 1)})"


def writing(kept: Kept) -> str:
    """Rows of a model into files: seconds by the clock and by the processor."""
    lines = [
        [w["way"], power(w["rows"]), *_times(w), f"{w['rows'] / w['cpu_seconds']:,.0f}", figure(w["bytes"] / 2**20, 0)]
        for w in kept("write").values()
    ]
    return table(("into", "rows", "seconds", "processor", "rows a second of processor", "MiB on disk"), lines)


def wide_seconds(kept: Kept) -> str:
    """A thousand columns: forecast, seconds and memory."""
    found = kept("wide_columns")
    heads = ("method", "forecast, s", "forecast, MiB", "measure", "fit", "sample", "write", "processor in all", "MiB")
    lines = []
    for name in ("independent", "mixture"):
        own = found[name]
        stages = [figure(own["stages"][s]["cpu_seconds"], 1) for s in ("measure", "fit", "sample", "write")]
        forecast = [figure(own["forecast"][k], 0) for k in ("seconds", "peak_mib")]
        lines.append([name, *forecast, *stages, figure(own["processor"], 1), figure(own["peak_mib"], 0)])
    return table(heads, lines)


def wide_errors(kept: Kept) -> str:
    """Mean total variation of pairs, by what they are compared with."""
    found = kept("wide_columns")["errors"]
    names = ("dependence", "independent", "mixture", "bootstrap", "fresh")
    lines = [[kind, *(figure(own[n], 4) for n in names)] for kind, own in found.items()]
    return table(("pairs", "real table to independence", *names[1:]), lines)


def spread(kept: Kept) -> str:
    """One question counted here and by engines."""
    found = kept("spread")
    lines = []
    for name, own in found["engines"].items():
        share = f"{100 * own['in_engine'] / own['count']:.0f} %" if own["in_engine"] else "-"
        back = figure(own["bytes_back"] / 2**20, 1) if own["bytes_back"] else "-"
        times = [figure(own[key], 1) if key in own else "-" for key in ("open", "open_cpu", "count", "count_cpu")]
        lines.append([name, *times, share, back])
    heads = ("counted by", "opening, s", "processor", "the question, s", "processor", "of it in the engine", "MiB back")
    return table(heads, lines)


def slices(kept: Kept) -> str:
    """Training on slices by a divergence."""
    lines = [
        [r["device"], str(r["slices"]), figure(r["seconds_1000"], 0), figure(r["mib"], 0)] for r in kept("slices_time")
    ]
    return table(("device", "slices", "seconds for 1,000 steps", "MiB held at most"), lines)


TABLES: dict[str, Callable[[Kept], str]] = {
    **roofline_picture.TABLES,
    "slices": slices,
    "spread": spread,
    "wide-seconds": wide_seconds,
    "wide-errors": wide_errors,
    "writing": writing,
    "ledger": ledger,
    "counting": counting,
    "billion": billion,
    "runs": runs,
    "files": files,
    "persons": persons,
    "columns": lambda kept: _stages(kept, "columns", "columns"),
    "rows": lambda kept: _stages(kept, "columns_rows", "rows"),
    "drawing": drawing,
    "scaling": lambda kept: _scaling(kept, 0),
    "slopes": lambda kept: _scaling(kept, 1),
    "touring": touring,
    "promising": promising,
}
