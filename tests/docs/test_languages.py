"""Every text of the code has its translation in every catalogue, with the same places for values."""

import ast
import importlib.util
import json
import pickle
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import polib
import pytest

from synth import languages as language
from synth.errors import InputError, meant
from synth.languages import Said
from synth.release.card.card import meaning
from tests.parsed import called, nodes

pytestmark = pytest.mark.xdist_group("code")
PLACE = re.compile(r"\{\w[^{}]*\}")
BARE = re.compile(r"\{(\d*)((?:![rsa])?(?::[^{}]*)?)\}")
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


def _places(text: str) -> set[str]:
    """By name, or bare ones by their number, which a text says or leaves to their order."""
    bare = BARE.findall(re.sub("{{|}}", "", text))
    return {f"{n or i}{how}" for i, (n, how) in enumerate(bare)} if bare else set(PLACE.findall(text))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.stem)
def test_a_translation_has_the_places_of_its_text(path):
    for entry in polib.pofile(str(path)):
        for number, text in (entry.msgstr_plural or {0: entry.msgstr}).items():
            asked = entry.msgid_plural if number else entry.msgid
            assert _places(text) == _places(asked), entry.msgid
            assert (text[:1] == " ", text[-1:] == " ") == (entry.msgid[:1] == " ", entry.msgid[-1:] == " "), entry.msgid


def test_texts_counts_and_sentences_of_the_library_are_in_the_language_that_is_spoken():
    with language.spoken("de"):
        assert language._("Budget") == "Budget"
        assert language.ngettext("{n} run", "{n} runs", 1) == "1 Lauf"
        assert language.ngettext("{n} run", "{n} runs", 2000) == "2.000 Läufe"
        assert language.Texts({"a": ("Choose columns",)})["a"] == ("Spalten wählen",)
        message = language.Said("method {!r} is unknown; {}", "mixtur", meant("mixtur", ["mixture"]))
        assert language.prose(message) == "Verfahren 'mixtur' ist unbekannt; meinten Sie mixture?"
        assert language.prose("no such sentence anywhere") == "no such sentence anywhere"
    assert language._("Choose columns") == "Choose columns"


def test_numbers_in_prose_have_the_marks_of_the_language_and_names_keep_theirs():
    with language.spoken("de"):
        assert language.numerals("1,234.5") == "1.234,5"
        assert language.prose(meaning(5.3)).endswith("99,5033 zu 100 steigen")
        assert language.prose(language.Said("{} in place of {}", "1.5", 1.5)) == "1.5 statt 1,5"
        assert language._("{n:,} of {table}").format(n=1234, table="a.b") == "1.234 von a.b"
    assert language.numerals("1,234.5") == "1,234.5"
    assert language._("{n:,} of {table}").format(n=1234, table="a.b") == "1,234 of a.b"


def test_no_field_has_an_empty_text_of_the_frameworks():
    """Streamlit writes "Choose options" into a list without a placeholder, whatever the language is."""
    calls = [
        (path.name, node)
        for path in sorted((ROOT / "app").rglob("*.py"))
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "multiselect"
    ]
    assert calls
    assert not [name for name, node in calls if "placeholder" not in {k.arg for k in node.keywords}]


def test_a_message_put_together_is_said_whole_and_a_name_that_is_a_text_stays():
    message = InputError(
        "{}: {}", Said("schema {}", "a.json"), Said("column {}: {}", "Choose columns", Said("a number"))
    )
    with language.spoken("de"):
        assert language.prose(message.said) == "Beschreibung a.json: Spalte Choose columns: eine Zahl"
    assert str(message) == "schema a.json: column Choose columns: a number"
    assert language.prose(pickle.loads(pickle.dumps(message)).said.values[1].values[0]) == "Choose columns"


def test_what_is_stored_is_said_again_and_nothing_else():
    plain = {"a": [Said("{:,} rows of {}", 1234, Said("one {}", "x"))], "b": "as it is"}
    stored = json.loads(json.dumps(language.with_said(plain)))
    again = language.as_said(stored)
    assert again == plain
    assert (again["a"][0].text, again["a"][0].values) == ("{:,} rows of {}", (1234, "one x"))
    for parts in (["{:,} rows", 9], ["{0.__class__}", 1], ["{:>99999999}", 1], [], [1], 3, ["{}"], [["{}"], 1]):
        other = language.as_said({"a": "1,234 rows", "said": {"1,234 rows": parts}})
        assert other == {"a": "1,234 rows"}
        assert type(other["a"]) is str


def test_every_error_and_message_has_its_values_beside_its_text():
    """No f-string, sum, ``format`` or ``%`` is a message, and as many values stand beside a text as it has places; what
    is wrong with a schema is put into another message, and is one."""
    kinds, wrong = {"Said", *_texts().KINDS}, []
    for path in sorted((ROOT / "synth").rglob("*.py")):
        name = path.relative_to(ROOT / "synth").as_posix()
        calls = (n for n in nodes(path) if isinstance(n, ast.Call))
        for call in (c for c in calls if called(c) in kinds and c.args and not name.startswith(_texts().ELSEWHERE)):
            text, put = call.args[0], ast.JoinedStr | ast.BinOp
            made = isinstance(text, put) and (len(call.args) > 1 or called(call) != "Said")
            formatted = isinstance(text, ast.Call) and called(text) == "format"
            if isinstance(text, ast.Constant) and not any(isinstance(a, ast.Starred) for a in call.args):
                places = re.findall(r"{[^{}]*}", re.sub("{{|}}", "", text.value))
                formatted |= len(call.args) > 1 and len(places) != len(call.args) - 1
            unsaid = any(isinstance(n, ast.Attribute) and n.attr == "strerror" for a in call.args for n in ast.walk(a))
            wrong += [f"{name}:{call.lineno}"] * (made or formatted or unsaid)
        told = (n for n in nodes(path) if isinstance(n, ast.Yield) and name.startswith("schema/"))
        wrong += [f"{name}:{n.lineno}" for n in told if isinstance(n.value, ast.Constant | ast.JoinedStr)]
    assert not wrong


def test_whatever_is_put_into_a_message_is_plain():
    """An error of the system says what the system says, without its path; JSON takes every value."""
    values = (OSError(28, "No space left", "/x"), OSError(), ValueError("odd"), np.int64(3), Decimal("1.5"), Path("a"))
    message = Said("{} {} {} {} {} {}", *values)
    assert message == "No space left OSError odd 3 1.5 a"
    stored = json.loads(json.dumps(language.with_said({"a": message})))
    assert language.as_said(stored) == {"a": message}
    assert str(Said("{}", np.arange(3))) == "[0 1 2]"


def _texts():
    spec = importlib.util.spec_from_file_location("texts", ROOT / "container" / "texts.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
