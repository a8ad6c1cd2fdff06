"""The audit as self-contained pages: bounds beside claims, ROC curves, leakage against capacity."""

from collections.abc import Sequence
from html import escape
from math import exp, log10

from scipy.special import ndtr, ndtri

from synth.evaluate.audit.capacity import Capacity
from synth.evaluate.audit.methods import SKIPPED, Audit
from synth.evaluate.audit.statistics import DELTA, Finding
from synth.report.html import card, facts, grid, note, number, page, section, table, text

WIDE, TALL, LEFT, LOW = 340.0, 230.0, 46.0, 1e-3
Point = tuple[float, float]


def audit_page(found: Audit) -> str:
    """The page of a method's audit."""
    verdict = "contradicted" if found.violated else "not contradicted"
    parts = [("Releases", found.outputs), ("Synthetic tables", found.tables)]
    return page(
        f"Audit of {found.method}",
        text(f"The claim is {verdict} by attacks on the real components, run on two made-up tables that differ as much "
             "as one unit can make them. Bounds are from below: what was certainly learnt. That an attack finds little "
             "proves nothing; the guarantee rests on its proof."),
        facts([("method", found.method), ("claim", f"epsilon {found.epsilon:g}, delta {found.delta:g}"),
               ("relation", found.relation), ("rows of a unit", found.max_rows), ("seconds", f"{found.seconds:.0f}")]),
        *(section(name, _bounds(f), grid([card("Telling the tables apart (ROC)", roc(f)),
                                          card("Few false positives", roc(f, log=True))], wide=True))
          for name, f in parts if f is not None),
        *_canaries(found),
        note(f"Skipped: {'; '.join(SKIPPED)}."),
    )  # fmt: skip


def _bounds(found: Finding) -> str:
    claim = found.claim
    mu = "no Gaussian claim" if claim.mu is None else f"claimed {claim.mu:.3f}"
    said = "Violated" if found.violated else "Not contradicted"
    words = (f"{said}, {100 * found.confidence:.4g} % sure, by {found.draws:,} draws of each table; the attack that "
             f"served was: {found.attack}.")  # fmt: skip
    return text(words) + grid([
        number("mu, at least", f"{found.mu:.3f}", mu),
        number(f"epsilon at delta {DELTA:g}, at least", f"{found.epsilon:.3f}", f"claimed {claim.at_audit:.3f}"),
        number(f"epsilon at delta {claim.delta:g}, at least", f"{found.epsilon_published:.3f}",
               f"claimed {claim.epsilon:g}"),
    ]) + "<p></p>"  # fmt: skip


def _canaries(found: Audit) -> list[str]:
    told = found.canaries
    if told is None:
        return []
    return [section("Canaries", text(
        f"Of {told.canaries} rows that coins put into one whole run, {told.made} were guessed, {told.right} of them "
        f"right: epsilon is at least {told.epsilon:.3f}, {100 * told.confidence:.4g} % sure. One run says less than "
        "thousands on the worst neighbours."))]  # fmt: skip


def roc(found: Finding, *, log: bool = False) -> str:
    """True against false positive rates of the attack, with what the claim allows. ``log``: its low end, both axes."""
    steps = [10 ** (-3 + 3 * i / 60) for i in range(61)] if log else [i / 60 for i in range(61)]
    allowed = [(x, _allowed(found, x)) for x in steps]
    chance = [(x, x) for x in steps]
    seen = [p for p in found.curve if not log or p[0] >= LOW]
    body = _axes("false positives", "true positives", log)
    for points, kind in ((chance, "axis"), (allowed, "whisker"), (seen, "line")):
        body += _line([_place(x, y, log) for x, y in points], kind)
    words = f"ROC of {found.attack}: what was seen stays {'above' if found.violated else 'below'} what is claimed"
    return (f'<svg viewBox="0 0 {WIDE:.0f} {TALL + 30:.0f}" role="img" aria-label="{escape(words)}">{body}</svg>'
            + note("coloured: the attack, on draws held out; dark: the most that the claim allows; pale: "
                   "guessing"))  # fmt: skip


def _allowed(found: Finding, false: float) -> float:
    """The largest true positive rate that the claim allows at this false positive rate."""
    claim = found.claim
    most = min(min(1.0, d + exp(min(e, 500.0)) * false) for d, e in claim.pairs)
    most = min([most, *(1 - exp(-min(e, 500.0)) * max(1 - d - false, 0.0) for d, e in claim.pairs)])
    return most if claim.mu is None or false <= 0 else min(most, float(ndtr(claim.mu + ndtri(false))))


def _place(x: float, y: float, log: bool) -> Point:
    if log:
        x, y = (max(0.0, 1 + log10(max(v, LOW)) / 3) for v in (x, y))
    return LEFT + x * (WIDE - LEFT - 8), 8 + (1 - y) * (TALL - 16)


