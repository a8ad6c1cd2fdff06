"""The languages of pages, messages and reports: one catalogue of translations a language, in gettext's form.

English stands in the code; `synth/languages/de.po` has the German of each text. Pages and reports write
``_("{n} rows").format(n=n)`` for a text of their own, and ``Texts(...)`` for texts at the head of a file, which are
translated when read. The library says ``Said("{} rows", n)``, as its errors do, and whoever shows it
``prose(message)``. What has no translation stays English.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from decimal import Decimal
from functools import cache
from gettext import c2py
from numbers import Number
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


@cache  # every text of a page asks which language is spoken
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
        return numerals(text) if isinstance(value, Number) and not isinstance(value, bool) else text


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


def numerals(text: str) -> str:
    """A number that is written as in English, with the marks of the language spoken: the catalogue's header names them.

    >>> numerals("1,234.5")
    '1,234.5'
    """
    code = current()
    return text if code in ("en", MARKED) else text.translate(_marks(code))


class Said(str):
    """A message in English that can be said in any language: its text, with a place for each value, and the values.

    A text stands in the code so. A value is a number, a name, which stays as it is, or ``Said`` itself; that of an
    error is its message, and of the system's what the system says of it, without the path.

    >>> message = Said("column {}: {:,} rows", "age", 1234)
    >>> message, message.text, message.values
    ('column age: 1,234 rows', 'column {}: {:,} rows', ('age', 1234))
    """

    __slots__ = ("text", "values")
    text: str
    values: tuple[Any, ...]

    def __new__(cls, text: str, *values: object) -> "Said":
        held = tuple(map(_held, values))
        made = super().__new__(cls, text.format(*held) if held else text)
        made.text, made.values = text, held
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Said, (self.text, *self.values)


def _held(value: Any) -> str | Number:
    if isinstance(value, OSError):
        return value.strerror or type(value).__name__
    if isinstance(value, Exception) and value.args and isinstance(value.args[0], str):
        return value.args[0]
    value = value.item() if getattr(value, "shape", None) == () else value  # a number of numpy
    return value if isinstance(value, str | Number) else str(value)


def joined(between: str, messages: Iterable[object]) -> Said:
    """Several messages one after another.

    >>> joined("; ", ["a", Said("{} b", 2)])
    'a; 2 b'
    """
    listed = tuple(messages)
    return Said(between.join(["{}"] * len(listed)), *listed)


PLACES: Final = re.compile(r"(?:[^{}]|{{|}}|{(?:!r)?(?::,?(?:\.\d\d?)?[a-z%]?)?})*")  # no other is read from a file


def with_said(plain: Mapping[str, Any]) -> dict[str, Any]:
    """JSON data that ``as_said`` reads again: ``said`` has by its English the text and values of each message in it.

    >>> with_said({"a": Said("{} rows", 2)})
    {'a': '2 rows', 'said': {'2 rows': ['{} rows', 2]}}
    """
    found = _found(plain)
    return {**plain, **({"said": found} if found else {})}


def _found(plain: Any) -> dict[str, Any]:
    if isinstance(plain, Said):
        return {str(plain): _parts(plain)} if plain.values else {}
    parts = plain.values() if isinstance(plain, Mapping) else plain if isinstance(plain, list | tuple) else ()
    return {english: said for part in parts for english, said in _found(part).items()}


def _parts(said: Said) -> list[Any]:
    plain = (float(v) if isinstance(v, Decimal) else v for v in said.values)
    return [said.text, *(_parts(v) if isinstance(v, Said) else v for v in plain)]


def as_said(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What ``with_said`` made: each text that its ``said`` explains is ``Said`` again; what explains none is ignored.

    >>> as_said(with_said({"a": Said("{} rows", 2)}))["a"].values
    (2,)
    """
    table = {}
    for english, parts in dict(plain.get("said") or {}).items():
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            if (said := _made(parts)) == english:
                table[english] = said
    return {name: _again(part, table) for name, part in plain.items() if name != "said"}


def _made(parts: Any) -> Said:
    text, *values = parts
    if not PLACES.fullmatch(text):
        raise ValueError("another form of place")
    return Said(text, *(_made(v) if isinstance(v, list) else v for v in values))


def _again(plain: Any, table: Mapping[str, Said]) -> Any:
    if isinstance(plain, Said) or not table:
        return plain
    if isinstance(plain, str):
        return table.get(plain, plain)
    if isinstance(plain, Mapping):
        return {name: _again(part, table) for name, part in plain.items()}
    return [_again(part, table) for part in plain] if isinstance(plain, list | tuple) else plain


def prose(message: str) -> str:
    """A text of the library in the language spoken, with its values: what was ``Said``, or stands in the code so."""
    code = current()
    if code == "en" or not message:
        return message
    text, values = (message.text, message.values) if isinstance(message, Said) else (message, ())
    told = _catalogue("de" if code == MARKED else code).get(text)
    if code == MARKED:
        told = told and f"⟦{text}⟧"
    named = [prose(v) if isinstance(v, Said) else v for v in values]
    return _Foreign(told or text).format(*named) if values else told or text


@cache
def _marks(code: str) -> dict[int, str]:
    about = _file(code).metadata
    return {ord("."): about.get("X-Decimal-Mark", "."), ord(","): about.get("X-Thousands-Mark", ",")}


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
