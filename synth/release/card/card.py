"""The release card: what a release claims, in numbers from which the claim can be derived again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import exp
from typing import Any

from synth.privacy.accounting.composition import accountant, epsilon_of
from synth.privacy.accounting.events import Event, event
from synth.privacy.accounting.float_slack import DELTA_SLACK
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.release.card.statements import complete
from synth.schema.column import Column
from synth.schema.dataset import Dataset
from synth.schema.table import Learnt, Schema

OTHERS = {
    "slices": "rounded Gaussian on random slices",
    "zcdp": "OpenDP's, of zero-concentrated privacy",
    "exponential": "exponential mechanism",
    "pure": "comparisons with a noisy threshold",
    "laplace": "discrete Laplace on counts",
    "choice": "exponential mechanism, priced by a Gaussian that dominates it",
    "sampled": "rounded Gaussian sums over Poisson samples",
    "sampled, replaced": "rounded Gaussian sums over Poisson samples",
}
COUNTED = ("rounded Gaussian sums", "rounded Gaussian counts")
WEIGHED = (
    "a synthetic row's weight was made with its other columns, from noisy counts in which each row counts once; "
    "weight the rows by it, as those of the source"
)
LINKAGE = "rows of different tables belong together by fresh keys, which stand for no real row's"
PERSONS_LINKAGE = (
    "rows with one {} belong to one made-up person; it is a fresh key, which stands for no real person's, and every "
    "other identifier is one for its row alone"
)
LIBRARIES = ("facsimile-synth", "dp-accounting", "numpy", "randomgen", "torch", "pyarrow")


def odds(epsilon: float) -> float:
    """The most that a 50:50 guess about one unit can rise to, as a probability: 0.5 to 1. ``epsilon``: at least 0.

    Source: the odds form of Nanayakkara et al., arXiv 2303.00738.

    Privacy: public only.

    >>> round(odds(1.0), 2)
    0.73
    """
    return 1 / (1 + exp(-epsilon))


def meaning(epsilon: float, *, about: str = "row", relation: str = "add_remove") -> str:
    """Epsilon in words; ``about``: what the unit is, of related tables ``Dataset.unit_in_words``.

    ``relation``: where a unit comes and goes, epsilon bounds what is learnt of its being there; two contents of it are
    two steps apart (limits.py).

    Privacy: public only.

    >>> meaning(1.0)
    'a guess of 50:50 whether one row was used can rise to at most 73:27'
    >>> meaning(1.0, about="person", relation="replace_one")
    'a guess of 50:50 which of two contents one person has can rise to at most 73:27'
    """
    whose = "one " + about.removeprefix("one ")
    what = f"which of two contents {whose} has" if relation == "replace_one" else f"whether {whose} was used"
    return _guess(what, odds(epsilon))


def meanings(about: Mapping[str, Any]) -> set[str]:
    """What a card of this relation, unit and epsilon may say: today's words, and those of cards made before.

    Those said "about one row" for either guess; of related tables some said "person".

    Privacy: public only.
    """
    units = {whose(about), "person"} if "keys" in about else {whose(about)}
    before = {_guess("about one " + unit.removeprefix("one "), odds(about["epsilon"])) for unit in units}
    return before | {meaning(about["epsilon"], about=unit, relation=about["relation"]) for unit in units}


def _guess(what: str, best: float) -> str:
    if best > 0.9949:
        return f"a guess of 50:50 {what} can rise to at most {100 * best:.6g} in 100"
    return f"a guess of 50:50 {what} can rise to at most {100 * best:.0f}:{100 * (1 - best):.0f}"


def whose(about: Mapping[str, Any]) -> str:
    """What a card's ``meaning`` is about: a row, a person, or a root with everything below it.

    Privacy: public only.
    """
    return str(about.get("unit_in_words") or ("row" if about["unit"] == "row" else "person"))


def of_persons(about: Mapping[str, Any]) -> bool:
    """Whether a card is of one table whose persons keep their rows. Privacy: public only."""
    return "keys" in about and "tables" not in about.get("rows", {})


def versions() -> dict[str, str]:
    """Installed versions of the libraries that the guarantee and the table rest on."""
    result = {name: _installed(name) for name in LIBRARIES}
    return {name: reported for name, reported in result.items() if reported is not None}


@cache
def _installed(name: str) -> str | None:
    """Looked up once: it takes longer than all else that a card needs."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _published(column: Column) -> dict[str, Any]:
    """What of a column is published because somebody vouched for it alone."""
    return {"values": len(column.categories)} if column.categories else {"bounds": [column.min, column.max]}


