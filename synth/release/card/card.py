"""The release card: what a release claims, in numbers from which the claim can be derived again.

It is one object, ``Card``, from when a run makes it until a page shows it.

**Source**: the questions that its statements answer are those of NIST SP 800-226 (unit, relation, invariants,
composition, hazards).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import exp
from typing import Any

from synth.errors import InputError, UsageError
from synth.languages import Said, as_said
from synth.privacy.accounting.composition import accountant, epsilon_of
from synth.privacy.accounting.events import Event, division, event
from synth.privacy.accounting.float_slack import DELTA_SLACK
from synth.privacy.accounting.guarantee import Guarantee
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.release import dialect_copy
from synth.release.card import given
from synth.schema.column import Column
from synth.schema.dataset import ONE, Dataset
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
SEEDED = "SEEDED"  # how the names of noise sources begin that are for tests
TOTALS = ("epsilon", "delta", "epsilon_derived")
LIBRARIES = ("facsimile-synth", "dp-accounting", "numpy", "randomgen", "torch", "pyarrow")


CHOICES = {
    "unstated": "not stated",
    "only": "no other candidate was made",
    "before": "the run was fixed before any comparison with the real rows",
    "releases": "chosen by released figures only: forecast, card, publishable report",
    "all": "all candidates are released",
    "private": "chosen by a paid private selection",
    "scores": "chosen by its comparison with the real rows",
}
UNCOVERED = "selection not covered"
PREVIEW = "Preview: made of public rows only, no release"
CONFIRMED = {
    "public": "public knowledge, as whoever confirmed the schema says",
    "declared": "declared public by the steward in the schema",
    "unconfirmed": "drafted from the rows and confirmed by nobody",
    "private": "learnt with privacy and paid for: no invariant",
}
HAZARDS = (
    "The guarantee is about one unit's own rows. What is true of many people alike (statistics) can be learnt; that is "
    "what the table is for.",
    "It holds for this release. Other releases about the same persons add to it; the ledger keeps their sum.",
    "It rests on the public facts being public. Who confirmed each is listed.",
    "Running time, memory use and job files of the run depend on the rows and are for the steward only.",
)


def one(about: str) -> str:
    """A unit in words: of a row, a person, or what ``unit_in_words`` says."""
    named = {"row": Said("one row"), "person": Said("one person")}
    return named.get(about) or (about if about.startswith("one ") else Said("one {}", about))


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
    whose = one(about)
    what = (
        Said("which of two contents {} has", whose) if relation == "replace_one" else Said("whether {} was used", whose)
    )
    return _guess(what, odds(epsilon))


def _guess(what: str, best: float) -> str:
    if best > 0.9949:
        return Said("a guess of 50:50 {} can rise to at most {:.6g} in 100", what, 100 * best)
    return Said("a guess of 50:50 {} can rise to at most {:.0f}:{:.0f}", what, 100 * best, 100 * (1 - best))


def selection(how: str) -> dict[str, Any]:
    """How a release was chosen among candidates. Errors: UsageError for an unknown way."""
    if how not in CHOICES:
        raise UsageError("selection {!r}: say one of {}", how, ", ".join(CHOICES))
    reported = {"how": how, "in_words": CHOICES[how], "covered": None if how == "unstated" else how != "scores"}
    return reported if how != "scores" else {**reported, "mark": UNCOVERED}


class Card(dict[str, Any]):
    """A release card: JSON data in the order of its file, with every statement, and what follows from them by type.

    ``plain``: a card of any version so far; what it states is kept, but for what follows from it: invariants, sums.
    Its form is that of model.py, which ``verify.check`` holds it to. Errors: InputError for a selection that is none.

    Privacy: released answers only.

    >>> card = Card({"unit": "row", "relation": "add_remove", "epsilon": 1.0, "delta": 0})
    >>> card.guarantee.epsilon, card.whose, card["variant"], card["selection"]["how"]
    (1.0, 'row', 'Pure DP', 'unstated')
    """

    def __init__(self, plain: Mapping[str, Any]) -> None:
        super().__init__(as_said(plain))
        for name, statement in _statements(self).items():
            self.setdefault(name, statement)
        if not isinstance(self["selection"], Mapping) or "how" not in self["selection"]:
            raise InputError("the card does not say in `selection` how its release was chosen; use another copy")
        self |= {"invariants": _invariants(self), **given.in_all(self)}

    @property
    def guarantee(self) -> Guarantee:
        """What it guarantees to whom; guarantees of one kind add up."""
        return Guarantee.of(self)

    @property
    def whose(self) -> str:
        """What ``meaning`` is about: a row, a person, or a root with everything below it."""
        whose: str = self.get("unit_in_words") or ("row" if self["unit"] == "row" else "person")
        return whose

    @property
    def of_persons(self) -> bool:
        """Whether it is of one table whose persons keep their rows."""
        return "keys" in self and "tables" not in self.get("rows", {})

    @property
    def row_counts(self) -> dict[str, int]:
        """Synthetic rows by table that is written."""
        return dict(self["rows"].get("tables", {ONE: self["rows"]["synthetic"]}))

    @property
    def digests(self) -> dict[str, Any]:
        """By file of a table the SHA-256 that it names."""
        tables = self.get("tables_sha256") or {ONE: self.get("synthetic_sha256")}
        twin = {dialect_copy.NAME: self[dialect_copy.DIGEST]} if dialect_copy.DIGEST in self else {}
        return {f"{n}.csv": one for n, one in tables.items()} | twin

    @property
    def seeded(self) -> bool:
        """Whether the noise was not the system's; a word changed in a card does not make it so."""
        return self.get("exportable") is not True or str(self.get("noise_source", SEEDED)).startswith(SEEDED)

    @property
    def uncovered(self) -> bool:
        """Whether the release was chosen in a way that no epsilon covers."""
        return self["selection"].get("covered") is False

    @property
    def charges(self) -> list[dict[str, Any]]:
        """The lines of the ledger that it counts beside its own run's."""
        return list(self["selection"].get("charges") or ())

    @property
    def own(self) -> "Card":
        """The card as it was before anything was said of a choice: the guarantee of its run alone."""
        before = self["selection"].get("of_which_this_run")
        alone = self.costing(**{n: before[n] for n in TOTALS if n in before}) if isinstance(before, dict) else self
        return Card({**alone, "selection": selection("unstated")})

    @property
    def claims(self) -> dict[str, Any]:
        """What it says of its release, without what may be added later."""
        return dict(json.loads(json.dumps({n: v for n, v in self.own.items() if n not in ASIDE})))

    @property
    def shares(self) -> dict[str, float]:
        """By purpose the share of the whole noise budget."""
        return {p.question: p.share for p in division(self["mechanisms"])}

    @property
    def noise_kinds(self) -> dict[str, int]:
        """Kinds of noise, each with how often."""
        kinds: dict[str, int] = {}
        for m in self["mechanisms"]:
            kinds[m["mechanism"]] = kinds.get(m["mechanism"], 0) + int(m.get("count", 1))
        return kinds

    @property
    def meanings(self) -> set[str]:
        """What a card of this relation, unit and epsilon may say: today's words, and those of cards made before.

        Those said "about one row" for either guess; of related tables some said "person".
        """
        units, epsilon = {self.whose, *(["person"] if "keys" in self else [])}, self["epsilon"]
        before = {_guess("about one " + unit.removeprefix("one "), odds(epsilon)) for unit in units}
        return before | {meaning(epsilon, about=unit, relation=self["relation"]) for unit in units}

    def costing(self, **figures: float) -> "Card":
        """The card with these of its ``TOTALS``, and the meaning that follows."""
        about = {**self, **figures}
        said = meaning(about["epsilon"], about=self.whose, relation=self["relation"])
        return Card({**about, "meaning": said})

    def with_schema(self, learnt: Learnt) -> "Card":
        """The card of a release whose schema was learnt before: both guarantees added, both lists of mechanisms."""
        epsilon, delta = self["epsilon"] + learnt.epsilon, self["delta"] + learnt.delta
        derived = min(epsilon, self["epsilon_derived"] + learnt.epsilon)
        before = [{"mechanism": "schema learning", **event(m).plain()} for m in learnt.mechanisms]
        line = {
            "ledger_entry": learnt.ledger_entry,
            **({"ledger_hash": learnt.ledger_hash} if learnt.ledger_hash else {}),
        }
        return Card(
            {
                **self.costing(epsilon=epsilon, delta=delta, epsilon_derived=derived),
                "mechanisms": [*before, *self["mechanisms"]],
                "of_which_schema": {"epsilon": learnt.epsilon, "delta": learnt.delta, **line},
            }
        )


