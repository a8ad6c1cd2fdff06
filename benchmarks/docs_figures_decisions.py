"""Tables of docs/decisions, from benchmarks/results/decisions.json."""

from collections.abc import Callable
from typing import Any

from markdown_tables import figure, table

Kept = Callable[[str], Any]


def composition(kept: Kept) -> str:
    """Epsilon of ten runs at epsilon 1, by each of the calculi."""
    ten = kept("decisions")["composition"]["ten_runs"]
    names = {"basic": "sum", "zcdp": "zero-concentrated", "rdp": "Renyi", "exact": "exact composite"}
    return table(["delta", *names.values()], [[f"{ten['delta']:g}", *(figure(ten[n], 2) for n in names)]])


def noise(kept: Kept) -> str:
    """Microseconds a draw."""
    told = kept("decisions")["noise"]
    lines = [["OpenDP, exact discrete Gaussian", told["opendp"]], ["ours, rounded Gaussian", told["ours"]]]
    return table(["sampler, called from Python", "microseconds a draw"], [[n, figure(v, 3)] for n, v in lines])


def zcdp(kept: Kept) -> str:
    """The noise of one run by two accountants."""
    told = kept("decisions")["composition"]["sigma_of_sensitivity_1"]
    lines = [("exact profile", told["exact"]), ("zero-concentrated privacy", told["zcdp"])]
    return table(["accountant", "deviation at epsilon 1, delta 1e-5"], [[n, figure(v, 2)] for n, v in lines])


def csv_rows(kept: Kept) -> str:
    """What three readers make of a row."""
    rows = kept("decisions")["csv"]["rows"]
    readers = list(next(iter(rows.values())))
    return table(["the row between", *readers], [[what, *(of[r] for r in readers)] for what, of in rows.items()])


def csv_seconds(kept: Kept) -> str:
    """Processor seconds for the long file."""
    seconds = kept("decisions")["csv"]["seconds"]
    return table(["reader", "seconds"], [[name, figure(value, 2)] for name, value in seconds.items()])


def workbook(kept: Kept) -> str:
    """Seconds, memory and size of workbooks."""
    fields = {"rows": 0, "seconds": 1, "peak_mib": 0, "mb": 1}
    heads = ["rows", "seconds", "MiB above the table", "MB of the file"]
    return table(heads, [[figure(r[n], d) for n, d in fields.items()] for r in kept("decisions")["workbook"]])


TABLES = {
    "composition": composition,
    "noise": noise,
    "zcdp": zcdp,
    "csv-rows": csv_rows,
    "csv-seconds": csv_seconds,
    "workbook": workbook,
}
