"""Damaged files end in one line, in bounded time and memory, with nothing spent and nothing written elsewhere.

The seed is fixed, so that a pass is a pass; `make fuzz` draws a new one and goes on for an hour.
"""

import json
import multiprocessing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import synth
from synth.errors import SynthError
from tests.fuzz.__main__ import fuzz, one, warm
from tests.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.xdist_group("fuzz")


@pytest.fixture(scope="module", autouse=True)
def _warm():
    warm()


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_files_end_well(name):
    result = fuzz(name, seed=7, seconds=600, most=6)  # the whole file and five damaged ones, however long they take
    assert result["findings"] == []
    assert result["inputs"] == 6


def _crash(_):
    raise KeyError("a reader's own mistake")


def _scribble(path):
    (path.parent.parent.parent / "elsewhere").write_text("x")


def _hang(_):
    while True:
        pass


EVIL = {"a crash": (_crash, "KeyError"), "a stray file": (_scribble, "written outside"), "a hang": (_hang, "too slow")}


@pytest.mark.parametrize("evil", EVIL)
def test_the_fuzzer_finds_what_it_looks_for(evil, monkeypatch):
    from tests.fuzz import __main__ as main

    read, words = EVIL[evil]
    monkeypatch.setattr(main, "LIMIT_SECONDS", 1 if evil == "a hang" else 20)
    monkeypatch.setitem(TARGETS, "evil", Target(TARGETS["schema"].make, read))
    result = fuzz("evil", seed=1, seconds=600, most=2)
    assert result["findings"]
    assert all(words in f for f in result["findings"])


# Tables and schemas built, not damaged: every text a cell can hold, every kind of fact.

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
CELLS = st.one_of(
    TEXTS,
    st.sampled_from(["=1+1", "'=x", "-3", "1e400", "nan", "2020-02-30", "", "\u0663", " x "]),
    st.integers().map(str),
    st.floats().map(repr),
    st.dates().map(str),
)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
FACTS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=3)),
)
COLUMN = st.fixed_dictionaries(
    {
        "type": st.one_of(
            st.sampled_from(["integer", "float", "categorical", "boolean", "datetime", "identifier"]), FACTS
        )
    },
    optional=dict.fromkeys(
        ("min", "max", "categories", "missing", "nullable", "decimals", "resolution", "source"), FACTS
    ),
)
QUIET = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@QUIET
@given(columns=st.dictionaries(NAMES, COLUMN, max_size=4), more=st.dictionaries(TEXTS, FACTS, max_size=2))
def test_any_schema_is_read_or_refused(columns, more):
    for complete in (True, False):
        message = ""
        try:
            facts = synth.Schema.parse({"columns": columns, **more}, complete=complete)
            assert synth.Schema.parse(json.loads(facts.to_json()), complete=complete) == facts
        except SynthError as error:
            message = str(error)
        assert "\n" not in message


@QUIET
@given(names=st.lists(NAMES, min_size=1, max_size=4, unique=True), data=st.data())
def test_any_table_of_text_is_read_as_it_was_written(names, data, tmp_path_factory):
    """Whatever stands in its cells, a written table is read back, drafted and encoded."""
    import csv

    path = tmp_path_factory.mktemp("t") / "t.csv"
    rows = data.draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), min_size=1, max_size=5))
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([names, *rows])
    message = ""
    try:
        TARGETS["csv"].read(path)
    except SynthError as error:
        message = str(error)
    assert "\n" not in message


def test_a_target_that_is_whole_ends_well(tmp_path):
    """The seeds themselves are read without any error, or the fuzzer would only ever see refusals."""
    for name, target in TARGETS.items():
        place = tmp_path / name.replace(" ", "_")
        place.mkdir()
        target.read(target.make(place))
    assert one("schema", b"{}", tmp_path) is None
    assert multiprocessing.active_children() == []
