"""Statistics that were asked for by name and paid for, as a section of the publishable report."""

from collections.abc import Mapping
from typing import Any

from synth.languages import _, numerals
from synth.report.html import commas, number
from synth.report.words import between, both


def section(result: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics as ``statistics_file.load`` gives them, beside a release with the card ``about``: single values, and
    tables of counts with a head and a row for each cell."""
    interval, asked = _("{level} % interval").format(level=f"{100 * result['level']:.0f}"), result["statistics"]
    return {
        "card": result["card"],
        "together": _together(about, result["card"]),
        "entry": _entry(result["card"]),
        "interval": interval,
        "single": [(_named(s), s["value"], between(s["low"], s["high"])) for s in asked if "cells" not in s],
        "tables": [_counts(s, interval) for s in asked if "cells" in s],
    }


def _counts(counted: Mapping[str, Any], interval: str) -> dict[str, Any]:
    half = numerals(f"{counted['half']:,.1f}")
    if counted["kind"] == "weight":
        what = _("{weight} in all, a row at most {bound}, give or take {half} ({interval})").format(
            weight=counted["by"], bound=number(counted["bound"]), half=half, interval=interval
        )
        cells = [numerals(f"{c['weight']:,.1f}") for c in counted["cells"]]
    else:
        what = _("rows, give or take {half} ({interval})").format(half=half, interval=interval)
        cells = [commas(c["count"]) for c in counted["cells"]]
    names = [", ".join(c["values"]) for c in counted["cells"]]
    return {"head": (both(counted["columns"]), what), "rows": list(zip(names, cells, strict=True))}


def _together(card: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The guarantee of both in one line: sums, which hold whatever was asked in sight of what."""
    epsilon, delta = card["epsilon"] + other["epsilon"], card["delta"] + other["delta"]
    return _("epsilon {epsilon}, delta {delta}, {relation}").format(
        epsilon=number(epsilon), delta=number(delta), relation=card["relation"]
    )


def _named(statistic: Mapping[str, Any]) -> str:
    column = statistic["columns"][0]
    if statistic["kind"] == "mean":
        return _("mean of {column}").format(column=column)
    return _("{level} % quantile of {column}").format(level=number(100 * statistic["level"]), column=column)


def _entry(card: Mapping[str, Any]) -> str:
    entry = card.get("ledger_entry") or {}
    return str(entry.get("number", _("not known"))) if isinstance(entry, Mapping) else str(entry)
