"""The library as a package: extras that are absent, errors as objects, what loads slowly, what a type checker sees.

Whether a library is loaded is asked of ``sys.modules`` in a process of its own, never of a clock.
"""

import ast
import json
import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import synth
from synth.errors import InputError, SynthError, UsageError, reading, remedy, spelled
from synth.evaluate import quality
from synth.generators import GENERATORS
from synth.pipeline.request import RunOptions, RunRequest
from synth.sources.engines.engine import Engine
from tests.conftest import ROOT

BRINGS = {  # the modules of each extra
    "app": ("streamlit", "altair", "authlib", "httpx"),
    "papers": ("opacus", "zuko"),
    "databases": ("ibis", "psycopg", "sqlglot", "pyarrow_hotfix"),
    "spark": ("pyspark",),
    "delta": ("deltalake",),
    "labelled": ("pyreadstat",),
    "mbi": ("mbi", "opendp"),
    "report": ("sdmetrics", "copulas"),
    "fetch": ("folktables",),
    "pdf": ("weasyprint",),
    "dev": ("hypothesis", "playwright", "pytest", "vl_convert"),
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def without(monkeypatch):
    """Hides the modules of extras from this process."""

    def hide(*extras: str) -> None:
        for top in [m for extra in extras for m in BRINGS[extra]]:
            for name in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
                monkeypatch.delitem(sys.modules, name)
            monkeypatch.setitem(sys.modules, top, None)

    return hide


def test_every_extra_is_known_here():
    assert {*BRINGS, "gpu"} == set(PROJECT["optional-dependencies"])


def test_nothing_imports_an_extra_before_it_is_asked_for():
    for path in [*(ROOT / "synth").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        there = {"app"} if path.is_relative_to(ROOT / "app") else set()
        tops = {m for extra, modules in BRINGS.items() if extra not in there for m in modules}
        for node in ast.parse(path.read_text()).body:
            named = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {n.split(".")[0] for n in named} & tops, f"{path}: {named}"


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_a_method_says_which_extra(small, without, method):
    without("mbi")
    with pytest.raises(synth.UsageError) as reported:
        synth.run(small[0], schema=synth.Schema.load(small[1]), epsilon=1, delta=1e-5, method=method, dataset="d")
    assert "`mbi`" in str(reported.value)
    assert remedy("mbi") in str(reported.value)
    assert not [e for e in synth.Ledger().entries() if e.kind == "spend"], "before the spend"


@pytest.mark.parametrize(
    ("address", "hidden", "extra"),
    [
        ("duckdb", "databases", "databases"),
        ("postgres://ann@127.0.0.1:1/db", "databases", "databases"),
        ("spark", "spark", "spark"),
        ("spark", "databases", "databases"),
    ],
)
def test_a_source_says_which_extra(without, address, hidden, extra):
    without(hidden)
    with pytest.raises(synth.UsageError) as reported:
        Engine(address).tables()
    assert remedy(extra) in str(reported.value)


NETWORKS = {"dp_ctgan", "dp_autogan", "dp_vae", "dp_flow", "dp_diffusion", "private_set"}  # trained on rows


def test_the_library_alone_runs_and_says_what_its_methods_lack(small, without, tmp_path):
    """A run, the steward's report, which says nothing of the scores that it lacks, and every method's plan."""
    without(*(set(BRINGS) - {"dev"}))
    (table, path), out = small, tmp_path / "out"
    schema = synth.Schema.load(path)
    synth.run(table, schema=schema, epsilon=1, delta=1e-5, method="independent", dataset="d", out=out)
    reported = synth.report(out, tmp_path / "report.html", real=table)
    assert "SDMetrics" not in Path(reported["report"]).read_text()
    assert quality.unscored() is not None
    lacks = {name: _lacks(name, schema) for name in GENERATORS}
    assert {n for n, said in lacks.items() if remedy("papers") in said} == NETWORKS
    assert {n for n, said in lacks.items() if remedy("mbi") in said} == {"mst", "aim"}
    assert not [said for said in lacks.values() if "No module" in said]


def _lacks(method: str, schema: synth.Schema) -> str:
    try:
        synth.plan(schema=schema, rows=300, epsilon=1, delta=1e-5, method=method)
    except SynthError as error:
        return str(error)
    return ""


def test_an_error_says_rule_place_and_remedy():
    error = InputError("{}: is empty; use another {}", "a.csv", "copy")
    assert str(error) == "a.csv: is empty; use another copy"
    read = InputError(str(error))
    for one in (error, read, pickle.loads(pickle.dumps(error))):
        assert (one.place, one.rule, one.remedy) == ("a.csv", "is empty", "use another copy")


def test_options_and_functions_are_spelled_where_a_message_is_shown():
    error = UsageError("`epsilon=0` is too small; see `synth.plan`, or raise `epsilon=` and `epsilon=`")
    assert error.options == ("epsilon",)
    shown = spelled(str(error), option=lambda n, v: f"<{n}:{v}>", function=lambda n, _: n.upper())
    assert shown == "<epsilon:0> is too small; see PLAN, or raise <epsilon:> and <epsilon:>"


def test_a_usage_error_is_a_value_error_and_keeps_its_words():
    with pytest.raises(ValueError, match=r"seed.*-1.*: must be a whole number"):
        synth.app_api.RunRequest(epsilon=1, delta=1e-5, seed=-1)
    with pytest.raises(UsageError, match=r"^mine$"), reading("file", "release"):
        raise UsageError("mine")


def test_no_handler_of_value_errors_takes_a_refusal_for_another_fault():
    """A ``UsageError`` raised inside a ``try`` whose handlers catch ``ValueError`` is let through by one before it."""
    wrong = []
    for path in [*(ROOT / "synth").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Try) and any("raise UsageError" in ast.unparse(part) for part in node.body):
                caught = [ast.unparse(h.type) if h.type else "Exception" for h in node.handlers]
                through = next((i for i, c in enumerate(caught) if "UsageError" in c or "SynthError" in c), len(caught))
                wrong += [f"{path}:{node.lineno}" for c in caught[:through] if "ValueError" in c]
    assert not wrong
    assert issubclass(UsageError, SynthError)


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


SCRIPT = """
from typing import Any

import synth

schema = synth.Schema.load("people.schema.json")
result = synth.run("people.csv", schema=schema, epsilon=1.0, delta=1e-5, out="release")
reveal_type(synth.Synthesizer(schema, epsilon=1.0).fit("people.csv").sample(5))
reveal_type(result)
card: dict[str, Any] = synth.Release("release").card
reveal_type(synth.Release("release").card)
reveal_type(synth.report("release", "report.html"))
reveal_type(synth.draft("people.csv").schema)
synth.Synthesizer(schema, epsilom=1.0)
"""


def test_the_wheel_says_that_it_has_types():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert "py.typed" in data["synth"]
    assert (ROOT / "synth" / "py.typed").exists()


CHECKED = """
[mypy]
follow_imports = silent
ignore_missing_imports = True
[mypy-torch.*,scipy.*,sklearn.*,jax.*,duckdb.*,sqlalchemy.*,numpy.*,pyspark.*,polars.*,pandas.*]
follow_imports = skip
"""  # what other libraries say of their types takes most of a minute to read


def test_a_users_script_is_checked(tmp_path):
    (tmp_path / "user.py").write_text(SCRIPT)
    (tmp_path / "mypy.ini").write_text(CHECKED)
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    checker = [sys.executable, "-m", "mypy", "user.py"]
    done = subprocess.run(checker, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    reported = done.stdout
    assert 'Revealed type is "dict[str, str]"' in reported.replace("builtins.", ""), reported
    for name in ("pipeline.result.Result", "release.card.card.Card", "schema.table.Schema"):
        assert f'Revealed type is "synth.{name}"' in reported, reported
    assert 'Unexpected keyword argument "epsilom"' in reported, reported
    assert reported.count("error:") == 1, reported


OWN = {"version", "table", "schema_file", "epsilon", "delta"}  # named by `run` itself, or not a caller's to say


def test_every_field_of_a_request_is_a_typed_keyword() -> None:
    assert RunOptions.__annotations__.keys() == RunRequest.model_fields.keys() - OWN
