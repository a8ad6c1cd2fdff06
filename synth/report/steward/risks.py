"""The steward's report: attacks on this table beside attacks on tables that leak, and membership by the guarantee."""

from collections.abc import Mapping
from typing import Any

from synth.evaluate.examination import Examination
from synth.evaluate.risks import Finding, Rate
from synth.release.card import limits
from synth.report.html import percent

EXPLAINED = (
    ("singling out", "a statement that holds of one synthetic row: does it hold of exactly one real row?"),
    ("linkability", "half of somebody's columns are in one hand, the other half in another: is one synthetic row the "
     "nearest to both?"),
    ("inference", "all columns of somebody but one are known: has the nearest synthetic row the hidden value (numbers: "
     "within 5 %)? Guessing names the value of any synthetic row."),
    ("reconstruction", "quasi-identifiers of somebody are known: is the hidden value the commonest among synthetic "
     "rows that agree in them (numbers: in twelfths)? Guessing names the commonest of all."),
)  # fmt: skip


def data(found: Examination, about: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows; nothing where no attack was made."""
    told = found.risks
    if told is None:
        return {}
    real, held, made = told.rows
    others = "no held-out rows" if held is None else f"{held:,} held-out rows"
    return {
        "attacked": _lines(told.findings),
        "told_risks": [
            *EXPLAINED,
            ("quasi-identifiers", ", ".join(told.known)),
            ("rows", f"{real:,} of the run, {others}, {made:,} synthetic ones"),
            ("membership", _membership(about)),
        ],
    }


def _membership(about: Mapping[str, Any]) -> str:
    """What the guarantee says of every attack, and the command that attacks the method by many runs."""
    what, sure, accident = limits.guesses(about)[0]
    return (
        f"{what}: no attack lifts an even guess above {limits.share(sure)}, but for a probability of {accident:.2g}; "
        f"synth audit --method {about.get('method')} --epsilon {about['epsilon']:g} tries, by many runs on tables with "
        "and without one row, and tells how much of epsilon it found"
    )


def _lines(findings: tuple[Finding, ...]) -> list[list[str]]:
    """A line for each attack and table, the attack named once."""
    out, last = [], ""
    for f in findings:
        name, last = (f.attack if f.attack != last else ""), f.attack
        if name:
            out.append([name, *[""] * 7])
        shown = f.detail if "|" not in f.detail else "halves of the columns"
        risk = "-" if f.risk is None else f"{percent(f.risk[0])} ({percent(f.risk[1])} to {percent(f.risk[2])})"
        out.append([f.table, shown, f"{f.real.attacks:,}", _rate(f.real), _rate(f.control), percent(f.baseline), risk,
                    f.reading])  # fmt: skip
    return out


def _rate(rate: Rate | None) -> str:
    return (
        "-" if rate is None else f"{percent(rate.value)} ({percent(rate.interval[0])} to {percent(rate.interval[1])})"
    )
