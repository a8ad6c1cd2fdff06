"""What a user's type checker sees of the library, which says in its wheel that it has types."""

import os
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import ROOT

SCRIPT = """
import synth

schema = synth.Schema.load("people.schema.json")
result = synth.run("people.csv", schema=schema, epsilon=1.0, delta=1e-5, out="release")
reveal_type(synth.Synthesizer(schema, epsilon=1.0).fit("people.csv").sample(5))
reveal_type(result)
reveal_type(synth.Release("release").card)
reveal_type(synth.report("release", "report.html"))
reveal_type(synth.draft("people.csv").schema)
synth.Synthesizer(schema, epsilom=1.0)
"""


def test_the_wheel_says_that_it_has_types():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert "py.typed" in data["synth"]
    assert (ROOT / "synth" / "py.typed").exists()


@pytest.mark.long
def test_a_users_script_is_checked(tmp_path):
    (tmp_path / "user.py").write_text(SCRIPT)
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    checker = [sys.executable, "-m", "mypy", "--config-file", "", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run([*checker, "user.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    reported = done.stdout
    assert 'Revealed type is "dict[str, Any]"' in reported.replace("builtins.", "").replace("typing.", ""), reported
    assert 'Revealed type is "dict[str, str]"' in reported.replace("builtins.", ""), reported
    for name in ("pipeline.result.Result", "schema.table.Schema"):
        assert f'Revealed type is "synth.{name}"' in reported, reported
    assert 'Unexpected keyword argument "epsilom"' in reported, reported
    assert reported.count("error:") == 1, reported
