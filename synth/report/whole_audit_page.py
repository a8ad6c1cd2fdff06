"""The audit of the whole way as a self-contained page: every canary, what it is made for, what was seen with it."""

from synth.evaluate.audit.whole import Sight, WholeAudit
from synth.report import html
from synth.report.html import figure


def whole_page(found: WholeAudit) -> str:
    """The page of an audit from files to release folders."""
    title = f"Audit of {found.method} from file to release"
    rows = [_line(s) for s in found.sights]
    return html.render("whole_audit.html", title=title, mark=None, found=found, rows=rows, left_out=found.left_out)


def _line(sight: Sight) -> list[str]:
    told = sight.moments
    return [
        sight.name,
        sight.kind,
        sight.shows,
        "yes" if sight.violated else "no",
        sight.seen_by,
        figure(told.mu if told else None),
        figure(sight.finding.claim.mu),
        figure(told.noise_found if told else None, 2),
    ]
