"""Statistics that were asked for by name and paid for, as a section of the publishable report."""

from collections.abc import Mapping
from typing import Any

from synth.report.html import details, facts, section, table, text

SHOWN = 30  # cells of a table that are in sight at once


def statistics_section(found: Mapping[str, Any]) -> str:
    """Values with their intervals, and what they cost beside the release. ``found``: as ``statistics_file.load``."""
    card, level = found["card"], f"{100 * found['level']:.0f} % interval"
    single = [s for s in found["statistics"] if s["kind"] != "count"]
    parts = [text("Answers about the source table itself, each paid for; they come from a spend of their own, which "
                  "adds to the release's. Intervals are for the privacy noise alone."),
             facts([("dataset", card.get("dataset") or "not named"),
                    ("guarantee", f"epsilon {card['epsilon']:g}, delta {card['delta']:g}, {card['relation']}"),
                    ("unit", card.get("unit")), ("ledger entry", _entry(card))])]  # fmt: skip
    if single:
        rows = [[_named(s), s["value"], f"{s['low']} to {s['high']}"] for s in single]
        parts.append(table(["statistic", "value", level], rows))
    for counted in (s for s in found["statistics"] if s["kind"] == "count"):
        rows = [[", ".join(c["values"]), f"{c['count']:,}"] for c in counted["cells"]]
        head = [" and ".join(counted["columns"]), f"rows, give or take {counted['half']:,.1f} ({level})"]
        parts.append(table(head, rows[:SHOWN]))
        if len(rows) > SHOWN:
            parts.append(details(f"{len(rows) - SHOWN} more", table(head, rows[SHOWN:])))
    return section("Further statistics", *parts)


def together(card: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The guarantee of release and statistics in one line: sums, which hold whatever was asked in sight of what."""
    other = found["card"]
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
