"""What large tables cost on a cluster, on paper: by the processor time that cluster.py measured, at a stated price.

    python benchmarks/cluster_cost.py [--price 0.05] [--cores 16]

``--price``: of one core for one hour, in whatever currency: what clouds ask for a core with 4 GiB is of that order.
Processor seconds of the two longest tables measured with most workers (of one, in proportion) are drawn out as a
straight line to 10^9 and 10^10 rows, and so are bytes; hours are these seconds shared evenly by ``--cores``. Nothing
here was run: skew, a slow disk, a network that is shared and executors that are lost come on top.
"""

from typing import Any

from markdown_tables import filled
from runner import read, start

PRICE, CORES = 0.05, 16  # of one core for one hour; cores that share the work
ROWS = {"whole": (10**9,), "bare": (10**9,), "drawn": (10**9, 10**10)}
WORDS = {"whole": "whole run of `mixture`", "bare": "bare Spark, 190 `GROUP BY`", "drawn": "rows drawn and written"}


def line(lines: list[dict[str, Any]], field: str, rows: int) -> float | None:
    """A field at so many rows, on the straight line through the two longest tables, or one and nothing; or None."""
    known = [(0, 0.0), *sorted((r["rows"], r[field]) for r in lines if field in r)][-2:]
    if len(known) < 2:
        return None
    (few, less), (many, more) = known
    return more + (more - less) / (many - few) * (rows - many)


def priced(stored: list[dict[str, Any]], *, price: float = PRICE, cores: int = CORES) -> str:
    """A line for each thing that was measured."""
    result = []
    for what, sizes in ROWS.items():
        own = [r for r in stored if r["what"] == what and "failed" not in r and r["workers"]]
        most = max((r["workers"] for r in own), default=0)
        own = [r for r in own if r["workers"] == most]
        for rows in sizes:
            busy, size = line(own, "cpu_seconds", rows), line(own, "written" if what == "drawn" else "bytes", rows)
            if busy is None:
                continue
            result.append(
                {
                    "what": WORDS[what],
                    "rows": f"10^{len(str(rows)) - 1}",
                    "of": " and ".join(f"{n:,}" for n in sorted(r["rows"] for r in own)[-2:]),
                    "busy": busy / 3600,
                    "hours": busy / 3600 / cores,
                    "cost": busy / 3600 * price,
                    "gib": None if size is None else size / 2**30,
                }
            )
    heads = f"what|rows|drawn out from|core hours|hours on {cores} cores|at {price:g} a core hour|GiB read or written"
    return filled(result, heads, "{what}|{rows}|{of}|{busy:,.1f}|{hours:,.2f}|{cost:,.2f}|{gib:,.0f}")


def main(given) -> None:
    print(priced(read(given.json, []), price=given.price, cores=given.cores))


if __name__ == "__main__":
    start(main, json="cluster", price=PRICE, cores=CORES)
