"""Every example of the docs is tried: commands are ours with options that exist, and those that can run here run."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

import synth
from synth.cli import app
from synth.jobs import roles
from synth.sources import named_databases
from tests.made import ID, number

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [
    (page, line.strip())
    for page in PAGES
    for line in re.findall(r"^    (?:\w+=\S+ )*(synth .*)$", page.read_text(), re.M)
]
RUN = typer.main.get_command(app)
RELEASED = shlex.split("run table.csv --schema schema.json --epsilon 1 --method independent --out release")
RELEASED += ("--ledger", "own.sqlite")


def of(page: str, start: str) -> list[str]:
    """Examples of a page that begin so, without the program's name, as arguments."""
    results = [
        shlex.split(line, comments=True)[1:]
        for p, line in EXAMPLES
        if p == ROOT / "docs" / page and line.startswith(f"synth {start}")
    ]
    assert results, f"{page} has no example of synth {start}"
    return results


@pytest.mark.parametrize(("page", "line"), EXAMPLES, ids=lambda v: v if isinstance(v, str) else v.stem)
def test_commands_and_options_exist(page, line):
    entry, words = RUN, shlex.split(line, comments=True)[1:]
    while words and hasattr(entry, "commands") and words[0] in entry.commands:
        entry, words = entry.commands[words[0]], words[1:]
    assert hasattr(entry, "params"), f"{page.name}: {line}"
    known = {name for p in entry.params for name in [*p.opts, *p.secondary_opts]}
    unknown = [w for w in words if w.startswith("--") and w.partition("=")[0] not in known]
    assert not unknown, f"{page.name}: {line}"


def test_scripts_tests_and_targets_that_pages_name_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        code = re.findall(r"`([^`\n]+)`|^    (.+)$", page.read_text(), re.M)
        for text in ("".join(pair) for pair in code):
            for script in re.findall(r"\b((?:benchmarks|tests|container|synth)/[\w/]+\.(?:py|md|sh))\b", text):
                assert (ROOT / script).exists(), f"{page.name}: {script}"
            for target in re.findall(r"(?:^|; )make ([a-z][\w-]*)", text):
                assert target in targets, f"{page.name}: make {target}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A small table under the names that the pages use."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "A": rng.integers(0, 3, 400),
            "B": rng.choice(["x", "y", "N"], 400),
            "C": rng.integers(1, 6, 400),
            "D": [f"key{i}" for i in range(400)],
            "T": rng.choice(["no", "yes"], 400),
            "region": rng.choice(["1", "2", "?"], 400),
            "job": rng.choice(["1", "2"], 400),
            "AGEP": rng.integers(0, 100, 400),
            "SEX": rng.choice(["f", "m"], 400),
            "RAC1P": rng.choice(["a", "b", "c"], 400),
            "income": rng.choice(["high", "low"], 400),
        }
    )
    for name, rows in (("table.csv", table), ("heldout.csv", table[:100]), ("real.csv", table)):
        rows.to_csv(tmp_path / name, index=False)
    for name in ("region", "job"):
        (tmp_path / f"{name}.csv").write_text('value,label\n1,North\n2,"South, with islands"\n?,not asked\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(command, words: list[str], **names: str) -> None:
    """Runs an example; ``names``: what stands in the place of its words in capitals."""
    code, _, stderr = command(*(names.get(w, w) for w in words))
    assert code == 0, (words, stderr)


def test_the_examples_of_schema_and_exchange_run(folder, command):
    names = {"TABLE": "table.csv", "S.json": "s.json"}
    done(command, of("schema.md", "schema init")[0], **names)
    init, (plain, with_table, codes) = of("sources.md", "schema init")[0], of("sources.md", "schema import")
    for name in ("s.json", "S2.json"):
        (folder / name).unlink(missing_ok=True)
    done(command, init, **names)
    done(command, codes, **names)
    assert synth.Schema.load(folder / "S2.json", complete=False).columns["region"].labels
    done(command, of("sources.md", "schema export")[0], **names)
    done(command, plain, **{"S.json": "s3.json"})
    done(command, with_table, **{"S.json": "s4.json", "TABLE": "table.csv"})
    kinds = {n: {"type": "categorical"} for n in ("A", "B", "C", "T", "SEX")} | {"D": ID}
    kinds |= {n: {"type": "omitted"} for n in ("region", "job", "AGEP", "RAC1P", "income")}
    (folder / "kinds.json").write_text(synth.Schema.parse({"columns": kinds}, complete=False).to_json())
    done(command, of("schema.md", "schema learn")[0], **{"TABLE": "table.csv", "S.json": "s5.json"})


def test_the_examples_of_reports_bundle_and_ledger_run(folder, command):
    schema = folder / "schema.json"
    code, _, stderr = command(f"schema init table.csv --out {schema} --identifier D --unit row --assume-public")
    assert code == 0, stderr
    done(command, RELEASED)
    publishable = next(e for e in of("release.md", "report") if "--publishable" in e)
    done(command, of("release.md", "statistics")[0])
    done(command, publishable)
    done(
        command,
        [
            *next(e for e in of("release.md", "bundle") if "--choice" not in e),
            *shlex.split("--choice before --ledger own.sqlite"),
        ],
    )


def test_descriptions_in_the_docs_are_read(folder, monkeypatch):
    text = (ROOT / "docs" / "schema.md").read_text()
    whole, part, *columns = re.findall(r"```json\n(.*?)```", text, re.S)
    assert synth.Schema.parse(json.loads(whole)).target == "chronic_condition"
    dialect = json.loads("{" + part + "}")
    assert synth.Schema.parse({**dialect, "columns": {"a": number(0, 9)}}).dialect.decimal == ","
    areas, public = (synth.Schema.parse({"columns": json.loads("{" + told + "}")}) for told in columns)
    assert areas.columns["PUMA"].within
    assert public.columns["age"].role == "public"
    sources, people = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "app.md").read_text(), re.S)
    (folder / "sources.toml").write_text(sources)
    (folder / "roles.toml").write_text(people)
    monkeypatch.setenv("SYNTH_SOURCES", str(folder / "sources.toml"))
    assert [d.name for d in named_databases.databases()] == list(tomllib.loads(sources))
    assert roles.load(folder / "roles.toml")


@pytest.mark.slow
def test_the_examples_of_comparisons_with_real_rows_run(folder, command):
    made = ["schema", "init", "table.csv", "--out", "schema.json", "--identifier", "D", "--unit", "row"]
    done(command, [*made, "--assume-public"])
    done(command, RELEASED)
    done(command, [*next(e for e in of("release.md", "report") if "--test" in e), "--ledger", "own.sqlite"])
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "app.md").read_text(), re.S).group(1)
    exec(compile(code, "docs/app.md", "exec"), {"synth": synth, "schema": synth.Schema.load(folder / "schema.json")})


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for p, line in EXAMPLES if p.parent.name == "generators"])
def test_the_examples_of_the_methods_run(line, folder, command):
    (folder / "data").symlink_to(ROOT / "data")
    done(command, shlex.split(line)[1:])
