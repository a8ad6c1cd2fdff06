"""A file or folder that is not there is said to be missing, by every command that reads one: never as a damaged one.

And a wrong table is said to be a wrong table. A new command or option falls under the law once it takes a path.
"""

import re

import pytest

import synth
from synth.cli import commands
from synth.cli.answer import REMEDIES
from tests.conftest import SMALL, small_frame
from tests.made import ran

READ = set(REMEDIES)  # options and arguments that name what must be there
WRITTEN = {"out", "ledger", "job", "cache", "folder", "tables", "sources", "roles", "secrets", "question"}
MISSING = re.compile(r"no such (file|folder)")
GIVEN = {  # what else a command needs before it looks for the path
    "run": ("--epsilon", "1"),
    "statistics": ("--epsilon", "1", "--ask", "mean:age"),
    "plan": ("--rows", "100"),
    "preview": ("--rows", "100"),
    "estimate": ("--ask", "mean:age"),
    "schema learn": ("--epsilon", "1"),
    "card export": ("--format", "dpia"),
}


def leaves(command, path=()):
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from leaves(one, (*path, name))
    if not below:
        yield " ".join(path), command


def paths(command):
    """The parameters that take a path."""
    kinds = {p: str(getattr(getattr(p, "type_descriptor", None), "annotation", "")) for p in command.params}
    return [p for p, kind in kinds.items() if "Path" in kind]


CASES = [(name, p.name) for name, command in leaves(commands()) for p in paths(command) if p.name in READ]


def test_every_path_is_one_that_is_read_or_one_that_is_written():
    known = READ | WRITTEN
    assert not {(n, p.name) for n, c in leaves(commands()) for p in paths(c) if p.name not in known}
    assert len(CASES) > 30


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """What is there, by the name of its parameter."""
    place = tmp_path_factory.mktemp("there")
    table, schema, out = place / "real.csv", place / "s.json", place / "out"
    small_frame(300).to_csv(table, index=False)
    facts = synth.Schema.parse(SMALL)
    facts.save(schema)
    ran(table, facts, out=out, dataset="s", method="independent", ledger=place / "l")
    (place / "papers.json").write_text("{}")
    known = {"table": table, "schema": schema, "release": out, "model": out, "card": out, "before": out, "after": out}
    return {**known, "real": table, "test": table, "metadata": schema, "book": table, "ledger": place / "l"}


def asked(name, missing, there, tmp_path):
    """The command with everything that it needs, and one path that is not there."""
    command = dict(leaves(commands()))[name]
    words, nowhere = name.split(), tmp_path / "no" / "where"
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    for p in arguments:
        if p.name in READ:
            if p.required or p.name == missing or p.name == "table":
                words.append(nowhere if p.name == missing else there[p.name])
        elif p.name == "question":
            words.append(tmp_path / "question.json")
        elif p.name == "column":
            words.append("age")
    for p in command.params:
        if p.param_type_name == "argument" or p.name not in READ | {"out", "ledger"}:
            continue
        if p.name == missing:
            words += [p.opts[0], nowhere]
        elif p.name == "out" and p.required:
            words += [p.opts[0], tmp_path / "new"]
        elif p.name == "ledger" and name not in ("ledger backup", "ledger restore"):
            words += [p.opts[0], there["ledger"]]
        elif p.required or (name == "run" and p.name == "schema" and missing != "from_release"):
            words += [p.opts[0], there[p.name]]
    return [*words, *(w for w in GIVEN.get(name, ()) if w != "{column}")], nowhere


@pytest.mark.parametrize(("name", "missing"), CASES)
def test_a_missing_path_is_said_to_be_missing(command, there, tmp_path, name, missing):
    (tmp_path / "question.json").write_text('{"kind": "mean", "of": "age"}')
    words, nowhere = asked(name, missing, there, tmp_path)
    if name == "run" and missing == "from_release":
        words = ["run", "--from-release", nowhere]
    if (name, missing) in (("report", "statistics"),):
        words.append("--publishable")
    if (name, missing) == ("report", "test"):
        words += ["--real", there["real"]]
    code, said, reported = command(*words)
    assert code in (2, 3), reported
    last = reported.strip().splitlines()[-1]
    assert str(nowhere) in last
    assert MISSING.search(last), last
    assert "damaged" not in last
    assert not said


WRONG = [
    ("run", "{wrong}", "--schema", "{schema}", "--epsilon", "1"),
    ("report", "{release}", "--real", "{wrong}"),
    ("report", "{release}", "--real", "{table}", "--test", "{wrong}"),
    ("statistics", "{wrong}", "--schema", "{schema}", "--epsilon", "1", "--ask", "mean:age"),
    ("schema", "check", "{schema}", "--table", "{wrong}"),
]


@pytest.mark.parametrize("words", WRONG, ids=lambda w: " ".join(w[:2]))
def test_a_wrong_table_is_said_to_be_another(command, there, tmp_path, words):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,SENTINEL_7\n")
    asked_for = [w.format(wrong=wrong, **there) for w in words]
    ledger = () if words[0] == "schema" else ("--ledger", there["ledger"])
    code, said, reported = command(*asked_for, *ledger)
    last = reported.strip().splitlines()[-1]
    assert code == 2, reported
    assert f"{wrong}: another table" in last
    assert "it has a, b" in last
    assert "SENTINEL" not in reported + said
