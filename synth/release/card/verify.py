"""Derives a card's epsilon again from its mechanisms, by a computation of its own, and finds every mismatch.

Gaussian mechanisms are not composed by the accountant that made the card but from the formula: mu^2 is the sum of
count (sensitivity / sigma)^2, and delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (arXiv 1805.06530).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, expm1, inf, isfinite, log, sqrt
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from synth.errors import InputError, SynthError, reading
from synth.files import regular_files
from synth.files.regular_files import is_file
from synth.languages import Said
from synth.lazy import Lazy
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import event
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK
from synth.privacy.relation import Adjacency, Relation
from synth.release import folder
from synth.release.card import choice, given
from synth.release.card.card import Card
from synth.release.card.model import Form
from synth.schema import areas
from synth.schema import table as schemas
from synth.schema.dataset import persons_in_words, unit_as_it_was, unit_in_words
from synth.schema.enforcement import compiled
from synth.schema.published_totals import disagreements, stated
from synth.schema.table import Schema, below

optimize = Lazy("scipy.optimize")
special = Lazy("scipy.special")

TOLERANCE = 1e-6  # relative; inversions of the profile differ by less
LEARNING = "schema learning"
MOST_LOSS = 200.0  # of all mechanisms together, where losses are listed in steps of a ten-thousandth
LISTED = ("subsampled_gaussian", "sampled, replaced")  # kinds of mechanisms composed by lists of losses
PURE = ("exponential", "pure", "laplace")  # kinds of mechanisms that need no delta


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A card that holds: what it claims and what was derived from its mechanisms."""

    epsilon: float
    delta: float
    epsilon_derived: float
    mechanisms: int

    def plain(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"ok": True, **asdict(self)}


def load(path: str | Path) -> Card:
    """A card file (or the folder that holds card.json) of the ``path``, of the right form. Errors: InputError.

    Privacy: released answers only.
    """
    place = Path(path)
    place = place / "card.json" if place.is_dir() else place
    try:
        plain = json.loads(regular_files.text(place))
    except OSError as error:
        raise InputError("{}: {}; name a card.json or its folder", place, error) from None
    except (ValueError, RecursionError):
        raise InputError("{}: not a card (not JSON); use another copy", place) from None
    if not isinstance(plain, dict):
        raise InputError("{}: not a card (no JSON object); use another copy", place)
    with reading(place, "card"):
        return Card(plain)


@reading("card", "card")
def check(card: Mapping[str, Any] | str | Path) -> Checked:
    """Derives a card's epsilon again from its mechanisms. ``card``: as ``load`` returns it, or what ``load`` reads.

    Errors: InputError, one line, for the first thing in the card that does not hold.

    Privacy: released answers only.
    """
    about = Card(card) if isinstance(card, Mapping) else load(card)
    try:
        Form.model_validate(about)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(p) for p in fault["loc"])
        raise InputError("the card does not hold: {}: {}", where, fault["msg"]) from None
    for problem in problems(about):
        raise InputError("the card does not hold: {}", problem)
    if not isinstance(card, Mapping):
        place = Path(card) if Path(card).is_dir() else Path(card).parent
        for problem in problems_beside(about, place):
            raise InputError("the card does not hold: {}", problem)
    return Checked(
        epsilon=about["epsilon"],
        delta=about["delta"],
        epsilon_derived=_whole(about),
        mechanisms=sum(m["count"] for m in about["mechanisms"]),
    )


def problems(about: Card) -> Iterator[str]:
    """Yields a sentence for each claim that the mechanisms do not bear out."""
    if about.get("preview"):
        yield "it is of a preview, made of public rows only; run on the private table for a release"
    yield from choice.problems(about)
    yield from given.problems(about)
    yield from _mechanism_problems(about)
    epsilon, derived = about["epsilon"], _whole(about)
    if derived > epsilon * (1 + TOLERANCE):
        yield Said(
            "its mechanisms give epsilon {:.6g} at delta {:g}, above the {:g} it claims",
            derived,
            about["delta"],
            epsilon,
        )
    stated = about["epsilon_derived"]
    if abs(stated - derived) > max(TOLERANCE * derived, 1e-9):
        yield Said("it states a derived epsilon of {:.9g}, but its mechanisms give {:.9g}", stated, derived)
    if about["meaning"] not in about.meanings:
        yield Said("its plain-language meaning is not that of epsilon {:g}", epsilon)
    if about["exportable"] and "SEEDED" in about["noise_source"].upper():
        yield "its noise was seeded, so it protects nothing, yet it is marked exportable"
    yield from _reserve_problems(about)
    yield from _tables_problems(about)


def problems_beside(card: Card, place: Path) -> Iterator[str]:
    """A sentence for each level of areas and each table of totals that the synthetic table beside the card breaks.

    ``place``: the release's folder; nothing is said where the table or its schema is not there.

    Privacy: released answers only.
    """
    table, schema = place / "synthetic.csv", place / "schema.json"
    if (card.get("areas") or card.get("totals")) and is_file(table) and is_file(schema):
        facts = schemas.load(schema)
        yield from _areas_broken(card, facts, table) if card.get("areas") else ()
        yield from _totals_broken(facts, table) if card.get("totals") else ()


