"""The languages of pages, messages and reports: one catalogue of translations a language, in gettext's form.

English stands in the code; `synth/languages/de.po` has the German of each text. Code writes
``_("{n} rows").format(n=n)`` for a text of its own, ``Texts(...)`` for texts at the head of a
file, which are translated when read, and ``phrase(message)`` for a finished sentence of the library. What has no
translation stays English.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import c2py
from numbers import Real
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import polib

FOLDER: Final = Path(__file__).parent
NAMES: Final = {"en": "English", "de": "Deutsch"}
MARKED: Final = "marked"  # no language: each translated text stands in brackets, so that a test sees the others
_chosen: ContextVar[str] = ContextVar("language", default="")
_reader: list[Callable[[], str]] = []


def available() -> dict[str, str]:
    """Languages by code, with what their readers call them."""
    return {"en": "English"} | {p.stem: NAMES.get(p.stem, p.stem) for p in sorted(FOLDER.glob("*.po"))}


def nearest(wanted: str) -> str:
    """The language for somebody whose browser or system asks for this one.

    >>> nearest("en-GB"), nearest("xx")
    ('en', 'en')
    """
    code = wanted.replace("_", "-").split("-")[0].lower()
    return code if code in available() else "en"


def readers(ask: Callable[[], str]) -> None:
    """Lets ``ask`` say which language is current outside of ``spoken``: that of the application's visitor."""
    _reader[:] = [ask]


def current() -> str:
    """The language that is spoken here and now."""
    return _chosen.get() or (_reader[0]() if _reader else "en")


@contextmanager
def spoken(code: str) -> Iterator[None]:
    """All texts within in this language."""
    token = _chosen.set(code)
    try:
        yield
    finally:
        _chosen.reset(token)


def as_now(deed: Callable[..., Any]) -> Callable[..., Any]:
    """The deed, done later or in another thread in the language that is spoken now."""
    code = current()

    def done(*arguments: Any, **options: Any) -> Any:
        with spoken(code):
            return deed(*arguments, **options)

    return done


