"""Tables of docs/benchmarks.md and docs/app.md, from what rows.py, columns.py and others wrote."""

from collections.abc import Callable
from math import log10
from typing import Any

import scaling
from markdown_tables import figure, filled, table

Stored = Callable[[str], Any]


def power(rows: int | str) -> str:
    """A row count as a power of ten where it is one."""
    exponent = round(log10(int(rows)))
    return f"10^{exponent}" if int(rows) == 10**exponent else f"{int(rows):,}"


def cost(of: str = "", *, peak: bool = False) -> str:
    """Fields of seconds by the clock and by the processor, and of the peak of memory, of a measurement in a line."""
    fields = "{seconds:,.1f}|{cpu_seconds:,.1f}" + "|{peak_mib:,.0f}" * peak
    for name in ("seconds", "cpu_seconds", "peak_mib") if of else ():
        fields = fields.replace("{" + name, f"{{{of}[{name}]")
    return fields


def sizes(name: str, heads: str, cells: str, stored: Stored) -> str:
    """Tables of so many rows, by what was measured on each."""
    result = stored(name)
    rows = [{"rows": power(rows), "size": int(rows)} | f for rows, f in result.get("sizes", result).items()]
    for row in rows:
        for name, one, other in (("shared", "ours", "group by"), ("checked", "form", "ours")):
            if one in row and other in row:
                row[name] = row[one]["cpu_seconds"] / row[other]["cpu_seconds"]
    return filled(rows, heads, cells)


def files(stored: Stored) -> str:
    rows = [{"gb": int(megabytes) / 1000} | r for megabytes, r in stored("rows_csv").items()]
    cells = "{gb:g} GB|{rows:,}|" + cost(peak=True)
    return filled(rows, "CSV file|rows|`run` with `mixture`, s|processor|peak MiB", cells)


QUIET = 4.0  # load beside which seconds by the clock say something of the application


def touring(stored: Stored) -> str:
    """The scripted tour of the application: a column for each table."""
    result = {n: f for n, f in stored("app_seconds").items() if f.get("load", 0.0) <= QUIET}

    def middle(kind: str) -> list[str]:
        own = [sorted(s["seconds"] for s in f["steps"] if s["kind"] == kind) for f in result.values()]
        return [f"{figure(s[len(s) // 2], 1)}, {figure(s[-1], 1)}" if s else "-" for s in own]

    def one(step: str) -> list[str]:
        own = [[s["seconds"] for s in f["steps"] if s["step"] == step] for f in result.values()]
        return [figure(s[0], 1) if s else "-" for s in own]

    lines = [
        ["clicks, decisions", *(f"{f['clicks']}, {f['decisions']}" for f in result.values())],
        ["errors on the console", *(str(len(f["errors"])) for f in result.values())],
        ["first page after `synth app`", *(figure(f["first_page"], 1) for f in result.values())],
        ["change of page (median, worst)", *middle("page")],
        ["button or field (median, worst)", *middle("widget")],
        ["MiB of each other visitor", *(figure(f.get("mib_each"), 0) for f in result.values())],
        ["the run", *one("the run")],
        ["the comparison", *one("Show the comparison")],
    ]
    return table(("seconds, but for the first two lines", *result), lines)


def drawing(result: dict[str, Any]) -> str:
    rows = [dict(zip(("drawn", "cores"), name.split(), strict=True)) | r for name, r in result["runs"].items()]
    rates = [{"rate": result["rows"] / r["seconds"], "busy": result["rows"] / r["cpu_seconds"]} for r in rows]
    cells = "{drawn}|{cores}|" + cost() + "|{rate:,.0f}|{busy:,.0f}|{peak_mib:,.0f}"
    heads = "drawn|cores allowed|seconds|processor|rows/s|rows a second of processor|peak MiB"
    return filled([a | b for a, b in zip(rows, rates, strict=True)], heads, cells)


def ledger(stored: Stored) -> str:
    """Milliseconds of an act on a ledger: of the processor, and by the clock, in the median of fifteen."""
    result = stored("ledger")["measured"]
    heads = [f"{m['lines']:,} lines, {m['datasets']} dataset{'s' * (m['datasets'] > 1)}" for m in result]
    both = lambda ms: f"{figure(ms[0], 1)} ({figure(ms[1], 1)})" if ms else "-"  # noqa: E731
    lines = [[act, *(both(m["ms"].get(act)) for m in result)] for act in result[-1]["ms"]]
    lines.append(["verification, seconds of the processor", *(figure(m["verify_s"], 1) for m in result)])
    return table(("", *heads), lines)


