"""What a card says of prior knowledge: what was taken as known, and what whoever is in earlier releases has in all."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from synth.privacy.accounting.guarantee import Guarantee, sums

GIVEN = (
    "the guarantee holds given this table, which must not have been made from the private rows: what it says of people "
    "is said whatever epsilon is"
)
ADDED = (
    "the guarantee holds given that release, which has its own; whoever is in both has both, and their sum where unit, "
    "relation and public columns are the same"
)
SUM = (
    "Of whoever is in this release and in all {} earlier ones that it rests on: epsilon {:g}, delta {:g}. Whoever is "
    "in this one alone has what stands above."
)
APART = "{} of one {}: epsilon {:g}, delta {:g}"
SIDE_BY_SIDE = (
    "Of whoever is in this release and in all {} earlier ones that it rests on: their guarantees are of unlike units, "
    "relations or public columns, which have no sum. They are, side by side: {}."
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
    """The releases that these cards are of, with those that they rest on themselves and all among which they were
    chosen: each ledger line once, oldest first."""
    known: dict[str, dict[str, Any]] = {}
    for card in cards:
        whose = {"dataset": card["dataset"], "created": card["created"]}
        for line in (*(card.get("earlier_releases") or ()), *_lines(card)):
            known[line["hash"]] = whose | dict(line)
    return sorted(known.values(), key=lambda one: str(one["created"]))


def _lines(card: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The ledger lines that a card counts, its own last, each with its guarantee."""
    chosen = card.get("selection") or {}
    kind = Guarantee.of(card)
    for line in (
        *(chosen.get("charges") or ()),
        {**card, **(chosen.get("of_which_this_run") or {}), **card["ledger_entry"]},
    ):
        yield replace(kind, epsilon=float(line["epsilon"]), delta=float(line["delta"])).plain() | {"hash": line["hash"]}


def in_all(card: Mapping[str, Any]) -> dict[str, Any]:
    """The sum for a person in this release and in all earlier ones that it rests on; nothing where there are none.

    Guarantees of unlike units, relations or public columns have no sum: they stand side by side.
    """
    before = card.get("earlier_releases") or ()
    if not before:
        return {}
    lines = {line["hash"]: Guarantee.of(line) for line in (*_lines(card), *before)}
    kinds = sums(lines.values())
    if len(kinds) == 1:
        (one,) = kinds
        statement = SUM.format(len(before), one.epsilon, one.delta)
        return {"in_all_releases": {"epsilon": one.epsilon, "delta": one.delta, "statement": statement}}
    listed = "; ".join(APART.format(*one.kind, one.epsilon, one.delta) for one in kinds)
    statement = SIDE_BY_SIDE.format(len(before), listed)
    return {"in_all_releases": {"apart": [one.plain() for one in kinds], "statement": statement}}
