"""Every text on every page is marked for translation: in the language `marked` each stands in brackets.

What is left outside of brackets must be data: names of columns, tables, methods and files, values, numbers.
"""

import re
import time

import pytest
from elements import CODE, ended, german, row_each, texts, upload

from synth import languages as language
from synth import methods


@pytest.fixture
def marked():
    """All pages in the language that shows which texts could be translated."""
    before = list(language._reader)
    language.readers(lambda: language.MARKED)
    yield
    language._reader[:] = before


def _unmarked(text: str) -> str:
    while (shorter := re.sub(r"⟦[^⟦⟧]*(?:⟧|$)", "", text)) != text:
        text = shorter
    return CODE.sub("", text.replace("\\", ""))


def look(at, data: set[str]) -> None:
    """No text of this page stands outside of the brackets, but for words of the data."""
    assert not at.exception
    shown = [text for text in texts(at) if "<style" not in text and "<script" not in text]
    assert not any("Internal error" in text for text in shown)
    left = {w: text for text in shown for w in re.findall(r"[^\W\d_]{3,}", _unmarked(text)) if w not in data}
    assert not left, (at.title[0].value if at.title else "", *sorted(set(left.values())))


def words(*texts: str) -> set[str]:
    return {w for text in texts for w in re.findall(r"[^\W\d_]{3,}", text)}


NAMES = words(
    *(m["name"] for m in methods()),
    "mixture",
    "Excel SPSS Stata SAS xlsx sav dta xpt",
    "postgres://ann@db.example/census",
    "Facsimile",
    "Language Sprache Deutsch English",
)
GRID = {"column", "use", "kind", "source", "min", "max", "step", "values", "empty", "missing", "description"}


def press(at, key: str, data: set[str]):
    at.button(key=key).click().run()
    look(at, data)
    return at


def test_every_text_from_the_sample_to_its_release(start, marked):  # noqa: ARG001
    at = start()
    look(at, NAMES)
    at.button(key="use_sample").click().run()
    plain = at.session_state["wizard"].plain
    data = NAMES | GRID | words(plain["dataset"], *plain["columns"], "synth run schema release")
    data |= {w for c in plain["columns"].values() for v in c.get("categories") or () for w in words(str(v))}
    data |= {"data", "low", "high", "likely", "epsilon", "delta", "method", "dataset", "relation", "out"}
    look(at, data)
    at.session_state["wizard"].method = "independent"
    press(at, "onward", data)
    time.sleep(0.5)
    look(at.run(), data)
    press(at, "spend", data)
    look(ended(at), data)
    for page in ("result", "ledger"):
        at.switch_page(f"views/{page}.py").run()
        look(at, data)
        for key in ("compare", "compose", "verify"):
            if key in {b.key for b in at.button}:
                look(press(at, key, data).run(), data)


def test_every_text_of_a_draft_with_open_questions(start, marked):  # noqa: ARG001
    rows = "\n".join(
        f"{i // 2},{i % 28 + 1:02d}.{i % 12 + 1:02d}.19{i % 60 + 30},{i % 3},{'ab'[i % 2]},{i * 7}" for i in range(300)
    )
    at = upload(start(), f"id,born,code,team,zip\n{rows}\n".encode())
    data = NAMES | GRID | {"born", "code", "team", "zip", "people"}
    look(at, data)
    row_each(at)
    look(at, data)
    for page in ("privacy", "result"):
        at.switch_page(f"views/{page}.py").run()
        look(at, data)


def test_nothing_is_english_on_a_german_page(start, in_german):  # noqa: ARG001
    at = start()
    at.button(key="use_sample").click().run()
    german(at)
    at.session_state["wizard"].method = "independent"
    german(at.button(key="onward").click().run())
    german(ended(at.button(key="spend").click().run()))
    german(at.button(key="compare").click().run())
    german(at.switch_page("views/ledger.py").run())
