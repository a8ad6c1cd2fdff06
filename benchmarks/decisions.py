"""The figures of docs/decisions that no other benchmark prints: composition, noise, CSV, workbooks, charts.

    python benchmarks/decisions.py [--only composition,noise,csv,workbook,charts]

Seconds are processor time on one thread. Minutes in all.
"""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runner import apart, busy, read, start, sure, write

DELTA = 1e-5
ROW = {  # between two sound rows of columns a and b
    '`b"b,2`, a quote inside a field': b'b"b,2',
    '`"b"b,2`, text after a closing quote': b'"b"b,2',
    "a byte that is no UTF-8": b"b\xffb,2",
    "NUL in a cell": b"b\x00b,2",
    "spaces around quotes": b' "b" ,2',
    "a blank line": b"",
    "a cell of 5 MB": b"b" * 5_000_000 + b",2",
}
LINES, WIDE = 500_000, 12


def composition() -> dict[str, Any]:
    """Ten runs at epsilon 1 together; and the noise of one by zero-concentrated privacy and by the exact profile."""
    from synth.privacy.accounting.compare_runs import ComparedRun, compose
    from synth.privacy.accounting.composition import calibrate
    from synth.privacy.accounting.zcdp import rho_of_epsilon

    one = ComparedRun(epsilon=1.0, delta=DELTA, mu=calibrate(1.0, DELTA))
    noise = {"exact": 1 / calibrate(1.0, DELTA), "zcdp": (2 * rho_of_epsilon(1.0, DELTA)) ** -0.5}
    return {"ten_runs": compose([one] * 10).plain(), "sigma_of_sensitivity_1": noise}


def noise() -> dict[str, float]:
    """Microseconds a draw of deviation 30: OpenDP's exact discrete Gaussian from Python, and ours, rounded."""
    import opendp.prelude as dp

    from synth.privacy.noise import SystemNoise

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int), size=20_000), dp.l2_distance(T=float)
    discrete = dp.m.make_gaussian(*space, scale=30.0)
    ours = SystemNoise()
    return {
        "opendp": 1e6 * busy(lambda: discrete([0] * 20_000)) / 20_000,
        "ours": 1e6 * busy(lambda: ours.gaussian_counts((1_000_000,), sigma=30.0)) / 1_000_000,
    }


def readers() -> dict[str, Callable[[Path, list[str]], Any]]:
    """Reads a file as text, by the reader's name; a table of pyarrow comes back."""
    import duckdb
    import polars

    from synth.sources.formats import csv_reader

    def by_duckdb(path: Path, names: list[str]) -> Any:  # noqa: ARG001
        read = "SELECT * FROM read_csv(?, header=true, all_varchar=true, delim=',', quote='\"', strict_mode=false)"
        return duckdb.connect(config={"threads": 1}).execute(read, [str(path)]).to_arrow_table()

    def by_polars(path: Path, names: list[str]) -> Any:  # noqa: ARG001
        return polars.read_csv(path, infer_schema=False, encoding="utf8-lossy").to_arrow()

    return {"ours": csv_reader.read, "DuckDB": by_duckdb, "Polars": by_polars}


def csv() -> dict[str, Any]:
    """What each reader makes of a row between two sound ones; and seconds for a long file."""
    result: dict[str, dict[str, str]] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        for what, row in ROW.items():
            path.write_bytes(b"a,b\nx,1\n" + row + b"\ny,3\n")
            result[what] = {name: _read(reader, path) for name, reader in readers().items()}
        text = ",".join(str(100 + i) for i in range(WIDE)).encode() + b"\n"
        path.write_bytes(",".join(f"c{i}" for i in range(WIDE)).encode() + b"\n" + text * LINES)
        names = [f"c{i}" for i in range(WIDE)]
        seconds = {name: busy(lambda r=reader: r(path, names)) for name, reader in readers().items()}
    return {"rows": result, "seconds": seconds, "lines": LINES, "columns": WIDE}


def _read(reader: Callable[[Path, list[str]], Any], path: Path) -> str:
    """In words what became of the row."""
    try:
        first, second = (column.to_pylist() for column in reader(path, ["a", "b"]).columns)
    except Exception:  # each reader has its own
        return "the whole file is refused"
    rows = list(zip(first, second, strict=True))
    if rows[0] != ("x", "1") or rows[-1] != ("y", "3"):
        return "its neighbours change"
    if len(rows) == 2:
        return "no row"
    cell = rows[1][0]
    return f"{len(cell):,} characters" if cell and len(cell) > 20 else f"`{cell!r}`"


def written(path: Path, rows: int) -> dict[str, float]:
    """In a process of its own: processor seconds for a workbook of twelve columns, and MiB above the table."""
    import numpy as np
    import pyarrow as pa

    from synth.sources.formats import excel_writer

    rng = np.random.default_rng(0)
    table = {f"i{i}": pa.array(rng.integers(0, 1000, rows).astype(str)) for i in range(6)}
    table |= {f"x{i}": pa.array(rng.integers(0, 10**6, rows) / 100).cast(pa.string()) for i in range(3)}
    table |= {f"t{i}": pa.array(rng.choice(["north", "south", "east"], rows)) for i in range(2)}
    table["d"] = pa.array(np.datetime_as_string(rng.integers(0, 3650, rows).astype("datetime64[D]")))
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    excel_writer.write(path, pa.table(table))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"seconds": time.process_time() - began, "peak_mib": peak / 1024, "mb": path.stat().st_size / 1e6}


def workbook() -> list[dict[str, float]]:
    """The same of two sizes."""
    with TemporaryDirectory() as folder:
        results = [{"rows": rows} | sure(apart(written, Path(folder) / "t.xlsx", rows)) for rows in (10_000, 30_000)]
    return [{n: f[n] for n in ("rows", "seconds", "peak_mib", "mb")} for f in results]


def charts() -> list[dict[str, Any]]:
    """A report's bar chart of twelve categories, drawn by ours and by Altair with vl-convert."""
    import altair as alt
    import numpy as np
    import pandas as pd
    import vl_convert

    from synth.report import svg_charts

    shares = np.random.default_rng(0).dirichlet(np.ones(12), 2)
    labels = [f"value {i}" for i in range(12)]
    parts = [pd.DataFrame({"value": labels, "table": t, "share": s}) for t, s in zip("ab", shares, strict=True)]
    chart = alt.Chart(pd.concat(parts)).mark_bar()
    chart = chart.encode(x="share:Q", y="value:N", yOffset="table:N", color="table:N", tooltip=["value", "share"])
    ways = {
        "ours": lambda: str(svg_charts.paired_bars(labels, *shares, words="shares")),
        "Altair, vl-convert": lambda: vl_convert.vegalite_to_svg(chart.to_dict()),
    }
    drawn = {name: draw() for name, draw in ways.items()}  # what is loaded once is no chart's time
    return [
        {"way": n, "ms": 1000 * busy(ways[n]), "kb": len(s) / 1000, "told on hovering": s.count("<title>")}
        for n, s in drawn.items()
    ]


PARTS: dict[str, Callable[[], Any]] = {
    "composition": composition,
    "noise": noise,
    "csv": csv,
    "workbook": workbook,
    "charts": charts,
}


def main(given) -> None:
    result = read(given.json, {})
    for name in given.only:
        result[name] = PARTS[name]()
        print(name, json.dumps(result[name], indent=1, ensure_ascii=False))
        write(given.json, result)


if __name__ == "__main__":
    start(main, json="decisions", only=",".join(PARTS))
