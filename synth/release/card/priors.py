"""What a card says of prior knowledge: what was taken as known, and what whoever is in earlier releases has in all."""

from collections.abc import Iterable, Mapping
from typing import Any

GIVEN = (
    "the guarantee holds given this table, which must not have been made from the private rows: what it says of people "
    "is said whatever epsilon is"
)
ADDED = (
    "the guarantee holds given that release, which has its own; whoever is in both has the sum of both epsilons and "
    "both deltas"
)
SUM = (
    "Of whoever is in this release and in all {} earlier ones that it rests on: epsilon {:g}, delta {:g}. Whoever is "
    "in this one alone has what stands above."
)


def invariants(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each public table or earlier release that the model was drawn to."""
    return [
        {
            "what": f"prior {reported['name']} (SHA-256 {reported['sha256']}), {reported['rows']:,} rows",
            "of": list(reported["columns"]),
            "vouched": f"{reported['reason']}; {ADDED if 'epsilon' in reported else GIVEN}",
        }
        for reported in card.get("priors") or ()
    ]


def earlier(cards: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The releases that these cards are of, with those that they rest on themselves; each once, oldest first."""
    known: dict[str, dict[str, Any]] = {}
    for card in cards:
        own = {n: card[n] for n in ("dataset", "created", "epsilon", "delta")}
        for one in (*(card.get("earlier_releases") or ()), {**own, "hash": card["ledger_entry"]["hash"]}):
            known[one["hash"]] = dict(one)
    return sorted(known.values(), key=lambda one: str(one["created"]))


def in_all(card: Mapping[str, Any]) -> dict[str, Any]:
    """The sum for a person in this release and in all earlier ones that it rests on; nothing where there are none."""
    before = card.get("earlier_releases") or ()
    if not before:
        return {}
    epsilon, delta = (float(card[n]) + sum(float(one[n]) for one in before) for n in ("epsilon", "delta"))
    statement = SUM.format(len(before), epsilon, delta)
    return {"in_all_releases": {"epsilon": epsilon, "delta": delta, "statement": statement}}
