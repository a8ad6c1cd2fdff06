"""One canonical form of a name: twins in disguise are one name, and what cannot be told apart is refused."""

import sys
import unicodedata

import pytest

from synth.errors import BudgetError, UsageError
from synth.privacy.ledger.ledger import Ledger
from synth.schema import names
from tests.faults.deeds import charge

SAME = [
    ("caf\u00e9", "cafe\u0301"),
    ("census", "Census"),
    ("census", "\uff43ensus"),
    ("stra\u00dfe", "STRASSE"),
    ("\ufb01les", "files"),
    ("a b", "a  b"),
    ("\u212bngstr\u00f6m", "\u00e5ngstr\u00f6m"),
    ("m\u00b2", "m2"),
    ("\u03c3\u03c2", "\u03a3\u03a3"),
    ("\u01c4x", "d\u017ex"),
    ("\u0130l", "i\u0307l"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_name_have_one_budget(tmp_path, one, other):
    assert names.canonical(one) == names.canonical(other)
    book = Ledger(tmp_path / "ledger.sqlite")
    book.set_policy(one, max_epsilon=0.4)
    book.spend(charge(one, 0.3))
    for attempt in (book.check, book.spend):
        with pytest.raises(BudgetError, match=r"remaining 0\.1"):
            attempt(charge(other, 0.3))
    assert len({t.dataset for t in book.summary()}) == 1
    assert book.policy(other).max_epsilon == 0.4


def test_the_canonical_form_of_every_character_is_a_fixed_point():
    """Each between letters; 256 of them in a text, since folding and composing look no further than to the next."""
    for start in range(0, sys.maxunicode + 1, 256):
        if not 0xD800 <= start < 0xE000:
            form = names.canonical("".join(f"a{chr(code)}b" for code in range(start, start + 256)))
            assert names.canonical(form) == form, hex(start)


UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u115f\u3164\uffa0\u034f\ufe0f\u180e\u2800\u00a0\u2003\U000e0061"


@pytest.mark.parametrize("sign", UNSEEN, ids=lambda c: f"{ord(c):04x}")
def test_a_character_that_cannot_be_seen_is_refused(sign):
    for text in (f"cen{sign}sus", f"census{sign}", f"{sign}census"):
        with pytest.raises(UsageError, match="that can be seen") as refused:
            charge(text)
        assert str(refused.value).isascii()


def test_every_character_that_unicode_calls_ignorable_by_its_kind_is_refused():
    kinds = {code: unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)}
    for code, kind in kinds.items():
        if kind in ("Cc", "Cf", "Zl", "Zp") or (kind in ("Cs", "Co") and code % 97 in (0, 96)):  # 139,516 of these
            with pytest.raises(UsageError):
                names.checked(f"a{chr(code)}b", "dataset")


ALIKE = [
    ("cop", "\u0441\u043e\u0440"),
    ("town-survey", "town\u2010survey"),
    ("o'neil", "o\u2019neil"),
    ("oxo", "\u03bf\u03c7\u03bf"),
    ("\u0441\u043e\u0440", "cop"),
    ("ons", "\u0585\u0578\u057f"),
    ("SUS", "\u054f\u054d\u054f"),
    ("hoq", "\u0570\u0585\u0563"),
]
OTHER_SCRIPTS = {
    "Lisu": "\ua4da\ua4f3\ua4d1",
    "Cherokee": "\u13df\u13ac\u13a2",
    "Cherokee, small": "\uab70\uab72",
    "Coptic": "\u2c9f\u2ca1",
    "Deseret": "\U00010404\U00010415",
    "Osage": "\U000104c2\U000104d2",
    "Vai": "\ua5aa\ua5f3",
}


@pytest.mark.parametrize("text", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS)
def test_a_script_that_names_are_not_written_in_is_refused_for_a_new_dataset(tmp_path, text):
    """Whole words of it may look like Latin ones."""
    with pytest.raises(UsageError, match="has letters that look like"):
        Ledger(tmp_path / "ledger.sqlite").spend(charge(text, 0.1))
    assert names.mixed(f"census {text}") is not None


def test_no_letter_that_names_are_written_in_looks_like_a_latin_one_unnoticed():
    """Letters of scripts with capitals look like Latin ones, and all that are left are compared by their looks."""
    capitals = {c for c in map(chr, range(0x250, 0x110000)) if c.lower() != c.upper() and c.isalpha()}
    letters = {letter for c in capitals if names.mixed(c) is None for letter in names.canonical(c) if letter.isalpha()}
    assert {unicodedata.name(c).split()[0] for c in letters} <= names.ALIKE | {"GEORGIAN", "MODIFIER"}


@pytest.mark.parametrize(("known", "twin"), ALIKE)
def test_a_name_that_looks_like_a_known_one_gets_no_budget_of_its_own(tmp_path, known, twin):
    book = Ledger(tmp_path / "ledger.sqlite")
    book.set_policy(known, max_epsilon=0.4)
    for attempt in (
        lambda: book.check(charge(twin, 0.1)),
        lambda: book.spend(charge(twin, 0.1)),
        lambda: book.set_policy(twin, max_epsilon=9),
    ):
        with pytest.raises(UsageError, match="looks like"):
            attempt()
    assert not book.known(twin)
    assert book.known(known)


@pytest.mark.parametrize("text", ["c\u0435nsus", "cens\u03c5s", "\u0421ensus", "pl\u0430n 2"])
def test_a_word_of_two_scripts_that_look_alike_is_refused_for_a_new_dataset(tmp_path, text):
    with pytest.raises(UsageError, match="mixes letters"):
        Ledger(tmp_path / "ledger.sqlite").spend(charge(text, 0.1))


WELCOME = [
    "\u041c\u043e\u0441\u043a\u0432\u0430.csv",
    "\u6771\u4eac\u30ab\u30d5\u30a7 2024",
    "\u0391\u03b8\u03ae\u03bd\u03b1 census",
    "na\u00efve",
    "/data/T\u00e9l\u00e9.csv.gz",
]


@pytest.mark.parametrize("text", WELCOME)
def test_names_in_any_script_are_welcome(tmp_path, text):
    assert Ledger(tmp_path / "ledger.sqlite").spend(charge(text, 0.1)).dataset == text


def test_small_capitals_look_like_the_letters_they_are():
    for letter, plain in zip(names.SMALL_CAPITALS, "abcdefghjkmnopqrstuvwyz", strict=True):
        assert names.double(f"{letter}census", [f"{plain}census"]) == f"{plain}census"
