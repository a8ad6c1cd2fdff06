"""What related tables lack is refused in one line that says so, before anything is spent: the list of their page."""

import json
import re
from pathlib import Path

import pytest

import synth
from tests.made import ID, a_key, codes, facts_of, several

KEY = ID
WARD = codes("a", "b")
TWO = several(
    a_key("stays", "patients", "pid", 2), patients=facts_of(pid=KEY, sex=WARD), stays=facts_of(pid=KEY, ward=WARD)
) | {"dataset": "clinic"}
ONE = facts_of(pid=KEY, sex={**WARD, "of": "unit"}, ward=WARD) | {"dataset": "stays", "unit": "pid", "max_rows": 2}
SAYS = r"related tables|several tables|one table whose rows stand alone|belong together|single table|persons keep"
pytestmark = pytest.mark.xdist_group("related refusals")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Both kinds of tables, with a release of each."""
    folder = tmp_path_factory.mktemp("lacking")
    (folder / "two").mkdir()
    (folder / "two" / "patients.csv").write_text("pid,sex\n" + "".join(f"{i},a\n" for i in range(40)))
    (folder / "two" / "stays.csv").write_text("pid,ward\n" + "".join(f"{i % 40},b\n" for i in range(60)))
    (folder / "one.csv").write_text("pid,sex,ward\n" + "".join(f"{i % 40},a,b\n" for i in range(60)))
    for name, facts, table in (("two", TWO, folder / "two"), ("one", ONE, folder / "one.csv")):
        (folder / f"{name}.json").write_text(json.dumps(facts))
        how = {"epsilon": 1.0, "delta": 1e-5, "method": "independent", "ledger": folder / "ledger.sqlite"}
        synth.run(table, schema=synth.app_api.parse_schema(facts), out=folder / f"{name}.release", **how)
    return folder


RUN = "run {tables} --schema {schema} --epsilon 1 --out {new}"
BOTH = {
    "another method": RUN + " --method aim",
    "estimates": "estimate {release} --ask share:ward:a",
    "several tables for intervals": "sample {release} --multiple 5 --out {new}",
    "changes from wave to wave": "series changes {release} {release}",
    "preview": "preview --schema {schema} --rows 50 --epsilon 1 --prior {tables} --prior-reason x --out {new}",
    "rehearsed attacks": "report {release} --real {tables} --shadow-runs 20 --out {page}",
    "groups": "report {release} --real {tables} --group sex --out {page}",
}
TREES = {
    "target": RUN + " --target ward",
    "unit": RUN + " --unit pid --max-rows 2",
    "statistics": "statistics {tables} --schema {schema} --epsilon 1 --ask count:ward",
    "a database for more rows": "sample {release} --source sqlite:///{new}.db --out-table more",
}
LINES = {("two", n): line for n, line in {**BOTH, **TREES}.items()} | {("one", n): line for n, line in BOTH.items()}


@pytest.mark.parametrize(("kind", "what"), LINES)
def test_what_is_not_there_yet_is_refused_and_says_why(place, command, tmp_path, kind, what):
    line = LINES[kind, what]
    tables = place / ("two" if kind == "two" else "one.csv")
    named = {"tables": tables, "schema": place / f"{kind}.json", "release": place / f"{kind}.release"}
    named |= {"new": tmp_path / "new", "page": tmp_path / "page.html"}
    before = len(synth.Ledger(place / "ledger.sqlite").entries())
    code, _, error = command(*line.format(**named).split(), *_ledger(line, place))
    assert code == 2, error
    (said,) = [line for line in error.splitlines() if line.startswith("synth: ")]
    assert re.search(SAYS, said), said
    assert len(synth.Ledger(place / "ledger.sqlite").entries()) == before
    assert not list(tmp_path.iterdir())


def _ledger(line: str, place: Path) -> tuple:
    return ("--ledger", place / "ledger.sqlite") if line.split()[0] in ("run", "statistics", "report") else ()


def test_a_synthesizer_is_of_one_table_and_counts_that_decide_of_single_ones(place):
    schema = synth.app_api.parse_schema(TWO)
    with pytest.raises(synth.UsageError, match="make related tables with"):
        synth.Synthesizer(schema=schema, epsilon=1.0).fit(place / "two")
    with pytest.raises(synth.UsageError, match="single tables"):
        synth.bundle(place / "two.release", place / "x.zip", paid="counts.json", how="private")
