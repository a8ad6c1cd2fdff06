"""The audit of the whole way as a self-contained page: every canary, what it is made for, what was seen with it."""

from synth.evaluate.audit.whole import Sight, WholeAudit
from synth.report import html
from synth.report.html import figure


def whole_page(whole_audit: WholeAudit) -> str:
    """The page of an audit from files to release folders."""
    title = f"Audit of {whole_audit.method} from file to release"
    rows = [_line(s) for s in whole_audit.sights]
    return html.render(
        "whole_audit.html", title=title, mark=None, result=whole_audit, rows=rows, left_out=whole_audit.left_out
    )


def _line(sight: Sight) -> list[str]:
    reported = sight.moments
    return [
        sight.name,
        sight.kind,
        sight.shows,
        "yes" if sight.violated else "no",
        sight.seen_by,
        figure(reported.mu if reported else None),
        figure(sight.finding.claim.mu),
        figure(reported.noise_estimate if reported else None, 2),
    ]
