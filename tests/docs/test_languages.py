"""Every text of the code has its translation in every catalogue, with the same places for values."""

import ast
import re
import subprocess
import sys
import time
from pathlib import Path

import polib
import pytest

from synth import languages as language

PLACE = re.compile(r"\{\w[^{}]*\}")
ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = sorted(language.FOLDER.glob("*.po"))


def test_there_is_german():
    assert "de" in language.available()
    assert language.nearest("de-AT") == "de"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_a_catalogue_has_exactly_the_texts_of_the_code(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    result = subprocess.run(
        [sys.executable, "container/texts.py", str(copy)], capture_output=True, text=True, check=True
    )
    assert result.stdout == f"{path.name}: {len(polib.pofile(str(path)))} texts, 0 without a translation\n", (
        "make texts"
    )
    assert {e.msgid for e in polib.pofile(str(copy))} == {e.msgid for e in polib.pofile(str(path))}, "make texts"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_a_translation_has_the_places_of_its_text(path):
    for entry in polib.pofile(str(path)):
        for number, text in (entry.msgstr_plural or {0: entry.msgstr}).items():
            asked = entry.msgid_plural if number else entry.msgid
            assert set(PLACE.findall(text)) == set(PLACE.findall(asked)), entry.msgid
            assert (text[:1] == " ", text[-1:] == " ") == (entry.msgid[:1] == " ", entry.msgid[-1:] == " "), entry.msgid


def test_texts_counts_and_sentences_of_the_library_are_in_the_language_that_is_spoken():
    with language.spoken("de"):
        assert language._("Budget") == "Budget"
        assert language.ngettext("{n} run", "{n} runs", 1) == "1 Lauf"
        assert language.ngettext("{n} run", "{n} runs", 2000) == "2.000 Läufe"
        assert language.Texts({"a": ("Choose columns",)})["a"] == ("Spalten wählen",)
        message = "method mixture is unknown; choose mst"
        assert language.phrase(message).startswith("Verfahren mixture ist unbekannt; ")
        assert language.phrase("no such sentence anywhere") == "no such sentence anywhere"
    assert language._("Choose columns") == "Choose columns"


def test_numbers_in_prose_have_the_marks_of_the_language_and_names_keep_theirs():
    with language.spoken("de"):
        assert language.numerals("1,234.5") == "1.234,5"
        assert language.prose("a guess of 50:50 whether one row was used can rise to at most 99.5001 in 100").endswith(
            "99,5001 zu 100 steigen"
        )
        assert language.prose("no sentence of 1.5 numbers") == "no sentence of 1.5 numbers"
        assert language._("{n:,} of {table}").format(n=1234, table="a.b") == "1.234 von a.b"
    assert language.numerals("1,234.5") == "1,234.5"
    assert language._("{n:,} of {table}").format(n=1234, table="a.b") == "1,234 of a.b"


def test_no_field_has_an_empty_text_of_the_frameworks():
    """Streamlit writes "Choose options" into a list without a placeholder, whatever the language is."""
    calls = [
        (path.name, node)
        for path in sorted((ROOT / "app").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "multiselect"
    ]
    assert calls
    assert not [name for name, node in calls if "placeholder" not in {k.arg for k in node.keywords}]


def hostile(text: str) -> str:
    """A message of 4 kB that looks like a filled text nearly to its end."""
    once = "".join(PLACE.split(text))
    return (once * (4000 // len(once) + 1))[:4000] + "\0"


def test_no_message_takes_long_to_be_translated():
    """A table's header once stood in a message of 1.9 kB that took 181 s: the fourth power of its length."""
    header = "column " + ": ; must be a, b or c; ".join(["x"] * 180)
    texts = [t for t in language._catalogue("de") if PLACE.search(t)]
    messages = [header, header + ".", ": " * 2000, ". " * 2000, *map(hostile, texts)]
    with language.spoken("de"):
        language.phrase("")
        for message in messages:
            begun = time.process_time()
            language.prose(message)
            assert time.process_time() - begun < 1, message[:200]
