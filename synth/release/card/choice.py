"""The card of a release that was chosen among several: it counts all of them and what the choice itself cost.

The proof that the sum covers the chosen release stands in privacy/accounting/chosen.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from synth.errors import UsageError
from synth.languages import Said
from synth.privacy.accounting.guarantee import Guarantee, exact
from synth.release.card.card import TOTALS, Card, selection

RUN, CHOICE = "run", "choice"
COUNTED = ("private", "all", "releases", "unstated")  # ways of choosing that cost every candidate
MUST = ("private", "all")  # a card that says so and counts nothing was made before this rule
TOLERANCE = 1e-6  # relative
STATEMENT = (
    "The guarantee counts every run that the choice could fall on and what was paid to choose: their sum, which holds "
    "however a run was asked for after the results of others. It holds as long as neither the settings of a run nor "
    "the questions of the choice followed from a comparison with the real rows."
)


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A line of the ledger that the choice rests on: another candidate's, or the choice's own (``what``)."""

    number: int
    hash: str
    guarantee: Guarantee
    what: str = RUN

    @property
    def epsilon(self) -> float:
        """What it cost."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """As ``epsilon``."""
        return self.guarantee.delta

    def plain(self) -> dict[str, Any]:
        """As a card counts it: its unit, relation and public columns are the card's own."""
        return {n: getattr(self, n) for n in ("number", "hash", "epsilon", "delta", "what")}


def chosen(card: Card, how: str, charges: Sequence[Charge] = (), tables: Sequence[str] = ()) -> Card:
    """The card of a release chosen in this way among candidates with these charges; an earlier statement is replaced.

    ``tables``: SHA-256 of the candidates' synthetic tables, where they are known. Lines that the card counts already,
    its own and that of its schema, are passed over. Errors: UsageError for an unknown way, or a sum of deltas of 1;
    TypeError for a charge of another unit, relation or set of public columns.

    **Guarantee**: basic composition of everything the choice looked at (privacy/accounting/chosen.md).
    """
    own = card.own
    own["selection"] = selection(how)
    if how not in COUNTED:
        return own
    others = [c for c in sorted(set(charges), key=lambda c: c.number) if not counted(c, own)]
    whole = reduce(add, (c.guarantee for c in others), own.guarantee)
    derived = exact([own["epsilon_derived"], *(c.epsilon for c in others)])
    if whole.delta >= 1:
        raise UsageError(
            "the deltas of all candidates add up to 1 or more, which is no guarantee; release none of them"
        )
    own["selection"] |= {
        "of_which_this_run": {name: own[name] for name in TOTALS},
        "charges": [c.plain() for c in others],
        "tables": sorted(set(tables)),
        "statement": STATEMENT,
    }
    return own.costing(epsilon=whole.epsilon, delta=whole.delta, epsilon_derived=derived)


def counted(charge: Charge, card: Mapping[str, Any]) -> bool:
    """Whether a card counts a line of its ledger already, as its own or in full as that of its schema."""
    learnt = card.get("of_which_schema")
    return charge.number == int(card["ledger_entry"]["number"]) or (
        learnt is not None
        and pays(charge, learnt)
        and charge.epsilon <= learnt["epsilon"]
        and charge.delta <= learnt["delta"]
    )


def pays(line: Any, learnt: Mapping[str, Any]) -> bool:
    """Whether a ledger's line is the one that paid for a learnt schema: ledgers number their lines alike.

    Cards of earlier versions have no hash of it; then number and price must be the line's.
    """
    if line.number != learnt["ledger_entry"]:
        return False
    seal = learnt.get("ledger_hash")
    return bool(line.hash == seal if seal else (line.epsilon, line.delta) == (learnt["epsilon"], learnt["delta"]))


def counted_elsewhere(card: Card) -> tuple[float, float]:
    """Epsilon and delta of all that the card counts beside its own run."""
    return exact([c["epsilon"] for c in card.charges]), exact([c["delta"] for c in card.charges])


def problems(about: Card) -> Iterator[str]:
    """Yields a sentence for whatever in the card's statement of a choice does not hold."""
    reported = about["selection"]
    how, retained = reported["how"], reported.get("charges")
    if how in MUST and retained is None:
        yield (
            Said(
                "it was {}, but it counts its own run alone; state the choice again with `synth.bundle`",
                reported["in_words"],
            )
        )
    if retained is None:
        return
    numbers = [c["number"] for c in retained]
    if len(set(numbers)) < len(numbers) or about["ledger_entry"]["number"] in numbers:
        yield "it counts a line of the ledger twice"
    if how == "private" and not any(c["what"] == CHOICE for c in retained):
        yield "it says that a paid selection chose it, but does not count what that cost"
    if how not in COUNTED and retained:
        yield Said("it counts other candidates, yet says: {}", reported["in_words"])
    before = reported.get("of_which_this_run") or {}
    for name, more in zip(("epsilon", "delta"), counted_elsewhere(about), strict=True):
        whole = exact([before.get(name, 0.0), more])
        if abs(whole - about[name]) > TOLERANCE * whole:
            yield Said(
                "its {} is {:g}, but its own run and what the choice rests on add up to {:g}", name, about[name], whole
            )


def in_words(about: Card) -> list[tuple[str, str]]:
    """Rows for a page: what of the sum is the run's own, the other candidates' and the choice's."""
    if not about.charges:
        return []
    before = about["selection"]["of_which_this_run"]
    rows: list[tuple[str, str]] = [
        ("of which this run", Said("epsilon {:g}, delta {:g}", before["epsilon"], before["delta"]))
    ]
    for what, words in ((RUN, "of which other candidates"), (CHOICE, "of which the choice")):
        part = [c for c in about.charges if c["what"] == what]
        if part:
            lines = ", ".join(str(c["number"]) for c in part)
            rows.append(
                (
                    words,
                    Said(
                        "epsilon {:g}, delta {:g} (ledger {} {})",
                        exact([c["epsilon"] for c in part]),
                        exact([c["delta"] for c in part]),
                        Said("lines" if len(part) > 1 else "line"),
                        lines,
                    ),
                )
            )
    return rows