def _areas_broken(card: Card, facts: Schema, table: Path) -> Iterator[str]:
    if given.areas_on_card(facts) != {"areas": card["areas"]}:
        yield "the tree of areas that it names is not that of the schema beside it"
        return
    rows = folder.read_positions(table, facts, {n for r in areas.rules(facts.columns) for n in (r.child, r.parent)})
    for rule in areas.rules(facts.columns):
        known = rows[rule.child] >= 0
        own = {n: p[known] for n, p in rows.items()}
        if off := int((~known).sum() + compiled(rule, facts.columns).broken(own).sum()):
            yield Said(
                "{:,} rows of the table beside it have an area of {} outside its own of {}",
                off,
                rule.child,
                rule.parent,
            )


def _totals_broken(facts: Schema, table: Path) -> Iterator[str]:
    if (totals := stated(facts, rules=False)) is None:
        yield "it names published totals, but the schema beside it has none"
        return
    rows = folder.read_positions(table, facts, totals.columns)
    count = len(rows[totals.columns[0]])
    if name := next((n for n, places in rows.items() if (places < 0).any()), None):
        yield Said("the table beside it has values of {} that the schema does not know", name)
    elif count != totals.num_rows:
        yield Said("its totals count {:,} rows, the table beside it has {:,}", totals.num_rows, count)
    else:
        yield from disagreements(totals, rows)


def _tables_problems(about: Card) -> Iterator[str]:
    """Of related tables: a bound for each key, and no mechanism to which a root counts less than wholly."""
    if "keys" not in about:
        return
    least = _factor(Adjacency(relation=Relation(about["relation"]), unit=about["unit"]))
    keys = about["keys"]
    if not isinstance(keys, list) or not keys or not all(_bounded(k) for k in keys):
        yield "a key of its tables has no bound on the children of one parent"
    elif about["unit"] in {k["child"] for k in keys} or about["unit"] not in {k["parent"] for k in keys}:
        yield Said("its unit {} is not the root of its tables", about["unit"])
    else:
        tables = below(about["unit"], [(k["parent"], k["child"]) for k in keys])
        known = (unit_in_words(tables), *unit_as_it_was(tables), persons_in_words(about["unit"]))
        if about.get("unit_in_words") not in known:
            yield "its unit in words is not that of its keys"
    for m in about["mechanisms"]:
        if m["sensitivity"] < least * (1 - TOLERANCE):
            yield (
                Said(
                    "mechanism {!r} has sensitivity {:g}, but one root under {} moves weighted tables by {:.4g}",
                    m["name"],
                    m["sensitivity"],
                    about["relation"],
                    least,
                )
            )


def _bounded(key: Any) -> bool:
    return (
        isinstance(key, Mapping)
        and isinstance(key.get("most_children"), int)
        and key["most_children"] >= 1
        and all(isinstance(key.get(n), str) for n in ("parent", "child"))
    )


def _mechanism_problems(about: Card) -> Iterator[str]:
    adjacency = Adjacency(
        relation=Relation(about["relation"]), unit=about["unit"], max_rows=about["max_rows_of_a_unit"]
    )
    if adjacency.by_row and adjacency.max_rows != 1:
        yield "its unit is a row, yet it speaks of several rows of a unit"
    least = float(adjacency.max_rows)
    for m in about["mechanisms"]:
        if (m.get("sigma") is None) == (m.get("scale") is None):
            yield Said("mechanism {!r} needs either sigma (Gaussian) or scale (Laplace)", m["name"])
        elif "counts" in m["mechanism"] and m["sensitivity"] < least * _factor(adjacency) * (1 - TOLERANCE):
            yield (
                Said(
                    "mechanism {!r} has sensitivity {:g}, but {:g} rows of a unit under {} move counts by {:.4g}",
                    m["name"],
                    m["sensitivity"],
                    least,
                    adjacency.relation,
                    least * _factor(adjacency),
                )
            )


def _factor(adjacency: Adjacency) -> float:
    """By how much one row can move a table of counts, in L2."""
    return sqrt(2) if adjacency.relation is Relation.REPLACE_ONE else 1.0


def _reserve_problems(about: Card) -> Iterator[str]:
    own = _own_delta(about)
    failing = sum(m.get("failure_delta", 0.0) * m["count"] for m in about["mechanisms"] if m["mechanism"] != LEARNING)
    set_aside = about["accountant"]["delta_reserved_for_thresholds"]
    if failing > set_aside * (1 + TOLERANCE):
        yield Said(
            "thresholds may fail with probability {:.3g}, but only {:.3g} of delta is set aside", failing, set_aside
        )
    retained = about["accountant"]["delta_reserved_for_sampler"]
    if abs(retained - (own - set_aside) * DELTA_SLACK) > TOLERANCE * own:
        yield "the part of delta kept for the noise generator is not that of its accountant"


