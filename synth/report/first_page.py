"""The first page of every report, in plain words, for a board that decides: what it is, for whom, good for what, which
odds for one person, who approved. Computed from the card and the verdict; the figures come after it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from synth.evaluate.rating import LEVELS, Uses
from synth.evaluate.risks.chapter import OURS
from synth.release.card import limits, papers
from synth.release.card.card import whose

Answers = list[tuple[str, list[str]]]
UNSTATED = "Nobody has stated it."
TRIED = ("inference", "reconstruction")  # attacks on what is said of somebody


def answers(card: Mapping[str, Any], said: Uses, *, tried: Iterable[Any] = ()) -> Answers:
    """Questions of a board, each with its answers. ``said``: the verdict; ``tried``: attacks, as ``Finding``.

    Privacy: released answers only; with ``tried``: reads rows, exact: for the steward alone, never released.
    """
    own = card.get("deployment") or {}
    return [
        ("What is it?", _what(card, own)),
        ("What is it for?", [_stated(own, "intended_use")]),
        ("Who receives it?", [_stated(own, "recipients")]),
        ("What can it be used for?", _uses(said)),
        ("What can be found out about one person?", [*_presence(card), *_attacks(tried)]),
        ("Who answers for it?", _people(own)),
    ]


def _what(card: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    many = card.get("rows") or {}
    tables = many.get("tables")
    rows = f"{many.get('synthetic', 0):,} made-up rows" if tables is None else "made-up tables that belong together"
    if tables:
        rows += f" ({', '.join(f'{t}: {n:,} rows' for t, n in tables.items())})"
    of = f" in place of the private data “{card['dataset']}”" if card.get("dataset") else ""
    return [*([str(own["description"])] if own.get("description") else []), f"{rows}{of}: {limits.MADE_UP}."]


def _stated(own: Mapping[str, Any], name: str) -> str:
    return str(own.get(name) or UNSTATED)


def _uses(said: Uses) -> list[str]:
    """A line for each level, and what speaks against all."""
    lines = [f"{level.capitalize()} {'; '.join(u.use for u in said.at(level))}." for level in LEVELS if said.at(level)]
    never = "Not for anything about a single person, nor for rare cases and extremes, which noise hides on purpose."
    return [*([f"With care: {said.unsure}."] if said.unsure else []), *lines, never]


def _presence(card: Mapping[str, Any]) -> list[str]:
    """The odds of both guesses: of somebody's presence, and of what is said of them."""
    lines = []
    for what, sure, accident in limits.guesses(card):
        about = "Whether somebody is in the data" if what.startswith("whether") else "What the data say of somebody"
        lines.append(
            f"{about}: whoever thinks the chances even {what} can be at most {limits.share(sure)} sure after seeing "
            f"all of this, whatever else is known, but for an accident of {_rare(accident)}."
        )
    return [
        *lines,
        f"What is true of many people alike can still be guessed of one; it could be without that {whose(card)}, too.",
        limits.sentences(card)[-1],
    ]


def _rare(probability: float) -> str:
    """A small probability as people say it.

    >>> _rare(1e-05)
    '1 in 100,000'
    """
    return f"1 in {1 / probability:,.0f}" if probability > 0 else "no chance at all"


def _attacks(tried: Iterable[Any]) -> list[str]:
    """How often attackers guessed what is said of somebody, on rows that the run saw, beside rows it never saw."""
    return [
        f"Tried here ({f.attack}, the worst column): {100 * f.real.value:.0f} % of guesses were right"
        + ("" if f.control is None else f", {100 * f.control.value:.0f} % on people whom the run never saw")
        + f", {100 * f.baseline:.0f} % without any table: {f.reading}."
        for f in tried
        if f.attack.startswith(TRIED) and f.table == OURS
    ]


def _people(own: Mapping[str, Any]) -> list[str]:
    approved = papers.approval(own)
    named = [f"{papers.FIELDS[n].label}: {own[n]}." for n in ("controller", "contact", "legal_basis") if own.get(n)]
    return [f"Approved by {approved}." if approved else "Nobody has approved it yet.", *named]