def _merged(events: Sequence[Event]) -> list[Event]:
    """Equal events as one with their number, in the order in which they were first asked."""
    result: dict[Event, Event] = {}
    for e in events:
        key = replace(e, count=1)
        result[key] = replace(e, count=e.count + (result[key].count if key in result else 0))
    return list(result.values())


def together(about: dict[str, Any], learnt: Learnt) -> dict[str, Any]:
    """The card of a release whose schema was learnt before: both guarantees added, both lists of mechanisms."""
    before = [event(m) for m in learnt.mechanisms]
    epsilon, delta = about["epsilon"] + learnt.epsilon, about["delta"] + learnt.delta
    mechanisms = [{"mechanism": "schema learning", **e.plain()} for e in before]
    return {
        **about,
        "epsilon": epsilon,
        "delta": delta,
        "epsilon_derived": min(epsilon, about["epsilon_derived"] + learnt.epsilon),
        "meaning": meaning(epsilon, about=whose(about), relation=about["relation"]),
        "mechanisms": [*mechanisms, *about["mechanisms"]],
        "of_which_schema": {
            "epsilon": learnt.epsilon,
            "delta": learnt.delta,
            "ledger_entry": learnt.ledger_entry,
            **({"ledger_hash": learnt.ledger_hash} if learnt.ledger_hash else {}),
        },
    }


def card(
    *,
    schema: Schema | Dataset,
    dataset: str | None,
    method: str,
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
    failure_delta: float,
    events: Sequence[Event],
    noise: SystemNoise,
    num_rows: int,
    ledger_entry: dict[str, Any],
    engine: str,
    created: str,
) -> dict[str, Any]:
    """The card as JSON data; see docs/release.md for every field."""
    weight, columns = schema.weight, schema.all_columns
    about = complete(
        {
            "format": "facsimile-card/1",
            "product": "synthetic table",
            "created": created,
            "dataset": dataset,
            "method": method,
            "relation": str(adjacency.relation),
            "relation_in_words": adjacency.in_words,
            "unit": adjacency.unit,
            "max_rows_of_a_unit": adjacency.max_rows,
            "epsilon": epsilon,
            "delta": delta,
            "epsilon_derived": epsilon_of(events, delta - failure_delta),
            "meaning": meaning(
                epsilon, about="row" if adjacency.by_row else "person", relation=str(adjacency.relation)
            ),
            "mechanisms": [
                {"mechanism": OTHERS.get(e.kind) or COUNTED[e.pitch == 1], **e.plain()} for e in _merged(events)
            ],
            "accountant": {
                "name": accountant(events),
                "library": "dp-accounting",
                "version": versions().get("dp-accounting"),
                "delta_reserved_for_sampler": (delta - failure_delta) * DELTA_SLACK,
                "delta_reserved_for_thresholds": failure_delta,
            },
            "noise_source": noise.name,
            "exportable": noise.exportable,
            "floating_point": "sums are exact, of whole multiples of a lattice step; noise is rounded onto the lattice",
            "rows": {"synthetic": num_rows, "source_count": "public" if adjacency.rows_are_public else "private"},
            **({} if weight is None else {"weight": {"column": weight, "statement": WEIGHED}}),
            "public_facts": {name: c.source for name, c in columns.items()},
            "vouched_alone": {
                name: {**_published(c), "reason": c.reason}
                for name, c in columns.items()
                if c.reason and c.role is None and (c.categories or c.min is not None)
            },
            "identifiers": [n for n, c in columns.items() if c.type == "identifier"],
            "linkage": "synthetic rows are not linked to each other: every identifier is a fresh key for its row alone",
            "post_processing": "everything after the mechanisms uses their outputs and public facts only",
            "schema_sha256": hashlib.sha256(schema.to_json().encode()).hexdigest(),
            "ledger_entry": ledger_entry,
            "versions": versions(),
        }
    )
    about["engine"] = engine
    return about | (_of_tree(schema.tree, adjacency, epsilon) if schema.tree is not None else {})


def _of_tree(schema: Dataset, adjacency: Adjacency, epsilon: float) -> dict[str, Any]:
    """What the card of several tables says beside, or otherwise; that of persons and their rows as of one table."""
    unit = schema.unit_in_words
    public = {n: p.model_dump(mode="json", exclude_none=True) for n, p in (schema.public or {}).items()}
    return {
        **({"relation_in_words": adjacency.words(unit, f"keys of {schema.root}")} if schema.several else {}),
        "meaning": meaning(epsilon, about=unit, relation=str(adjacency.relation)),
        "unit_in_words": unit,
        "keys": schema.keys_on_card,
        "linkage": LINKAGE if schema.several else PERSONS_LINKAGE.format(schema.privacy_unit[0]),
        **({"public_tables": public} if public else {}),
    }
