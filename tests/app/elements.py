"""What tests of the application press, fill in and read on a page."""

import json
import re
import time

import pyarrow as pa

from synth import jobs
from synth.errors import FUNCTION, OPTION
from tests.made import binary, codes, facts_of, number

CONTROLS = (
    "selectbox",
    "number_input",
    "text_input",
    "multiselect",
    "select_slider",
    "text_area",
    "file_uploader",
    "checkbox",
    "radio",
)


def cancels(at):
    """The button that cancels what is followed on the page."""
    return next(b for b in at.button if str(b.key).startswith("cancel_"))


def keys(at) -> set:
    return {b.key for b in at.button}


def said(at) -> str:
    parts = [
        e.value for kind in ("markdown", "caption", "info", "success", "warning", "error") for e in getattr(at, kind)
    ]
    text = "\n".join(parts).replace("\\", "")
    assert not OPTION.search(text), "a page writes options as its fields (app/session/words.py)"
    assert not FUNCTION.search(text), "a page writes functions as pages (app/session/words.py)"
    return text


def row_each(at):
    """Answers that each row is one person."""
    return next(s for s in at.selectbox if s.key.startswith("unit_")).set_value("row").run()


def sample(start):
    at = start()
    return at.button(key="use_sample").click().run()


def uploader(at, label: str):
    """The field for files whose label begins so."""
    return next(u for u in at.file_uploader if u.label.lstrip("⟦").startswith(label))


def upload(at, content: bytes, schema: dict | None = None, name: str = "people.csv", rows: int = 10_000):
    """The page The table with this one; ``rows``: about how many there are, as the steward would say."""
    if schema is not None:
        given = ("people.schema.json", json.dumps(schema).encode(), "application/json")
        uploader(at, "Description").set_value(given)
    uploader(at, "Table").set_value((name, content, "text/csv"))
    at.run()
    if rows and "wizard" in at.session_state:
        at.session_state["wizard"].rows = rows
    return at


def to_run(at, method: str = "independent"):
    """The page Privacy and accuracy, reached by its button, by a method that is done at once where the test is about
    none."""
    at.session_state["wizard"].method = method
    return at.button(key="onward").click().run()


def charged(at, *, rows: int) -> None:
    """From a description whose drafts are confirmed to a run that is charged; ``rows``: by the steward's word."""
    at.button(key="confirm_all").click().run()
    row_each(at)
    at.session_state["wizard"].rows = rows
    to_run(at)
    at.button(key="spend").click().run()


def learnt(at) -> None:
    """Waits until learning has ended."""
    for _ in range(300):
        if at.session_state["wizard"].learning is None:
            break
        at.run()


def refitted(at):
    """The page Review once the other fit is there, which it follows itself."""
    limit = time.monotonic() + 90
    while at.session_state["wizard"].refit is not None:
        assert time.monotonic() < limit, "the fit does not end"
        assert at.title[0].value == "The result"
        assert "Charges the budget" not in said(at)
        time.sleep(0.3)
        at.run()
    return at


def all_helped(at) -> None:
    """Every control of the page has help beside it."""
    for kind in CONTROLS:
        for control in getattr(at, kind):
            assert control.help or control.proto.help, (at.title[0].value, control.label)
            assert kind == "radio" or not any("\\" in str(o) for o in getattr(control, "options", ())), control.label


SCHEMA = facts_of(
    age=number(0, 99, source="public"),
    team=binary("a", "b", source="public"),
    city=codes("Rome", "Oslo", "Bern", source="public"),
) | {"dataset": "club"}


def ended(at, seconds: float = 90):
    """The page once the run has ended, the result where it is done: looked at meanwhile, as the browser does."""
    limit = time.monotonic() + seconds
    assert not at.run().exception
    if w := at.session_state["wizard"].job:
        jobs.Job(w).wait(seconds)
    while any(str(k).startswith("cancel_") for k in keys(at.run())):
        assert time.monotonic() < limit, "the run does not end"
        time.sleep(0.5)
    return at


def downloads(at) -> set:
    return {"bundle" if "get_zip" in d.proto.id else d.proto.label for d in at.get("download_button")}


FILE = """
[roles]
steward = ["ann@example.org", "eve@example.org"]
reviewer = ["bob@example.org"]
analyst = ["*@example.org"]
[approval]
epsilon_above = 0.5
[datasets.secret]
may_spend = ["eve@example.org"]
"""


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


def _below(block) -> list[str]:
    result = _texts(block.proto) if getattr(block, "proto", None) is not None else []
    return result + [text for child in getattr(block, "children", {}).values() for text in _below(child)]


ENGLISH = re.compile(r"\b(?:the|and|with|which|are|is|of|to|by|for|from|this|that|not)\b", re.IGNORECASE)
VALUE = re.compile(r"(?<![a-z] )not working|(?<=occupation )not working")  # the sample's, alone or behind its column
POINTS = re.compile(r"(?<![\w.-])\d+\.\d{1,2}(?![\w.])|\d{1,3},\d{3},\d{3}")  # numbers as in English


def texts(at) -> list[str]:
    """Every text that a page shows, its charts' too."""
    return _below(at._tree)


def german(at) -> None:
    """No sentence, number or date of this page is English."""
    assert not at.exception
    shown = [text for text in texts(at) if "<style" not in text and "<script" not in text]
    assert len(shown) > 20
    shown = [VALUE.sub("", text) for text in shown]
    left = [t for t in shown if ENGLISH.search(CODE.sub("", t)) or POINTS.search(CODE.sub("", t))]
    assert not left, (at.title[0].value, *left)
    assert all('"decimal": ","' in chart.proto.spec for chart in at.get("arrow_vega_lite_chart")), "axes too"
