"""What a card says of a generator that was fitted to several sites, each of which holds its rows and paid itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TRUST = (
    "Several sites: each holds its own rows and runs the mechanisms on them; no site, and no reader of the release, "
    "need be trusted by another."
)
COMPOSITION = (
    "Each site's mechanisms are those listed, read its rows alone and were charged to its own ledger before the first "
    "of them was read. Whoever is in several sites has the sum of as many epsilons and deltas."
)
TOLERANCE = 1e-6  # relative


def of_sites(card: Mapping[str, Any], sites: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The card of one site as that of all: the guarantee of each, on its own rows, by its own ledger line.

    ``sites``: of each its name, dataset, ledger entry and derived epsilon. ``card``: of one that spent most.

    **Guarantee**: epsilon and delta are each site's (mechanisms/pulls.md, several sites).
    """
    named = ", ".join(str(s["dataset"]) for s in sites)
    return {**card, "dataset": named, "sites": list(sites), "trust": TRUST, "composition": COMPOSITION}


def problems(about: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence where a site spent more than the card states."""
    for site in about.get("sites") or ():
        if site["epsilon_derived"] > about["epsilon_derived"] * (1 + TOLERANCE):
            yield f"site {site['site']!r} spent more than the mechanisms listed"