def _line(points: Sequence[Point], kind: str) -> str:
    path = "".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
    stroke = ' style="fill:none"' if kind != "line" else ""
    return f'<path d="{path}" class="{kind}"{stroke}/>' if points else ""


def _axes(below: str, beside: str, log: bool) -> str:
    """A frame with words and ticks; both axes run from 0 (or a thousandth) to 1."""
    ticks = (0.001, 0.01, 0.1, 1.0) if log else (0.0, 0.5, 1.0)
    out = ""
    for t in ticks:
        x, y = _place(t, 0.0, log)[0], _place(0.0, t, log)[1]
        out += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{TALL - 8:.1f}" class="axis"/>'
        out += f'<line x1="{LEFT}" x2="{WIDE - 8:.0f}" y1="{y:.1f}" y2="{y:.1f}" class="axis"/>'
        out += f'<text x="{x:.1f}" y="{TALL + 6:.1f}" text-anchor="middle" class="dim">{t:g}</text>'
        out += f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" class="dim">{t:g}</text>'
    middle = (LEFT + WIDE) / 2
    out += f'<text x="{middle:.0f}" y="{TALL + 24:.0f}" text-anchor="middle">{escape(below)}</text>'
    return out + (f'<text transform="translate(10 {TALL / 2:.0f}) rotate(-90)" text-anchor="middle">'
                  f"{escape(beside)}</text>")  # fmt: skip


def capacity_page(found: Capacity) -> str:
    """The page of the capacity-bounded view."""
    rows = [[a.name, f"{a.parameters:,}", f"{a.bound:.4f}", f"{a.in_sample:.4f}"] for a in found.attackers]
    known = [[f"{name}, exact", "-", f"{value:.4f}", "-"] for name, value in found.closed.items()]
    return page(
        f"What attackers of limited capacity see of {found.mechanism}",
        text("Epsilon holds against every attacker. This view says, beside it and never in its place, how much of the "
             f"{found.divergence} divergence between two neighbouring tables an attacker can see who is confined to a "
             "class of functions. Each bar is a bound from below, found on draws that the attacker was not trained on; "
             "the line is the mechanism's own divergence, which nobody passes."),
        facts([("mechanism", found.mechanism), ("claim", f"epsilon {found.epsilon:g}, delta {found.delta:g}"),
               ("draws of each table", f"{found.draws:,}"), ("confidence", f"{100 * found.confidence:.4g} % each")]),
        grid([card("Leakage against capacity", ladder(found))], wide=True),
        section("As a table", table(["attacker", "parameters", f"{found.divergence}, at least", "while training"],
                                    [*rows, *known])),
        note("Bounds fall short of the truth by the confidence that they carry; values while training exceed it more "
             "often than not. Composition of such views holds for questions fixed beforehand only."),
    )  # fmt: skip


def ladder(found: Capacity) -> str:
    """Bars by attacker, from the weakest on, under the unrestricted divergence."""
    top = max([found.ceiling, *(a.bound for a in found.attackers)]) * 1.15 or 1.0
    each, base = (WIDE - LEFT - 8) / len(found.attackers), TALL - 8
    out = f'<line x1="{LEFT}" x2="{WIDE - 8:.0f}" y1="{base}" y2="{base}" class="axis"/>'
    for i, a in enumerate(found.attackers):
        x, tall = LEFT + each * i + 0.15 * each, a.bound / top * (TALL - 20)
        out += (f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{0.7 * each:.1f}" height="{tall:.1f}" '
                f'class="synthetic"><title>{escape(a.name)}: at least {a.bound:.4f}</title></rect>')  # fmt: skip
        middle = x + 0.35 * each
        out += f'<text x="{middle:.1f}" y="{base - tall - 4:.1f}" text-anchor="middle">{a.bound:.3f}</text>'
        named = a.name.replace("two-layer ", "")
        out += f'<text x="{middle:.1f}" y="{base + 15:.1f}" text-anchor="middle" class="dim">{escape(named)}</text>'
    marks = {"unrestricted": found.ceiling, **found.closed}
    for name, value in marks.items():
        y = base - value / top * (TALL - 20)
        out += f'<line x1="{LEFT}" x2="{WIDE - 8:.0f}" y1="{y:.1f}" y2="{y:.1f}" class="whisker">'
        out += f"<title>{escape(name)}, exact: {value:.4f}</title></line>"
        out += f'<text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end" class="dim">{value:.3f}</text>'
    words = f"{found.divergence} leakage by attacker, under the mechanism's own {found.ceiling:.3f}"
    return (f'<svg viewBox="0 0 {WIDE:.0f} {TALL + 30:.0f}" role="img" aria-label="{escape(words)}">{out}</svg>'
            + note("lines: exact values of "
                   + " and ".join(f"{n} {v:.3f}" for n, v in sorted(marks.items(), key=lambda m: m[1]))))  # fmt: skip
