"""What kinds of release are called, for people."""

from collections.abc import Iterable

ON_CARDS = {
    "functional": "path",
    "publiccounts": "public counts",
    "publiclinked": "public counts",
    "weightedcounts": "weighted counts",
}  # the first was named after cards were written


def kinds_of(releases: Iterable[type]) -> list[str]:
    """Words for kinds of release, sorted, as cards have them.

    Privacy: public only.

    >>> from synth.questions import CountsRelease, FunctionalRelease
    >>> kinds_of([FunctionalRelease, CountsRelease])
    ['counts', 'path']
    """
    words = (r.__name__.removesuffix("Release").lower() for r in releases)
    return sorted({ON_CARDS.get(word, word) for word in words})
