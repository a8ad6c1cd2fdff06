"""What a guess about one unit can rise to, in plain sentences: whose rows, which guess, and but for which accident."""

from collections.abc import Mapping
from math import exp
from typing import Any

from synth.release.card.card import odds, of_persons, whose

MADE_UP = (
    "no row was copied from the private table: each was drawn from a model of noisy answers, and where one "
    "is like a real row, or equal to it, that is by chance"
)


def guesses(card: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """What somebody may guess with an even chance, how sure of it the release can make them, and but for which chance.

    (epsilon, delta) is no worse than to give everything away with probability delta and else to keep to epsilon alone.
    Where a unit comes or goes, two contents of it are two steps apart, one out and one in: P(S) <= e^epsilon R(S) +
    delta and R(S) <= e^epsilon Q(S) + delta make (2 epsilon, (1 + e^epsilon) delta).

    **Source**: Kairouz, Oh and Viswanath, arXiv 1311.0776, theorem 3.2.

    Privacy: public only.

    >>> told = {"epsilon": 1.0, "delta": 1e-6, "unit": "row", "relation": "add_remove"}
    >>> [(what.split()[0], round(sure, 2), round(accident, 7)) for what, sure, accident in guesses(told)]
    [('whether', 0.73, 1e-06), ('which', 0.88, 3.7e-06)]
    """
    epsilon, delta = float(card["epsilon"]), float(card["delta"])
    unit = "one " + whose(card).removeprefix("one ")
    of_two = f"which of two things the private table says of {unit}"
    if card["relation"] == "replace_one":
        return [(of_two, odds(epsilon), delta)]
    whether = f"whether {unit} was used at all"
    return [(whether, odds(epsilon), delta), (of_two, odds(2 * epsilon), min(1.0, (1 + exp(epsilon)) * delta))]


def sentences(card: Mapping[str, Any]) -> list[str]:
    """The guesses, whose rows they are about, and what they leave out. **Guarantee**: public facts of the card.

    Privacy: public only.
    """
    reported = [
        f"A guess of 50:50 {what} can rise to at most {share(sure)} by all that is here, but for a probability of "
        f"{accident:.2g}, with which the protection may fail."
        for what, sure, accident in guesses(card)
    ]
    if of_persons(card):
        about = f"What is protected is {whose(card)}: somebody who stands under several keys is protected less."
    elif "keys" in card:
        about = f"What is protected is {whose(card)}: somebody who stands under several such rows is protected less."
    elif card["unit"] == "row":
        about = "What is protected is a row: a person with several rows is protected less."
    else:
        most = card["max_rows_of_a_unit"]
        about = f"What is protected is a person ({card['unit']}), of whom at most {most} rows were used."
    return [*reported, about]


def share(probability: float) -> str:
    """In percent.

    >>> share(0.7311), share(0.999955)
    ('73.1 %', '99.9955 %')
    """
    return f"{100 * probability:.{3 if probability < 0.9949 else 6}g} %"