def _own_delta(about: Card) -> float:
    learnt = float((about.get("of_which_schema") or {}).get("delta", 0.0))
    return float(about["delta"]) - choice.counted_elsewhere(about)[1] - learnt


def _whole(about: Card) -> float:
    """Epsilon of all mechanisms; to it are added a schema learnt before and what a choice rests on."""
    return choice.exact([_derived(about), choice.counted_elsewhere(about)[0]])


def _derived(about: Card) -> float:
    """Epsilon of the card's own mechanisms, with its schema's."""
    learnt = about.get("of_which_schema")
    own = [m for m in about["mechanisms"] if not learnt or m["mechanism"] != LEARNING]
    net = _own_delta(about) - about["accountant"]["delta_reserved_for_thresholds"]
    derived = derive(own, net) if own else 0.0
    if not learnt:
        return derived
    before = [m for m in about["mechanisms"] if m["mechanism"] == LEARNING]
    failing = sum(m.get("failure_delta", 0.0) * m["count"] for m in before)
    again = derive(before, learnt["delta"] - failing) if before else 0.0
    claimed = learnt["epsilon"]
    return derived + (claimed if again <= claimed * (1 + TOLERANCE) else again)


def derive(mechanisms: Sequence[Mapping[str, Any]], delta: float) -> float:
    """Epsilon of mechanisms at this delta, the reserves of the noise generator included. Errors: InputError.

    >>> round(derive([{"name": "a", "sensitivity": 1, "sigma": 3.7355, "count": 1}], 1e-5), 3)
    1.0
    """
    if delta < 0 or (delta == 0 and not all(m.get("kind") in PURE for m in mechanisms)):
        raise InputError("the card does not hold: its parts take more than all of delta")
    if all(m.get("kind", "gaussian") == "gaussian" and m.get("scale") is None for m in mechanisms):
        mu = sqrt(sum(m["count"] * (m["sensitivity"] / m["sigma"]) ** 2 for m in mechanisms))
        return _gaussian(mu, delta * (1 - DELTA_SLACK)) / (1 - EPSILON_SLACK)
    if sum(map(_loss, mechanisms)) > MOST_LOSS:  # losses are listed in steps: counted before room is taken for them
        raise InputError("the card does not hold: its mechanisms tell more than any epsilon of use; lower their counts")
    if any(m.get("scale") is not None for m in mechanisms):
        return _with_laplace(mechanisms, delta)
    try:
        return epsilon_of([event(m) for m in mechanisms], delta)
    except (ValueError, KeyError, TypeError, SynthError):
        raise InputError("the card does not hold: it names a mechanism that cannot be composed") from None


def _loss(m: Mapping[str, Any]) -> float:
    """About the largest privacy loss that is listed for a mechanism: ten deviations beyond the mean."""
    count = m["count"]
    if m.get("scale") is not None:
        ratio = m["sensitivity"] / m["scale"]
        return float(min(count * ratio, count * ratio**2 / 2 + 10 * ratio * sqrt(count)))
    ratio, rate = m["sensitivity"] / m["sigma"], 1.0
    if m.get("kind") in LISTED:
        ratio, rate = ratio * (2 if m["kind"] == LISTED[1] else 1), float(m.get("rate", 1.0))
    elif m.get("kind", "gaussian") != "gaussian":
        return 0.0
    whole = count * min(ratio**2, rate**2 * expm1(min(ratio**2, 500.0)))
    return max(ratio**2 / 2 + 10 * ratio, whole / 2 + 10 * sqrt(whole))


def _gaussian(mu: float, delta: float) -> float:
    """The smallest epsilon at which a mu-GDP mechanism has at most this delta."""

    def over(epsilon: float) -> float:
        first, second = special.log_ndtr(mu / 2 - epsilon / mu), epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)
        return exp(first) - exp(second) - delta

    if over(0.0) <= 0:
        return 0.0
    high = mu * mu / 2 + mu * sqrt(2 * log(1 / delta)) + 1
    return float(optimize.brentq(over, 0.0, high, xtol=1e-12, rtol=1e-12))


def _with_laplace(mechanisms: Sequence[Mapping[str, Any]], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    whole = None
    for m in mechanisms:
        made = (
            pld.from_laplace_mechanism(m["scale"], sensitivity=m["sensitivity"])
            if m.get("scale") is not None
            else pld.from_gaussian_mechanism(m["sigma"], sensitivity=m["sensitivity"])
        )
        made = made.self_compose(m["count"])
        whole = made if whole is None else whole.compose(made)
    result = float(whole.get_epsilon_for_delta(delta * (1 - DELTA_SLACK))) if whole is not None else 0.0
    return result / (1 - EPSILON_SLACK) if isfinite(result) else inf