class _Writer(Formatter):
    """Fills places; a number gets the marks of the language spoken."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        text = super().format_field(value, format_spec)
        return numerals(text) if isinstance(value, Real) and not isinstance(value, bool) else text


class _Foreign(str):
    """A text in another language than English."""

    __slots__ = ()

    def format(self, *values: Any, **named: Any) -> str:
        return _Writer().vformat(self, values, named)


def translated(text: str) -> str:
    """A text that stands in the code so, placeholders and all, in the current language; numbers that are put into its
    places are written as in that language."""
    code = current()
    if code == "en" or not text:
        return text
    return f"⟦{text}⟧" if code == MARKED else _Foreign(_catalogue(code).get(text, text))


_ = translated


def ngettext(one: str, many: str, n: int) -> str:
    """A text for a number of things, with the number in the place ``{n}``.

    >>> ngettext("{n} run", "{n} runs", 1), ngettext("{n} run", "{n} runs", 2000)
    ('1 run', '2,000 runs')
    """
    code = current()
    text = one if n == 1 else many
    if code == MARKED:
        text = f"⟦{text}⟧"
    elif code != "en":
        which, forms = _plurals(code)
        text = forms.get(one, {}).get(which(n), text)
    filled = text.replace("{n}", numerals(f"{n:,}"))
    return filled if code in ("en", MARKED) else _Foreign(filled)


def phrase(message: str) -> str:
    """A finished sentence of the library, whose places are filled already, in the current language."""
    code = current()
    if code == "en" or not message:
        return message
    if code == MARKED:
        return f"⟦{message}⟧" if _phrase("de", message) != message else message
    return _phrase(code, message)


def _phrase(code: str, message: str, depth: int = 0) -> str:
    if (exact := _catalogue(code).get(message)) is not None:
        return exact
    if depth > 4:
        return message
    for fixed, names, target in _patterns(code):
        if (found := _between(fixed, message)) is not None:
            parts = [_phrase(code, g, depth + 1) if " " in g else g for g in found]
            filled = dict(zip(names, parts, strict=True))
            return _PLACE.sub(lambda m, filled=filled: filled.get(m[1], m[0]), target)  # type: ignore[misc]
    head, between, rest = message.partition(": ")  # a name, and what is said of it
    if between and (said := _phrase(code, rest, depth + 1)) != rest:
        return f"{head}: {said}"
    if message.endswith("."):
        return f"{_phrase(code, message[:-1], depth + 1)}."
    return message


def numerals(text: str) -> str:
    """A number that is written as in English, with the marks of the language spoken: the catalogue's header names them.

    >>> numerals("1,234.5")
    '1,234.5'
    """
    code = current()
    return text if code in ("en", MARKED) else text.translate(_marks(code))


def prose(message: str) -> str:
    """As ``phrase``, and the numbers in what was translated with the marks of the language spoken."""
    if (said := phrase(message)) == message or current() == MARKED:
        return said
    return _NUMBER.sub(lambda m: numerals(m[0]), said)


@cache
def _marks(code: str) -> dict[int, str]:
    about = _file(code).metadata
    return {ord("."): about.get("X-Decimal-Mark", "."), ord(","): about.get("X-Thousands-Mark", ",")}


_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w|[.,]\d)")
_PLACE = re.compile(r"\{(\w+)(?:![rsa])?(?::[^{}]*)?\}")


@cache
def _file(code: str) -> "polib.POFile":
    import polib

    return polib.pofile(str(FOLDER / f"{code}.po"))


@cache
def _catalogue(code: str) -> dict[str, str]:
    return {e.msgid: e.msgstr for e in _file(code) if e.msgstr and "fuzzy" not in e.flags}


@cache
def _plurals(code: str) -> tuple[Callable[[int], int], dict[str, dict[int, str]]]:
    """Which form a number takes, and the forms of each text that has some."""
    rule = _file(code).metadata["Plural-Forms"].split("plural=")[1].rstrip("; ")
    return c2py(rule), {e.msgid: e.msgstr_plural for e in _file(code) if e.msgid_plural}


@cache
def _patterns(code: str) -> list[tuple[list[str], list[str], str]]:
    """Texts with places, the longest first: what stands between the places, the places' names, the translation."""
    results = []
    for text, target in _catalogue(code).items():
        pieces = _PLACE.split(text)
        fixed, names = pieces[::2], pieces[1::2]
        if names and any(" " in piece.strip() for piece in fixed):
            results.append((fixed, names, target))
    return sorted(results, key=lambda f: -len("".join(f[0])))


def _between(fixed: list[str], message: str) -> list[str] | None:
    """What stands in the places of a text; None for another text. Each piece is met where it first stands.

    No later meeting could do better, so nothing is tried twice: the time is the message's length times the pieces.

    >>> _between(["column ", ": ", " rows"], "column a: b: 3 rows")
    ['a', 'b: 3']
    """
    if not (message.startswith(fixed[0]) and message.endswith(fixed[-1])):
        return None
    at, found = len(fixed[0]), []
    for piece in fixed[1:-1]:
        if (there := message.find(piece, at)) < 0:
            return None
        found.append(message[at:there])
        at = there + len(piece)
    end = len(message) - len(fixed[-1])
    return [*found, message[at:end]] if at <= end else None


class Texts(Mapping[Any, Any]):
    """A table of texts at the head of a file: what is read from it is translated then.

    >>> Texts({1: ("One row", "icon")})[1], Texts(rows="Rows")["rows"]
    (('One row', 'icon'), 'Rows')
    """

    def __init__(self, texts: Mapping[Any, Any] = {}, /, **named: Any) -> None:
        self._texts = {**texts, **named}

    def __getitem__(self, key: Any) -> Any:
        return _deep(self._texts[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def _deep(value: Any) -> Any:
    if isinstance(value, str):
        return translated(value)
    if isinstance(value, tuple):
        return tuple(map(_deep, value))
    if isinstance(value, list):
        return [_deep(v) for v in value]
    return {k: _deep(v) for k, v in value.items()} if isinstance(value, dict) else value
