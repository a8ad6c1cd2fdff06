"""Statistics that were asked for by name and paid for, as a section of the publishable report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class CountTable:
    """Counts of one or more columns' values: the table's head, and a row for each cell."""

    head: tuple[str, str]
    rows: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Paid:
    """What the section shows. ``card``: of the statistics; ``together``: their guarantee with the release's."""

    card: Mapping[str, Any]
    together: str
    entry: str
    interval: str
    single: list[tuple[str, Any, str]]
    tables: list[CountTable]


def section(result: Mapping[str, Any], about: Mapping[str, Any]) -> Paid:
    """Statistics as ``statistics_file.load`` gives them, beside a release with the card ``about``."""
    interval, asked = f"{100 * result['level']:.0f} % interval", result["statistics"]
    return Paid(
        card=result["card"],
        together=_together(about, result["card"]),
        entry=_entry(result["card"]),
        interval=interval,
        single=[(_named(s), s["value"], f"{s['low']} to {s['high']}") for s in asked if "cells" not in s],
        tables=[_counts(s, interval) for s in asked if "cells" in s],
    )


def _counts(counted: Mapping[str, Any], interval: str) -> CountTable:
    if counted["kind"] == "weight":
        what = f"{counted['by']} in all, a row at most {counted['bound']:g}, give or take {counted['half']:,.1f}"
        head = (" and ".join(counted["columns"]), f"{what} ({interval})")
        return CountTable(head=head, rows=[(", ".join(c["values"]), f"{c['weight']:,.1f}") for c in counted["cells"]])
    head = (" and ".join(counted["columns"]), f"rows, give or take {counted['half']:,.1f} ({interval})")
    return CountTable(head=head, rows=[(", ".join(c["values"]), f"{c['count']:,}") for c in counted["cells"]])


def _together(card: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The guarantee of both in one line: sums, which hold whatever was asked in sight of what."""
    epsilon, delta = card["epsilon"] + other["epsilon"], card["delta"] + other["delta"]
    return f"epsilon {epsilon:g}, delta {delta:g}, {card['relation']}"


def _named(statistic: Mapping[str, Any]) -> str:
    column = statistic["columns"][0]
    return (
        f"mean of {column}" if statistic["kind"] == "mean" else f"{100 * statistic['level']:g} % quantile of {column}"
    )


def _entry(card: Mapping[str, Any]) -> str:
    entry = card.get("ledger_entry") or {}
    return str(entry.get("number", "not known")) if isinstance(entry, Mapping) else str(entry)