def _statements(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card states beside its figures."""
    return {
        "variant": "Pure DP" if card.get("delta") == 0 else "Approximate DP",
        "tuning": {
            "charged": True,
            "statement": "No parameter of this run was chosen by looking at the rows outside the mechanisms listed: "
            "the method's choices follow from public facts and from released noisy answers.",
        },
        "selection": selection("unstated"),
        "composition": "All mechanisms read the same rows and are composed together (sequential composition) by the "
        "accountant; the whole was charged to the ledger before the first row was read.",
        "randomness": {
            "privacy": Said("{}; never seeded by a user, never stored", Said(str(card.get("noise_source")))),
            "after_release": "initialisation and sampling use a seeded generator; they touch released values only",
        },
        "trust": "Central: one curator holds the rows and runs the mechanisms; readers of the release need no trust.",
        "side_channels": "The answer is released once, as files; nobody can query or time the mechanisms. Bounds "
        "and messages do not depend on values outside the public facts, and no answer follows the order of the rows.",
        "hazards": list(HAZARDS),
    }


def _invariants(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the guarantee does not protect because it was taken as public."""
    facts = card.get("public_facts", {})
    out: list[dict[str, Any]] = [
        {"what": "column names and their order", "columns": len(facts), "vouched": "part of the schema"}
    ]
    for source in ("public", "declared", "unconfirmed"):
        names = [n for n, s in facts.items() if s == source]
        if names:
            what = "kind, bounds, categories and missing codes"
            out.append({"what": what, "of": names, "vouched": CONFIRMED[source]})
    for name, reported in card.get("vouched_alone", {}).items():
        bounds = reported.get("bounds")
        what = (
            Said("a list of {} values, published word for word", reported["values"])
            if bounds is None
            else Said("bounds {} to {}", *bounds)
        )
        out.append({"what": what, "of": [name], "vouched": reported["reason"]})
    if card.get("rows", {}).get("source_count") == "public":
        out.append({"what": "number of rows of the source", "vouched": "public under this relation"})
    for name, why in (card.get("public_columns") or {}).items():
        out.append({"what": "the values of every row, in the order of the rows", "of": [name], "vouched": why})
    if card.get("constraints"):
        rules = len(card["constraints"])
        out.append({"what": Said("{} rules across columns", rules), "vouched": "declared in the schema"})
    return [*out, *given.invariants(card)]


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
    """What of a column is published because somebody confirmed it alone."""
    return {"values": len(column.categories)} if column.categories else {"bounds": [column.min, column.max]}


def _merged(events: Sequence[Event]) -> list[Event]:
    """Equal events as one with their number, in the order in which they were first asked."""
    result: dict[Event, Event] = {}
    for e in events:
        key = replace(e, count=1)
        result[key] = replace(e, count=e.count + (result[key].count if key in result else 0))
    return list(result.values())


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
) -> Card:
    """The card of a run; see docs/release.md for every field."""
    weight, columns = schema.weight, schema.all_columns
    about = Card(
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
            "meaning": meaning(epsilon, about=adjacency.whose, relation=str(adjacency.relation)),
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
    about |= _of_tree(schema.tree, adjacency, epsilon) if schema.tree is not None else {}
    return about


def _of_tree(schema: Dataset, adjacency: Adjacency, epsilon: float) -> dict[str, Any]:
    """What the card of several tables says beside, or otherwise; that of persons and their rows as of one table."""
    unit = schema.unit_in_words
    public = {n: p.model_dump(mode="json", exclude_none=True) for n, p in (schema.public or {}).items()}
    return {
        **({"relation_in_words": adjacency.words(unit, Said("keys of {}", schema.root))} if schema.several else {}),
        "meaning": meaning(epsilon, about=unit, relation=str(adjacency.relation)),
        "unit_in_words": unit,
        "keys": schema.keys_on_card,
        "linkage": LINKAGE if schema.several else Said(PERSONS_LINKAGE, schema.privacy_unit[0]),
        **({"public_tables": public} if public else {}),
    }


ASIDE = {"selection", "deployment", "registry", "verdict", *Card({})}  # what a card may add after it was stored
