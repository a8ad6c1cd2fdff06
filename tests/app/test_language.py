"""Every text on every page is marked for translation: in the language `marked` each stands in brackets.

What is left outside of brackets must be data: names of columns, tables, methods and files, values, numbers.
"""

import json
import re
import time

import pyarrow as pa
import pytest
from elements import ended, row_each, upload
from test_together_pages import TWO, made, review

from synth import languages as language
from synth import methods

NO_TEXT = {
    *("id", "key", "icon", "url", "type", "color", "file_name", "mime", "format", "default", "raw_values", "raw_value"),
    *(
        "form_id",
        "anchor",
        "datasets",
        "theme",
        "element_id",
        "deferred_file_id",
        "page_script_hash",
        "fragment_id",
        "language",
        "name",
        "code_text",
    ),
}
CODE = re.compile(r":material/\w+:|:[\w-]+\[|<[^>]*>|`[^`]*`|\bF1\b|\b(?:UTF|CSV|JSON|PDF|ISO|GiB|Parquet|SDMetrics)\b")


@pytest.fixture
def marked():
    """All pages in the language that shows which texts could be translated."""
    before = list(language._reader)
    language.readers(lambda: language.MARKED)
    yield
    language._reader[:] = before


def _charts(reported) -> list[str]:
    """Titles and labels of a chart's specification."""
    if isinstance(reported, list):
        return [text for part in reported for text in _charts(part)]
    if not isinstance(reported, dict):
        return []
    own = [v for k, v in reported.items() if k in ("title", "text", "subtitle", "label", "help") and isinstance(v, str)]
    return own + [text for part in reported.values() for text in _charts(part)]


def _texts(message) -> list[str]:
    """Every text that an element shows."""
    results = []
    for field, value in message.ListFields():
        if field.name in NO_TEXT:
            continue
        values = list(value) if field.is_repeated and not hasattr(value, "values") else [value]
        if field.type == field.TYPE_MESSAGE:
            values = list(value.values()) if hasattr(value, "values") else values
            results += [text for v in values if hasattr(v, "ListFields") for text in _texts(v)]
        elif field.type == field.TYPE_STRING:
            for text in values:
                results += _charts(json.loads(text)) if text[:1] == "{" else [text]
        elif field.name == "data":
            results += pa.ipc.open_stream(bytes(value)).schema.names
    return results


def _all(block) -> list[str]:
    result = _texts(block.proto) if getattr(block, "proto", None) is not None else []
    return result + [text for child in getattr(block, "children", {}).values() for text in _all(child)]


def _unmarked(text: str) -> str:
    while (shorter := re.sub(r"⟦[^⟦⟧]*(?:⟧|$)", "", text)) != text:
        text = shorter
    return CODE.sub("", text.replace("\\", ""))


def look(at, data: set[str]) -> None:
    """No text of this page stands outside of the brackets, but for words of the data."""
    assert not at.exception
    shown = [text for text in _all(at._tree) if "<style" not in text and "<script" not in text]
    assert not any("Internal error" in text for text in shown)
    left = {w: text for text in shown for w in re.findall(r"[^\W\d_]{3,}", _unmarked(text)) if w not in data}
    assert not left, (at.title[0].value if at.title else "", *sorted(set(left.values())))


def words(*texts: str) -> set[str]:
    return {w for text in texts for w in re.findall(r"[^\W\d_]{3,}", text)}


ENGLISH = re.compile(r"\b(?:the|and|with|which|are|is|of|to|by|for|from|this|that|not)\b", re.IGNORECASE)
VALUE = re.compile(r"(?<![a-z] )not working|(?<=occupation )not working")  # the sample's, alone or behind its column
POINTS = re.compile(r"(?<![\w.-])\d+\.\d{1,2}(?![\w.])|\d{1,3},\d{3},\d{3}")  # numbers as in English


def german(at) -> None:
    """No sentence, number or date of this page is English."""
    assert not at.exception
    shown = [text for text in _all(at._tree) if "<style" not in text and "<script" not in text]
    assert len(shown) > 20
    shown = [VALUE.sub("", text) for text in shown]
    left = [t for t in shown if ENGLISH.search(CODE.sub("", t)) or POINTS.search(CODE.sub("", t))]
    assert not left, (at.title[0].value, *left)
    assert all('"decimal": ","' in chart.proto.spec for chart in at.get("arrow_vega_lite_chart")), "axes too"


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


@pytest.fixture
def in_german():
    """All pages in German."""
    before = list(language._reader)
    language.readers(lambda: "de")
    yield
    language._reader[:] = before


def test_nothing_is_english_on_a_german_page(start, in_german):  # noqa: ARG001
    at = start()
    at.button(key="use_sample").click().run()
    german(at)
    at.session_state["wizard"].method = "independent"
    german(at.button(key="onward").click().run())
    german(ended(at.button(key="spend").click().run()))
    german(at.button(key="compare").click().run())
    german(at.switch_page("views/ledger.py").run())


def test_nothing_of_related_tables_is_english_on_a_german_page(start, in_german):  # noqa: ARG001
    at = review(start, made(TWO))
    german(at)
    german(at.button(key="compare").click().run())
