"""What loads slowly is loaded where it is used: no command waits for it before its input was looked at.

Whether a library is loaded is asked of ``sys.modules`` in a process of its own, never of a clock.
"""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

SLOW = ("torch", "scipy", "dp_accounting", "sklearn", "openpyxl", "opendp", "opacus", "mbi", "streamlit")
QUICK = [
    "--help",
    "run --help",
    "plan --help",
    "sample --help",
    "audit --help",
    "app --help",
    "schema learn --help",
    "methods",
    "methods --json",
    "schema check null",
    "schema init null --out s.json",
    "schema check wrong.json",
    "ledger show",
    "ledger verify",
    "ledger policy none.csv --max-epsilon 1",
    "ledger policy d --new --max-epsilon 1 --dataset d",
    "ledger restore null",
    "ledger composition",
    "card check null",
    "card check deep.json",
    "card write null",
    "card write null --choice only",
    "sample null",
    "sample pipe",
    "sample folder",
    "bundle null --out z.zip",
    "report null --publishable",
    "plan --schema null --rows 5",
    "plan --schema good.json --rows 5 --method nope",
    "plan --schema good.json --rows 5 --epsilon 1e308",
    "plan --schema good.json --rows 0",
    "plan --schema good.json --rows 5 --option slices=many",
    "run null --schema good.json --epsilon 1",
    "run pipe --schema good.json --epsilon 1",
    "run rows.csv --schema wrong.json --epsilon 1",
    "run rows.csv --schema good.json --epsilon 1e308",
    "run rows.csv --schema good.json --epsilon nan",
    "run rows.csv --schema good.json --epsilon 1 --method nope",
    "run rows.csv --schema good.json --epsilon 1 --relation nope",
    "run none.csv --schema good.json --epsilon 1",
    "run --from-release null",
    "statistics null --schema good.json --epsilon 1 --ask mean:a --out p.json",
    "audit --method nope --epsilon 1",
    "audit capacity --method nope --epsilon 1",
]
ASKING = """
import contextlib, io, json, sys
from synth import cli
slow, commands = json.loads(sys.argv[1])
found = {}
for line in commands:
    before = set(sys.modules)
    sys.argv = ["synth", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = left.code or 0
    found[line] = [code, told.getvalue(), [name for name in slow if name in sys.modules and name not in before]]
print(json.dumps(found))
"""
WITHOUT_TORCH = [
    "run rows.csv --schema good.json --epsilon 1 --method independent --assume-public --out out",
    "run rows.csv --schema good.json --epsilon 1 --method mwem --assume-public --out mwem",
    "run rows.csv --schema good.json --epsilon 1 --method small_db --assume-public --out small_db",
    "run --from-release out --out again",
    "sample out --num-rows 5 --out s.csv",
    "card check out/card.json",
    "statistics rows.csv --schema good.json --epsilon 1 --assume-public --ask mean:a --out p.json",
]
FIRST_PAGE = """
import sys
from streamlit.testing.v1 import AppTest
from synth import cli
at = AppTest.from_file(sys.argv[1], default_timeout=60).run()
assert not at.exception and [b for b in at.button], "the page stands"
print([name for name in ("torch", "scipy.stats", "dp_accounting", "sklearn") if name in sys.modules])
"""


@pytest.fixture
def place(tmp_path):
    """Files good and bad, and a pipe that nobody writes to."""
    import os

    (tmp_path / "good.json").write_text(json.dumps({"columns": {"a": {"type": "integer", "min": 0, "max": 9}}}))
    (tmp_path / "wrong.json").write_text(json.dumps({"columns": {"a": {"type": "integer", "min": 0}}}))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "rows.csv").write_text("a\n1\n2\n")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_no_command_loads_what_trains_networks_before_its_input_is_looked_at(place):
    call = [sys.executable, "-c", ASKING, json.dumps([SLOW, QUICK])]
    done = subprocess.run(call, cwd=place, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    parsed = json.loads(done.stdout)
    assert list(parsed) == QUICK
    assert {line: loaded for line, (_, _, loaded) in parsed.items() if loaded} == {}
    refused = {line: reported for line, (code, reported, _) in parsed.items() if code}
    assert len(refused) > 20
    last = [reported.strip().splitlines()[-1] for reported in refused.values()]  # above it the stages of a run
    assert not [line for line in last if not line.startswith("synth: ")]


def test_runs_by_counts_never_wait_for_torch_an_engine_or_another_accountant(place):
    """From the table to the files, and what is done with these afterwards."""
    call = [sys.executable, "-c", ASKING, json.dumps([["torch", "duckdb", "dp_accounting"], WITHOUT_TORCH])]
    done = subprocess.run(call, cwd=place, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    parsed = json.loads(done.stdout)
    assert {line: reported for line, (code, reported, _) in parsed.items() if code} == {}
    assert {line: loaded for line, (_, _, loaded) in parsed.items() if loaded} == {}


def test_the_first_page_of_the_application_loads_none_of_it(place):
    call = [sys.executable, "-c", FIRST_PAGE, str(ROOT / "app" / "main.py")]
    done = subprocess.run(call, cwd=place, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().splitlines()[-1] == "[]"
