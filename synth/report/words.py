"""What the library says in English, on a page in the language spoken: verdicts, advice, lists of names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from synth.errors import UsageError, meant
from synth.evaluate.rating import CARE, GOOD, NOT, Use, Uses
from synth.languages import MARKED, Texts, _, available, numerals, prose, spoken
from synth.languages import current as spoken_now

NUMBER = r"-?\d[\d.,:/TZ e+-]*"
GROUPS = Texts({"to": "{0} to {1}", "up to": "up to {0}", "and above": "{0} and above", "missing": "{0} (missing)"})
AS_WRITTEN = {  # how the library writes groups of numbers and dates, and values that stand for a missing one
    "to": re.compile(f"({NUMBER}) to ({NUMBER})"),
    "up to": re.compile(f"up to ({NUMBER})"),
    "and above": re.compile(f"({NUMBER}) and above"),
    "missing": re.compile(r"(.*) \(missing\)"),
}
LEVELS = Texts({GOOD: ("Good for",), CARE: ("Usable with care for",), NOT: ("Not for",)})


@contextmanager
def written(language: str | None) -> Iterator[None]:
    """Pages within are in this language; None: in the one that is spoken already.

    Errors: UsageError for a language without a catalogue.
    """
    code = language or spoken_now()
    if code not in (*available(), MARKED):
        raise UsageError(f"`language={language}` is unknown; {meant(code, list(available()))}")
    with spoken(code):
        yield


def advice(words: str) -> str:
    """What a figure means for use: the advice, and its reason."""
    return ": ".join(prose(part) for part in words.split(": ", 1))


def use_of(one: Use) -> str:
    """What a table is or is not good for."""
    head, between, about = one.use.partition("relations: ")
    return _("relations: {about}").format(about=prose(about)) if between and not head else prose(one.use)


def unit(about: Mapping[str, Any]) -> str:
    """The unit of privacy in words."""
    if "unit_in_words" in about:
        return prose(str(about["unit_in_words"]))
    if about["unit"] == "row":
        return _("one row")
    return _("one person ({column}), with at most {most} rows").format(
        column=about["unit"], most=about["max_rows_of_a_unit"]
    )


def level(name: str) -> str:
    """One of ``LEVELS`` as a heading."""
    return str(LEVELS[name][0])


def reason(use: Use) -> str:
    """What decided, what the verdict does not hold for, and what to do. ``use``: one of a verdict's.

    Privacy: released answers only, or reads rows, exact, as the verdict does.
    """
    kinds = ((_("not for {parts}"), use.but), (_("with care for {parts}"), use.care))
    lines = [said.format(parts=", ".join(map(_named, parts))) for said, parts in kinds if parts]
    todo = [_("to do: {remedy}").format(remedy=prose(use.remedy))] if use.remedy else []
    return "; ".join([prose(use.why), *lines, *map(prose, use.parts), *todo])


def _named(part: str) -> str:
    """A part's name and, in brackets, why it is left out."""
    name, between, why = part.rpartition(" (")
    return f"{names(name)} ({prose(why.removesuffix(')'))})" if between else prose(part)


def shown(use: Use) -> tuple[str, str]:
    """The figure and a second real sample's."""
    one, other = (numerals(v.removeprefix("up to ")) for v in use.shown)
    return (_("up to {value}").format(value=one) if use.at_most else one), other


def sentence(use: Use) -> str:
    """The use with its figure and the reason."""
    value, second = shown(use)
    beside = "" if use.second is None else _("; a second real sample: {second}").format(second=second)
    figures = "" if use.value is None else f" ({value} {prose(use.measure)}{beside})"
    return f"{use_of(use)}{figures}: {reason(use)}"


def lines(said: Uses) -> list[tuple[str, ...]]:
    """A verdict as a table: the level, what for, the figure, a second sample's, and the reason."""
    return [(level(u.level), use_of(u), *shown(u), reason(u)) for u in said.uses]


def stored(use: Mapping[str, Any]) -> str:
    """As ``sentence``, of a use as a card holds it."""
    try:
        return sentence(Use(**{n: v for n, v in use.items() if n != "sentence"}))
    except TypeError:  # of an earlier version's card
        return prose(str(use["sentence"]))


def both(names: Iterable[str]) -> str:
    """Two names or more, joined in words."""
    return _(" and ").join(names)


def names(listed: str) -> str:
    """Columns of related tables as the library writes them, with what it says of the other of two rows."""
    return both(n.replace(" (of the other)", " " + _("(of the other)")) for n in listed.split(" and "))


def between(low: object, high: object) -> str:
    """A range of figures."""
    return _("{low} to {high}").format(low=low, high=high)


def group(label: str) -> str:
    """A group of values as the library writes it; any other label stays as it is.

    >>> group("18 to 24"), group("from A to B")
    ('18 to 24', 'from A to B')
    """
    if label == "(empty)":
        return _("(empty)")
    for name, form in AS_WRITTEN.items():
        if match := form.fullmatch(label):
            return str(GROUPS[name]).format(*match.groups())
    return label


def days(value: str) -> str:
    """A figure, of dates perhaps in days, or a day; that stays as it is written."""
    if value.endswith(" days"):
        return _("{n} days").format(n=numerals(value.removesuffix(" days")))
    return numerals(value)