def wide_seconds(stored: Stored) -> str:
    """A thousand columns: forecast, seconds and memory."""
    measured = {name: own for name, own in stored("wide_columns").items() if isinstance(own, dict) and "stages" in own}
    rows = [{"method": name} | own for name, own in measured.items()]
    stages = "".join(f"|{{stages[{s}][cpu_seconds]:,.1f}}" for s in ("measure", "fit", "sample", "write"))
    heads = "method|forecast, s|forecast, MiB|measure|fit|sample|write|processor in all|MiB"
    cells = "{method}|{forecast[seconds]:,.0f}|{forecast[peak_mib]:,.0f}" + stages + "|{processor:,.1f}|{peak_mib:,.0f}"
    return filled(rows, heads, cells)


def wide_errors(stored: Stored) -> str:
    """Mean total variation of tables, by what they are compared with."""
    names = ("dependence", "independent", "mixture", "mixture, uses", "bootstrap", "fresh")
    heads = "|".join(("tables", "real table to independence", *names[1:]))
    cells = "|".join(("{kind}", *(f"{{{n}:,.4f}}" for n in names)))
    return filled([{"kind": k} | own for k, own in stored("wide_columns")["errors"].items()], heads, cells)


def cluster_whole(stored: Stored) -> str:
    """Whole runs on a cluster by workers."""
    rows = [r for r in stored("cluster") if r["what"] == "whole" and "failed" not in r]
    for row in rows:
        row |= {"size": power(row["rows"]), "passes": row["records"] / row["rows"]}
        row["speed"] = row["rows"] / row["counting"]
        row |= {n: row[n] / 2**20 for n in ("bytes", "shuffled", "answered")}
    heads = "rows|workers|whole run, s|processor|of it check, read, ask, s|rows a second of these|table read, times"
    heads += "|read, MiB|between executors|to the driver"
    cells = "{size}|{workers}|{seconds:,.0f}|{cpu_seconds:,.0f}|{counting:,.0f}|{speed:,.0f}|{passes:,.2f}"
    cells += "|{bytes:,.0f}|{shuffled:,.0f}|{answered:,.0f}"
    return filled(rows, heads, cells)


def cluster_drawn(stored: Stored) -> str:
    """Rows drawn into a folder, by workers and by one process."""
    rows = [r for r in stored("cluster") if r["what"] == "drawn" and "failed" not in r]
    alone = {r["rows"]: r for r in rows if not r["workers"]}
    for row in rows:
        row |= {"size": power(row["rows"]), "speed": row["rows"] / row["seconds"], "mib": row["written"] / 2**20}
        row |= {"by": row["workers"] or "none, one process"}
        if beside := alone.get(row["rows"]):
            row["ratio"], row["cpu_ratio"] = (row[n] / beside[n] for n in ("seconds", "cpu_seconds"))
    heads = "rows|workers|seconds|processor|rows a second|MiB written|parts|peak MiB|to one process|by processor"
    cells = "{size}|{by}|{seconds:,.0f}|{cpu_seconds:,.0f}|{speed:,.0f}|{mib:,.0f}|{parts}|{peak_mib:,.0f}"
    return filled(sorted(rows, key=lambda r: (r["rows"], -r["workers"])), heads, cells + "|{ratio:.2f}|{cpu_ratio:.2f}")


def _sized(name: str, heads: str, cells: str) -> Callable[[Stored], str]:
    return lambda stored: sizes(name, heads, cells, stored)


BARE = "ours, s|processor|MiB|`GROUP BY` a pair, s|processor|"
TABLES: dict[str, Callable[[Stored], str]] = {
    "cluster-whole": cluster_whole,
    "cluster-drawn": cluster_drawn,
    "wide-seconds": wide_seconds,
    "wide-errors": wide_errors,
    "ledger": ledger,
    "counting": _sized("rows", f"rows|{BARE[:-1]}", "|".join(("{rows}", cost("ours", peak=True), cost("group by")))),
    "billion": _sized(
        "rows_billion",
        f"rows|{BARE}ours to `GROUP BY`",
        "|".join(("{rows}", cost("ours", peak=True), cost("group by"), "{shared:,.2f}")),
    ),
    "runs": _sized(
        "rows_runs",
        "rows|check, s|processor|MiB|counting, s|processor|check to counting"
        "|`run` with `mixture`, s|processor|peak MiB",
        "|".join(("{rows}", cost("form", peak=True), cost("ours"), "{checked:,.2f}", cost("run", peak=True))),
    ),
    "files": files,
    "drawing": lambda stored: drawing(stored("draw_adult")),
    "scaling": lambda stored: scaling.markdown(stored("scaling")).split("\n\nLog-log slopes:\n\n")[0],
    "slopes": lambda stored: scaling.markdown(stored("scaling")).split("\n\nLog-log slopes:\n\n")[1],
    "touring": touring,
}
