"""The steward's report: attacks on this table beside attacks on tables that leak, and membership by the guarantee."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from synth.evaluate.examination import Examination
from synth.evaluate.risks import AttackRates, Rate
from synth.languages import Texts, _, numerals, prose
from synth.release.card import limits
from synth.report.html import commas, number, percent
from synth.report.words import between

if TYPE_CHECKING:
    from synth.evaluate.risks.shadows import Shadow

ATTACKS = Texts(  # as `evaluate` names them: `prose` finds each here
    {"inference": "inference", "linkability": "linkability", "singling": "singling out"}
)
EXPLAINED = Texts(
    {
        "singling out": "a statement that holds of one synthetic row: does it hold of exactly one real row?",
        "linkability": "half of somebody's columns are in one hand, the other half in another: is one synthetic row "
        "the nearest to both?",
        "inference": "all columns of somebody but one are known: has the nearest synthetic row the hidden value "
        "(numbers: within 5 %)? Guessing names the value of any synthetic row.",
        "reconstruction from quasi-identifiers": "quasi-identifiers of somebody are known: is the hidden value the "
        "commonest among synthetic rows that agree in them (numbers: in twelfths)? Guessing names the commonest of "
        "all.",
    }
)


def data(examination: Examination, about: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows; nothing where no attack was made."""
    reported = examination.risks
    chapter: dict[str, Any] = {"shadowed": [_shadow(s) for s in examination.shadows]} if examination.shadows else {}
    if reported is None:
        return chapter
    real, held, made = reported.rows
    others = _("no held-out rows") if held is None else _("{n} held-out rows").format(n=commas(held))
    rows = _("{real} of the run, {others}, {made} synthetic ones")
    lines, one_reading = lines_of(reported.findings)
    return chapter | {
        "attacked": lines,
        "one_reading": one_reading,
        "reported_risks": [
            *((prose(name), words) for name, words in EXPLAINED.items()),
            (_("quasi-identifiers"), ", ".join(reported.known)),
            (_("rows"), rows.format(real=commas(real), others=others, made=commas(made))),
            (_("membership"), _membership(about, tried=bool(examination.shadows))),
        ],
    }


def lines_of(findings: tuple[AttackRates, ...]) -> tuple[list[list[str]], str]:
    """A line for each attack and table; what is said of every line is said once, beside them, else it ends each."""
    lines, readings = _lines(findings), {f.reading for f in findings}
    return ([line[:-1] for line in lines], prose(*readings)) if len(readings) == 1 else (lines, "")


def _membership(about: Mapping[str, Any], *, tried: bool) -> str:
    """What the guarantee says of every attack, and what attacks the method by many runs."""
    what, sure, accident = limits.guesses(about)[0]
    bound = _("{what}: no attack lifts an even guess above {sure}, but for a probability of {accident}").format(
        what=prose(what), sure=numerals(limits.share(sure)), accident=number(accident, 2)
    )
    if tried:
        return _("{bound}; shadow runs below").format(bound=bound)
    return _(
        "{bound}; a report with 200 shadow runs tries, by many runs of {method} on made-up tables with and without one "
        "row, and tells how much of epsilon it found"
    ).format(bound=bound, method=about.get("method"))


def _shadow(s: "Shadow") -> list[str]:
    """A line of the attack on membership."""
    f = s.finding
    least = numerals(f"{f.epsilon:.2f}") if f.epsilon > 0 else "-"
    return [
        prose(s.made),
        prose(s.seen),
        f"2 x {commas(f.draws)}",
        _rate(s.right),
        percent(s.allowed),
        least,
        numerals(f"{f.claim.at_audit:.2f}"),
        prose(s.reading),
    ]


def _lines(findings: tuple[AttackRates, ...]) -> list[list[str]]:
    """A line for each attack and table, the attack named once."""
    out, last = [], ""
    for f in findings:
        name, last = (f.attack if f.attack != last else ""), f.attack
        if name:
            out.append([prose(name), *[""] * 7])
        shown = f.detail if "|" not in f.detail else _("halves of the columns")
        out.append(
            [
                prose(f.table),
                prose(shown),
                commas(f.real.attacks),
                _rate(f.real),
                _rate(f.control),
                percent(f.baseline),
                "-" if f.risk is None else _interval(*f.risk),
                prose(f.reading),
            ]
        )
    return out


def _rate(rate: Rate | None) -> str:
    return "-" if rate is None else _interval(rate.value, *rate.interval)


def _interval(value: float, low: float, high: float) -> str:
    return f"{percent(value)} ({between(percent(low), percent(high))})"
