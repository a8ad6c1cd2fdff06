"""What kinds of release are called, for people."""

from collections.abc import Iterable


def kinds_of(releases: Iterable[type]) -> list[str]:
    """Words for kinds of release, sorted.

    Privacy: public only.

    >>> from synth.questions import CountsRelease
    >>> kinds_of([CountsRelease])
    ['counts']
    """
    return sorted({r.__name__.removesuffix("Release").lower() for r in releases})
