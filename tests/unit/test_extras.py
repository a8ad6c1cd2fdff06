"""What an extra brings may be absent: everything else works, and what cannot says which extra and the command."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

import synth
from synth.errors import SynthError, remedy
from synth.evaluate import quality
from synth.generators import GENERATORS
from synth.sources.engines.engine import Engine
from tests.conftest import ROOT

BRINGS = {  # the modules of each extra
    "app": ("streamlit", "altair", "authlib", "httpx"),
    "papers": ("opacus", "zuko"),
    "databases": ("ibis", "psycopg", "sqlglot", "pyarrow_hotfix"),
    "spark": ("pyspark",),
    "delta": ("deltalake",),
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
    reported = synth.app_api.write_steward_report(synth.app_api.examine(out, real=table), out, tmp_path / "report.html")
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
