"""The audit as self-contained pages: bounds beside claims, ROC curves, leakage against capacity, canaries."""

from math import exp, log10

from synth.capacity.views import Capacity
from synth.evaluate.audit.methods import SKIPPED, Audit
from synth.evaluate.audit.statistics import DELTA, Finding
from synth.evaluate.audit.whole import CanaryResult, WholeAudit
from synth.lazy import Lazy
from synth.report import html, svg
from synth.report.html import figure
from synth.report.svg import Shape

special = Lazy("scipy.special")

WIDE, TALL, LEFT, LOW = 340.0, 230.0, 46.0, 1e-3
Point = tuple[float, float]


def audit_page(audit: Audit) -> str:
    """The page of a method's audit."""
    parts = (("Releases", audit.outputs), ("Synthetic tables", audit.tables))
    return html.render(
        "audit.html",
        title=f"Audit of {audit.method}",
        mark=None,
        result=audit,
        audit_delta=DELTA,
        skipped=SKIPPED,
        findings=[(name, f, roc(f), roc(f, log=True)) for name, f in parts if f is not None],
    )


def roc(finding: Finding, *, log: bool = False) -> str:
    """True against false positive rates of the attack, with what the claim allows. ``log``: its low end, both axes."""
    rates = [10 ** (-3 + 3 * i / 60) for i in range(61)] if log else [i / 60 for i in range(61)]
    allowed = [(x, _allowed(finding, x)) for x in rates]
    chance = [(x, x) for x in rates]
    seen = [p for p in finding.curve if not log or p[0] >= LOW]
    shapes = _axes("false positives", "true positives", log)
    for points, kind in ((chance, "axis"), (allowed, "whisker"), (seen, "line")):
        shapes += [svg.curve([_place(x, y, log) for x, y in points], kind)] if points else []
    words = f"ROC of {finding.attack}: what was seen stays {'above' if finding.violated else 'below'} what is claimed"
    return svg.draw(shapes, wide=WIDE, tall=TALL + 30, words=words)


def _allowed(finding: Finding, false: float) -> float:
    """The largest true positive rate that the claim allows at this false positive rate."""
    claim = finding.claim
    most = min(min(1.0, d + exp(min(e, 500.0)) * false) for d, e in claim.pairs)
    most = min([most, *(1 - exp(-min(e, 500.0)) * max(1 - d - false, 0.0) for d, e in claim.pairs)])
    return most if claim.mu is None or false <= 0 else min(most, float(special.ndtr(claim.mu + special.ndtri(false))))


def _place(x: float, y: float, log: bool) -> Point:
    if log:
        x, y = (max(0.0, 1 + log10(max(v, LOW)) / 3) for v in (x, y))
    return LEFT + x * (WIDE - LEFT - 8), 8 + (1 - y) * (TALL - 16)


def _axes(x_label: str, y_label: str, log: bool) -> list[Shape]:
    """A frame with words and ticks; both axes run from 0 (or a thousandth) to 1."""
    shapes = []
    for t in (0.001, 0.01, 0.1, 1.0) if log else (0.0, 0.5, 1.0):
        x, y = _place(t, 0.0, log)[0], _place(0.0, t, log)[1]
        shapes += [
            svg.line(x, x, 8, TALL - 8, "axis"),
            svg.line(LEFT, WIDE - 8, y, y, "axis"),
            svg.label(x, TALL + 6, f"{t:g}", anchor="middle", kind="dim"),
            svg.label(LEFT - 5, y + 4, f"{t:g}", kind="dim"),
        ]
    turned = f"translate(10 {TALL / 2:.0f}) rotate(-90)"
    return [
        *shapes,
        svg.label((LEFT + WIDE) / 2, TALL + 24, x_label, anchor="middle"),
        svg.label(0, 0, y_label, anchor="middle", transform=turned),
    ]


def whole_page(whole_audit: WholeAudit) -> str:
    """The page of an audit from files to release folders: every canary, what it is made for, what was seen with it."""
    title = f"Audit of {whole_audit.method} from file to release"
    rows = [_line(s) for s in whole_audit.results]
    return html.render(
        "whole_audit.html", title=title, mark=None, result=whole_audit, rows=rows, left_out=whole_audit.left_out
    )


def _line(result: CanaryResult) -> list[str]:
    seen, claim = result.moments, figure(result.finding.claim.mu)
    moved, noise = (None, None) if seen is None else (seen.mu, seen.noise_estimate)
    told = "yes" if result.violated else "no"
    return [result.name, result.kind, result.shows, told, result.seen_by, figure(moved), claim, figure(noise, 2)]


def capacity_page(capacity: Capacity) -> str:
    """The page of the capacity-bounded view."""
    rows = [[a.name, f"{a.parameters:,}", f"{a.bound:.4f}", f"{a.in_sample:.4f}"] for a in capacity.attackers]
    rows += [[f"{name}, exact", "-", f"{value:.4f}", "-"] for name, value in capacity.closed.items()]
    exact = [f"{n} {v:.3f}" for n, v in sorted(_exact(capacity).items(), key=lambda m: m[1])]
    title = f"What attackers of limited capacity see of {capacity.mechanism}"
    return html.render(
        "capacity.html", title=title, mark=None, result=capacity, rows=rows, exact=exact, ladder=ladder(capacity)
    )


def _exact(capacity: Capacity) -> dict[str, float]:
    return {"unrestricted": capacity.ceiling, **capacity.closed}


def ladder(capacity: Capacity) -> str:
    """Bars by attacker, from the weakest on, under the unrestricted divergence."""
    top = max([capacity.ceiling, *(a.bound for a in capacity.attackers)]) * 1.15 or 1.0
    each, base = (WIDE - LEFT - 8) / len(capacity.attackers), TALL - 8
    shapes = [svg.line(LEFT, WIDE - 8, base, base, "axis")]
    for i, a in enumerate(capacity.attackers):
        x, tall = LEFT + each * i + 0.15 * each, a.bound / top * (TALL - 20)
        middle, named = x + 0.35 * each, a.name.replace("two-layer ", "")
        shapes += [
            svg.rect(x, base - tall, 0.7 * each, tall, "synthetic", title=f"{a.name}: at least {a.bound:.4f}"),
            svg.label(middle, base - tall - 4, f"{a.bound:.3f}", anchor="middle"),
            svg.label(middle, base + 15, named, anchor="middle", kind="dim"),
        ]
    for name, value in _exact(capacity).items():
        y = base - value / top * (TALL - 20)
        shapes += [
            svg.line(LEFT, WIDE - 8, y, y, "whisker", title=f"{name}, exact: {value:.4f}"),
            svg.label(LEFT - 4, y + 4, f"{value:.3f}", kind="dim"),
        ]
    words = f"{capacity.divergence} leakage by attacker, under the mechanism's own {capacity.ceiling:.3f}"
    return svg.draw(shapes, wide=WIDE, tall=TALL + 30, words=words)
