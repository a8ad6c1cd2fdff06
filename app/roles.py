"""Which pages a role opens; what a role may do is ruled in synth.roles."""

from synth.roles import ALONE, ANALYST, REVIEWER, STEWARD, Visitor

PAGES = {
    ALONE: ("data", "describe", "budget", "method", "run", "review", "release", "ledger"),
    STEWARD: ("data", "describe", "budget", "method", "run", "review", "release", "ledger"),
    REVIEWER: ("approve", "releases", "ledger"),
    ANALYST: ("releases",),
}


def pages(visitor: Visitor) -> tuple[str, ...]:
    """The pages that a visitor may open.

    >>> pages(Visitor(name="carl@example.org", role="analyst"))
    ('releases',)
    """
    return PAGES[visitor.role]
