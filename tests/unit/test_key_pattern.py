"""Made-up keys in the public form that a schema states: different for every row, alike between tables, never read."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline import draw_rows
from synth.pipeline.draw_rows import DrawnTables, whole
from synth.schema import key_pattern
from synth.schema.sdv_metadata import from_sdv, to_sdv
from synth.sources.draft_schema import draft
from tests.made import ID, a_key, a_schema, facts_of, number, several

SOUND = ["P[0-9]{6}", r"[A-Z]{2}-\d{3}", "[A-Ca-c9]", "x[0-1]", "7_[0-9A-F]{2}/[ab]", "[0-9]{19}[A-Z]{12}"]
FACTS = {"age": number(0, 99)}


def bare(pattern: str) -> re.Pattern:
    """The pattern as a regular expression whose first class may be longer."""
    return re.compile(re.sub(r"(\[[^]]*\]|\\d)(\{\d+\})?", r"\1+", pattern, count=1))


@pytest.mark.parametrize("pattern", SOUND)
def test_every_number_has_its_own_key_in_the_stated_form(pattern):
    assert key_pattern.problem(pattern) is None
    room = int(np.prod([float(len(c)) for c in key_pattern.parsed(pattern)]))
    numbers = np.unique(np.r_[0:3000, [room - 1, room, room + 1] if room < 2**40 else [2**40]])
    keys = key_pattern.write(pattern, numbers).to_pylist()
    assert len(set(keys)) == len(numbers)
    assert all(re.fullmatch(pattern, k) for k, n in zip(keys, numbers, strict=True) if n < room)
    assert all(bare(pattern).fullmatch(k) for k in keys), "beyond the last one keys are longer, and in form still"


@pytest.mark.parametrize(
    "pattern",
    ["", "abc", "P.*", "[0-9", "[]", "[9-0]", "[0-90]", "=[0-9]", "-[0-9]", "[0-9]{65}", "P[0-9]{0}", "[0-9]+"],
)
def test_other_patterns_are_refused_with_the_rule(pattern):
    with pytest.raises(InputError, match="pattern"):
        a_schema(id={"type": "identifier", "pattern": pattern}, **FACTS)


def test_a_pattern_is_of_identifiers():
    with pytest.raises(InputError, match="make the column an identifier"):
        a_schema(age={**FACTS["age"], "pattern": "P[0-9]"})


def test_a_run_and_more_rows_write_keys_in_their_form(tmp_path):
    columns = {"id": {"type": "identifier", "pattern": "P[0-9]{2}"}, **FACTS}
    schema = synth.Schema.parse({"dataset": "d", "columns": columns})
    frame = pd.DataFrame({"id": [f"secret-{i}" for i in range(300)], "age": np.arange(300) % 90})
    asked = {"epsilon": 5.0, "delta": 1e-5, "method": "independent", "ledger": tmp_path / "l.sqlite"}
    result = synth.run(frame, schema=schema, num_rows=150, out=tmp_path / "out", **asked)
    made = pd.read_csv(tmp_path / "out" / "synthetic.csv", dtype=str)["id"]
    assert list(made[:2]) == ["P01", "P02"]
    assert made.iloc[-1] == "P150", "more keys than the form has are longer"
    assert made.is_unique
    assert (result.frame["id"] == made).all()
    more, _ = synth.sample(tmp_path / "out" / "model.json", num_rows=3)
    assert list(more["id"]) == ["P01", "P02", "P03"]


class Trees:
    """Two patients; three stays of the second and one of the first; an act of each stay."""

    schema = synth.app_api.parse_related(
        several(
            {"child": "stays", "columns": ["patient"], "parent": "patients", "parent_columns": ["pid"]}
            | {"most_children": 3},
            a_key("acts", "stays", "stay", 1, parent_columns="sid"),
            patients=facts_of(pid={"type": "identifier", "pattern": "P[0-9]{4}"}, **FACTS),
            stays=facts_of(sid={"type": "identifier", "pattern": "S[A-Z]{2}"}, patient=ID, **FACTS),
            acts=facts_of(stay=ID, aid=ID, **FACTS),
        )
    )


def test_keys_of_related_tables_are_those_of_their_parents(monkeypatch):
    from synth.generators.core.related_model import DrawnTable

    def blocks(_, num_roots, *, rng):  # noqa: ARG001
        age = {"age": np.zeros(4, dtype=np.int64)}
        yield {
            "patients": DrawnTable(positions={"age": np.zeros(2, dtype=np.int64)}, parent=np.zeros(2, dtype=np.int64)),
            "stays": DrawnTable(positions=age, parent=np.array([0, 1, 1, 1])),
            "acts": DrawnTable(positions=age, parent=np.arange(4)),
        }

    monkeypatch.setattr(draw_rows.Drawing, "blocks", blocks)
    monkeypatch.setattr(draw_rows.Drawing, "__init__", lambda self, *_, **__: setattr(self, "across", Trees))
    monkeypatch.setattr(Trees, "shares_kept", [], raising=False)
    drawn = DrawnTables(Trees(), 2, rng=np.random.default_rng(0))
    tables = {t: {n: a.to_pylist() for n, a in whole(drawn.blocks(t)).items()} for t in Trees.schema.tables}
    assert tables["patients"]["pid"] == ["P0001", "P0002"]
    assert tables["stays"]["patient"] == ["P0001", "P0002", "P0002", "P0002"]
    assert tables["stays"]["sid"] == tables["acts"]["stay"] == ["SAB", "SAC", "SAD", "SAE"]
    assert tables["acts"]["aid"] == ["1", "2", "3", "4"]


def test_the_form_of_a_key_is_stated_where_its_rows_are():
    plain = json.loads(Trees.schema.to_json())
    plain["tables"]["stays"]["columns"]["patient"]["pattern"] = "Q[0-9]"
    with pytest.raises(InputError, match=r"stays.patient holds the keys of patients; state the pattern there alone"):
        synth.app_api.parse_related(plain)


def test_a_draft_never_reads_a_form_off_the_rows():
    frame = pd.DataFrame({"patient": [f"P{i:06d}" for i in range(400)], "age": np.arange(400) % 90})
    assert draft(frame).schema.columns["patient"].type == "identifier"
    assert "pattern" not in draft(frame).schema.to_json()


def test_metadata_state_a_form_and_state_it_again():
    given = {"id": {"sdtype": "id", "regex_format": "ID_[0-9]{4}"}, "k": {"sdtype": "id", "regex_format": "a|b"}}
    result = from_sdv({"columns": given})
    assert result.schema.columns["id"].pattern == "ID_[0-9]{4}"
    assert result.schema.columns["k"].pattern is None
    assert any(n.startswith("k: keys are counted up, not written as a|b") for n in result.notes)
    described = to_sdv(result.schema)["tables"]["table"]["columns"]
    assert described == {"id": {"sdtype": "id", "regex_format": "ID_[0-9]{4}"}, "k": {"sdtype": "id"}}


def test_the_command_line_takes_a_form(tmp_path, command):
    frame = pd.DataFrame({"pid": [f"P{i:06d}" for i in range(400)], "age": np.arange(400) % 90})
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = ["schema", "init", tmp_path / "people.csv", "--out", tmp_path / "s.json", "--pattern"]
    assert command(*asked, "pid=P[0-9]{6}")[0] == 0
    assert json.loads((tmp_path / "s.json").read_text())["columns"]["pid"]["pattern"] == "P[0-9]{6}"
    for wrong, why in (
        ("age=P[0-9]{6}", "no identifier"),
        ("pid=P*", "write letters, digits"),
        ("pid", "COLUMN=PATTERN"),
    ):
        code, _, said = command(*asked, wrong)
        assert code == 2
        assert why in said


def test_a_pattern_of_related_tables_names_table_and_column():
    from synth.cli.schema import formed, patterns

    drafted = dict(Trees.schema.tables)
    result = formed(drafted, patterns(["acts.aid=A[0-9]{3}"]))
    assert result["acts"].columns["aid"].pattern == "A[0-9]{3}"
    with pytest.raises(UsageError, match=r"write TABLE\.COLUMN"):
        formed(drafted, patterns(["aid=A[0-9]{3}"]))
