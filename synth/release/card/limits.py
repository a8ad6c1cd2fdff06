"""What a guess about one unit can rise to, in plain sentences: whose rows, which guess, and but for which accident."""

import re
from decimal import ROUND_CEILING, Context, Decimal
from math import exp
from typing import NamedTuple

from synth.languages import Texts, _, numerals, prose
from synth.release.card.card import Card, odds, one

MADE_UP = (
    "no row was copied from the private table: each was drawn from a model of noisy answers, and where one "
    "is like a real row, or equal to it, that is by chance"
)


PRESENCE = Texts(  # whether somebody's rows were used: told of anybody, and to the one whose they are
    {
        "theirs": "whether {unit} was used at all",
        "one row": "whether your row was used at all",
        "one person": "whether your rows were used at all",
        "key": "whether what belongs to you ({unit}) was used at all",
    }
)
CONTENT = Texts(
    {
        "theirs": "which of two things the private table says of {unit}",
        "one row": "which of two things the private table says of your row",
        "one person": "which of two things the private table says of you",
        "key": "which of two things the private tables say of what belongs to you ({unit})",
    }
)


class Guess(NamedTuple):
    """A guess about one ``unit`` with an even chance: of its ``presence``, else of which of two contents it has.

    ``sure``: how sure of it the release can make somebody; ``accident``: but for which chance.
    """

    unit: str
    presence: bool
    sure: float
    accident: float

    def what(self, *, yours: bool = False) -> str:
        """What is guessed, in the language spoken; ``yours``: told to the one whose rows it is about."""
        kind = next((k for k in ("one row", "one person") if re.match(rf"{k}($|,)", self.unit)), "key")
        texts = PRESENCE if self.presence else CONTENT
        return str(texts[kind if yours else "theirs"]).format(unit=prose(self.unit))

    def sentence(self, *, yours: bool = False) -> str:
        """The guess and its odds, in the language spoken; ``yours``: as of ``what``."""
        return _(
            "Whoever thinks the chances even {what} can be at most {sure} sure after seeing all of this, whatever else "
            "is known, but for an accident of {rare}."
        ).format(what=self.what(yours=yours), sure=numerals(share(self.sure)), rare=chance(self.accident))


def chance(probability: float) -> str:
    """A ``probability``, in [0, 1], in words that never tell it smaller than it is, in the language spoken.

    Privacy: public only.

    >>> chance(0.0), chance(1e-5), chance(0.0003001), chance(0.09), chance(0.1234)
    ('no chance at all', '1 in 100,000', '1 in 3,332', '1 in 11', '12.4 %')
    """
    if not probability:
        return _("no chance at all")
    if probability >= 0.1:
        return numerals(share(probability))
    return _("1 in {n}").format(n=numerals(f"{int(1 / _exactly(probability)):,}"))


def _exactly(probability: float) -> Decimal:
    return Decimal(repr(float(probability)))


def guesses(card: Card) -> list[Guess]:
    """What somebody may guess with an even chance, how sure of it the release can make them, and but for which chance.

    (epsilon, delta) is no worse than to give everything away with probability delta and else to keep to epsilon alone.
    Where a unit comes or goes, two contents of it are two steps apart, one out and one in: P(S) <= e^epsilon R(S) +
    delta and R(S) <= e^epsilon Q(S) + delta make (2 epsilon, (1 + e^epsilon) delta).

    **Source**: Kairouz, Oh and Viswanath, arXiv 1311.0776, theorem 3.2.

    Privacy: public only.

    >>> card = Card({"epsilon": 1.0, "delta": 1e-6, "unit": "row", "relation": "add_remove"})
    >>> [(told.what().split()[0], round(told.sure, 2), round(told.accident, 7)) for told in guesses(card)]
    [('whether', 0.73, 1e-06), ('which', 0.88, 3.7e-06)]
    """
    epsilon, delta = float(card["epsilon"]), float(card["delta"])
    unit = one(card.whose)
    if card["relation"] == "replace_one":
        return [Guess(unit, False, odds(epsilon), delta)]
    two = min(1.0, (1 + exp(epsilon)) * delta)
    return [Guess(unit, True, odds(epsilon), delta), Guess(unit, False, odds(2 * epsilon), two)]


def sentences(card: Card, *, yours: bool = False) -> list[str]:
    """The guesses, and last whose rows they are about and what they leave out, in the language spoken.

    ``yours``: the guesses told to the one whose rows they are about.

    **Guarantee**: public facts of the card. Privacy: public only.
    """
    unit, named = prose(card.whose), "keys" in card
    if named and card.of_persons:
        about = _("What is protected is {unit}: somebody who stands under several keys is protected less.")
    elif named:
        about = _("What is protected is {unit}: somebody who stands under several such rows is protected less.")
    elif card["unit"] == "row":
        about = _("What is protected is a row: a person with several rows is protected less.")
    else:
        about = _("What is protected is a person ({unit}), of whom at most {most} rows were used.")
        unit = card["unit"]
    return [
        *(g.sentence(yours=yours) for g in guesses(card)),
        about.format(unit=unit, most=card.get("max_rows_of_a_unit")),
    ]


def share(probability: float) -> str:
    """In percent, never told smaller than it is.

    >>> share(0.73106), share(0.999955), share(0.5)
    ('73.2 %', '99.9955 %', '50 %')
    """
    digits = Context(prec=3 if probability < 0.9949 else 6, rounding=ROUND_CEILING)
    percent = float(digits.create_decimal(100 * _exactly(probability)))
    return f"{percent:g} %"
