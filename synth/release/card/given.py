"""What a card says of what was given: declared areas, published totals, priors and earlier releases; and of sites.

A public tree of areas is kept by every row of the table; published totals agree with it; of priors stands what was
taken as known, and what whoever is in earlier releases has in all.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synth.languages import Said, joined
from synth.privacy.accounting.guarantee import Guarantee, sums
from synth.schema import areas
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Schema

TREE = (
    "declared in the schema: a row's area above is that of its lowest area, whatever the private cells above say; the "
    "guarantee holds whichever tree is declared"
)
TOTALS = (
    "the guarantee holds given these counts, whatever they are: they were no answer of this release, and what they say "
    "of a person is said whatever epsilon is. Of two tables that both have them, epsilon bounds what is learnt of the "
    "difference as two steps apart where rows come and go, as one where a row is replaced"
)
PRIOR = (
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
TRUST = (
    "Several sites: each holds its own rows and runs the mechanisms on them; no site, and no reader of the release, "
    "need be trusted by another."
)
COMPOSITION = (
    "Each site's mechanisms are those listed, read its rows alone and were charged to its own ledger before the first "
    "of them was read. Whoever is in several sites has the sum of as many epsilons and deltas."
)
TOLERANCE = 1e-6  # relative


def areas_on_card(schema: Schema | Dataset) -> dict[str, Any]:
    """The declared trees, a level each; nothing where there are none.

    Privacy: public only.
    """
    tables = schema.stated.tables
    levels = [_level(t, s, rule.child, rule.parent) for t, s in tables.items() for rule in areas.rules(s.columns)]
    return {"areas": levels} if levels else {}


def _level(table: str, schema: Schema, child: str, parent: str) -> dict[str, Any]:
    low, high = schema.columns[child], schema.columns[parent]
    pairs = areas.parents(low, high).tolist()
    named = {a: (high.categories or ())[p] for a, p in zip(low.categories or (), pairs, strict=False)}
    return {
        **({} if table == ONE else {"table": table}),
        "column": child,
        "within": parent,
        "areas": low.size,
        "areas_above": high.size,
        "sha256": hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest(),
    }


def invariants(card: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A line for each level of a tree, each table of totals, and each public table or earlier release that the model
    was drawn to."""
    for one in card.get("areas") or ():
        what = Said(
            "each of {:,} areas of {} lies within one of {:,} of {} (SHA-256 {})",
            one["areas"],
            one["column"],
            one["areas_above"],
            one["within"],
            one["sha256"],
        )
        yield {"what": what, "of": [one["column"], one["within"]], "vouched": TREE}
    for one in card.get("totals") or ():
        rounded = Said(", rounded to {}", one["rounded"]) if one["rounded"] > 1 else ""
        what = Said(
            "published totals: {:,} counts of {:,} rows{} (SHA-256 {})",
            one["cells"],
            one["rows"],
            rounded,
            one["sha256"],
        )
        yield {"what": what, "of": list(one["columns"]), "vouched": Said("{}; {}", one["published"], TOTALS)}
    for one in card.get("priors") or ():
        what = Said("prior {} (SHA-256 {}), {:,} rows", one["name"], one["sha256"], one["rows"])
        confirmed = Said("{}; {}", one["reason"], ADDED if "epsilon" in one else PRIOR)
        yield {"what": what, "of": list(one["columns"]), "vouched": confirmed}


def problems(card: Mapping[str, Any]) -> Iterator[str]:
    """A sentence where the card itself says that its table disagrees with totals, or a site spent more than it states.

    Privacy: public only.
    """
    off = max((int(one["cells_off"]) for one in card.get("totals") or ()), default=0)
    if off:
        yield Said("its table disagrees with {:,} cells of the published totals that it names", off)
    for site in card.get("sites") or ():
        if site["epsilon_derived"] > card["epsilon_derived"] * (1 + TOLERANCE):
            yield Said("site {!r} spent more than the mechanisms listed", site["site"])


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
        statement = Said(SUM, len(before), one.epsilon, one.delta)
        return {"in_all_releases": {"epsilon": one.epsilon, "delta": one.delta, "statement": statement}}
    listed = joined("; ", (Said(APART, *one.kind, one.epsilon, one.delta) for one in kinds))
    statement = Said(SIDE_BY_SIDE, len(before), listed)
    return {"in_all_releases": {"apart": [one.plain() for one in kinds], "statement": statement}}


def of_sites(card: Mapping[str, Any], sites: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The card of one site as that of all: the guarantee of each, on its own rows, by its own ledger line.

    ``sites``: of each its name, dataset, ledger entry and derived epsilon. ``card``: of one that spent most.

    **Guarantee**: epsilon and delta are each site's (mechanisms/pulls.md, several sites).
    """
    named = ", ".join(str(s["dataset"]) for s in sites)
    return {**card, "dataset": named, "sites": list(sites), "trust": TRUST, "composition": COMPOSITION}
