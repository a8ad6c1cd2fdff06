"""What the library says in English, on a page in the language spoken: verdicts, advice, lists of names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from synth.errors import UsageError, meant
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


@contextmanager
def written(language: str | None) -> Iterator[None]:
    """Pages within are in this language; None: in the one that is spoken already.

    Errors: UsageError for a language without a catalogue.
    """
    code = language or spoken_now()
    if code not in (*available(), MARKED):
        raise UsageError("`language={}` is unknown; {}", language, meant(code, list(available())))
    with spoken(code):
        yield


def unit(about: Mapping[str, Any]) -> str:
    """The unit of privacy in words."""
    if "unit_in_words" in about or about["unit"] == "row":
        return prose(about.get("unit_in_words", "one row"))
    return _("one person ({column}), with at most {most} rows").format(
        column=about["unit"], most=about["max_rows_of_a_unit"]
    )


def both(names: Iterable[str]) -> str:
    """Two names or more, joined in words."""
    return _(" and ").join(names)


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
