"""Messages speak Python: each face writes the options and functions in them in its own way, and has all of them."""

import ast
import re
from functools import cache
from inspect import signature
from pathlib import Path

import pytest

import synth
from app.session import words
from synth import errors
from synth.cli import answer as spelling
from synth.cli import commands
from synth.pipeline import prepare, request
from tests.conftest import ROOT
from tests.parsed import called, nodes

pytestmark = pytest.mark.xdist_group("code")

BUILT = {  # names that a message takes from a variable, by the variable and its file
    ("keyword", "draft_schema.py"): ("categorical", "ordinal", "identifier", "datetime_", "group", "target"),
    ("option", "draft_related.py"): ("root", "public", "most_children"),
    ("option", "drafting.py"): ("categorical", "ordinal", "identifier", "datetime_"),
    ("what", "policy.py"): ("epsilon", "delta"),
    ("name", "prepare.py"): prepare.SINGLE,
    ("name", "request.py"): tuple({*request.TEXTS} - {"actor"}),  # whom the application or the system names
    ("n", "sample_parts.py"): ("num_rows", "seed", "where"),
    ("name", "method.py"): (),  # options.NAME: a method's own
}
SAID = re.compile(r"(Said|Error)$")  # what is called with a text and its values
NO_FIELD = {  # options that the application sets by itself or not at all, and says so (labels.ELSEWHERE)
    *(
        "ask",
        "columns",
        "count",
        "datetime_",
        "device",
        "facts",
        "form",
        "kind",
        "language",
        "learn_share",
        "ledger",
        "max_categories",
        "most_children",
        "replace",
        "prior_reason",
        "released",
        "schema",
    ),
    *("most_children", "out", "paid", "seconds", "seed", "table", "table_name"),
    *("draws", "only", "related", "scale", "strategy", "whole"),  # of audits
    *("folder", "state", "year"),  # of fetch
}
NO_PAGE = {"Ledger.grant", "Ledger.rebuild", "methods", "statistics"}


@cache
def texts(path: Path) -> tuple[str, ...]:
    """The pieces of a file's string literals, its docstrings left out; variables in them as {their source}."""
    tree = nodes(path)
    bodies = [n.body for n in tree if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
    left_out = {id(b[0].value) for b in bodies if b and isinstance(b[0], ast.Expr)}
    joined = [n for n in tree if isinstance(n, ast.JoinedStr)]
    left_out |= {id(piece) for n in joined for piece in n.values}
    said = [n for n in tree if isinstance(n, ast.Call) and n.args[1:] and SAID.search(called(n))]
    said = [n for n in said if isinstance(n.args[0], ast.Constant) and isinstance(n.args[0].value, str)]
    left_out |= {id(n.args[0]) for n in said}
    plain = [n.value for n in tree if isinstance(n, ast.Constant) and id(n) not in left_out]
    return (*(_whole(n) for n in joined), *(_filled(n) for n in said), *(v for v in plain if isinstance(v, str)))


def _filled(said: ast.Call) -> str:
    values = iter(said.args[1:])
    return re.sub(
        r"{[^{}]*}", lambda _: f"{{{ast.unparse(next(values, said))}}}", re.sub("{{|}}", "", said.args[0].value)
    )


def _whole(joined: ast.JoinedStr) -> str:
    pieces = (n.value if isinstance(n, ast.Constant) else f"{{{ast.unparse(n.value)}}}" for n in joined.values)
    return "".join(str(p) for p in pieces)


def library() -> list[Path]:
    return [p for p in (ROOT / "synth").rglob("*.py") if p.parent.name != "cli" and p.name != "errors.py"]


@cache
def options() -> frozenset[str]:
    """Every option that a message of the library names."""
    said = [text for path in library() for text in texts(path)]
    results = {m[1].partition(".")[0] for text in said for m in errors.OPTION.finditer(text)}
    results |= {name for text in said for m in errors.FUNCTION.finditer(text) for name in errors.arguments(m[2] or "")}
    return frozenset(results.union(*BUILT.values()))


@cache
def functions() -> frozenset[str]:
    """Every function that a message names; documents, which no face shows, may name others."""
    said = [text for path in library() if path.parent.name != "documents" for text in texts(path)]
    return frozenset(m[1] for text in said for m in errors.FUNCTION.finditer(text))


def test_no_message_of_the_library_spells_a_flag_or_a_command():
    """A shell's line in a document, and a command that a program starts, are no messages."""
    flag = re.compile(r"(?<![\w-])--[a-z]|`synth (?!ledger restore`)[a-z]")  # of a restoration Python has no name
    shell = re.compile(r"(?m)^    (synth|python) .*$")
    wrong = [
        f"{path}: {text}"
        for path in library()
        for text in texts(path)
        if flag.search(shell.sub("", text)) and not (path.name == "job.py" and re.fullmatch("--[a-z]+", text))
    ]
    assert not wrong


def test_a_name_that_a_message_takes_from_a_variable_is_known_here():
    built = {(m, p.name) for p in library() for t in texts(p) for m in re.findall(r"`(?:options\.)?{(\w+)}=", t)}
    assert built == set(BUILT)


def test_every_option_of_a_message_is_one_in_python():
    """A parameter or a field of that name."""
    all_nodes = [n for path in library() for n in nodes(path)]
    known = {n.arg for n in all_nodes if isinstance(n, ast.arg)}
    known |= {n.target.id for n in all_nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    assert options() <= known


def test_every_option_of_a_message_is_a_flag():
    there = set(spelling.flags(commands()))
    for name in options() - set(spelling.ARGUMENTS) - {"form"}:  # of `encode`, which no command calls
        flags = {f"--{f.replace('_', '-')}" for f in spelling.FLAGS.get(name, (name,))}
        assert flags <= there, name
    assert set(spelling.FLAGS) <= options() | {"options"}, "no flag that no message names"
    said = [m for path in library() for text in texts(path) for m in errors.OPTION.finditer(text)]
    assert {m[1] for m in said if m[2] == "False"} == set(spelling.NEGATED), "a flag of its own says no"
    assert set(spelling.NEGATED.values()) <= there


def test_every_option_of_a_message_is_a_field_of_the_application_or_known_to_be_none():
    written = {t for p in (ROOT / "app").rglob("*.py") if p.name != "words.py" for t in texts(p)}
    assert options() - {"options"} == set(words.LABELS) | NO_FIELD
    assert not set(words.LABELS) & NO_FIELD
    for name, label in words.LABELS.items():
        assert any(text.startswith(label) for text in written), f"{name}: no field is labelled {label!r}"


def test_every_function_of_a_message_is_there_in_each_face():
    assert functions() == set(spelling.COMMANDS) == set(words.PAGES) | NO_PAGE
    for name, command in spelling.COMMANDS.items():
        place = synth
        for part in name.split("."):
            place = getattr(place, part)
        group = commands()
        for word in command.split():
            group = group if word.startswith("--") else group.commands[word]
        assert {w for w in command.split() if w.startswith("--")} <= set(spelling.flags(group)), command
    quoted = [q for page in words.PAGES.values() for q in re.findall("“([^”]+)”", page)]
    written = [t for p in (ROOT / "app").rglob("*.py") if p.name != "words.py" for t in texts(p)]
    assert all(any(t.startswith(q) for t in written) for q in quoted)


@pytest.mark.parametrize(
    ("given", "shown", "labelled"),
    [
        ("`epsilon=0` is too small", "--epsilon 0 is too small", "“Privacy loss (epsilon) = 0” is too small"),
        ("`options.steps=x`: no", "--option steps=x: no", "“Steps = x”: no"),
        ("`where=age=5`: no", "--where age=5: no", "“Only rows with = age=5”: no"),
        ("`table=` is missing", "TABLE is missing", f"table {words.ELSEWHERE} is missing"),
        (
            "use `synth.Ledger.set_policy(dataset='my data', max_epsilon=E)`",
            "use `synth ledger policy --dataset 'my data' --max-epsilon E`",
            "use “Cap on epsilon over all runs”",
        ),
        ("column `a: is odd", "column `a: is odd", "column `a: is odd"),
        ("see `synth.draft((()`", "see `synth schema init`", "see the page The table"),
    ],
)
def test_faces_write_the_same_message_in_their_own_way(given, shown, labelled):
    assert spelling.spelled(given) == shown
    assert words.plain(given) == labelled


def test_a_command_that_a_program_runs_leaves_messages_as_they_are(monkeypatch):
    monkeypatch.setenv(spelling.AS_PYTHON, "python")
    assert spelling.spelled("`epsilon=0`: no") == "`epsilon=0`: no"


def test_the_flag_is_one_of_the_running_command(monkeypatch):
    monkeypatch.setitem(spelling.FLAGS, "how", ("choice", "use"))
    for command, flag in ((["bundle", "x"], "--choice"), (["card", "write", "x"], "--choice")):
        monkeypatch.setattr("sys.argv", ["synth", *command])
        assert spelling.spelled("say `how=`") == f"say {flag}"


def test_delta_is_the_same_where_nobody_says_it():
    paid = (synth.run, synth.plan, synth.learn_schema, synth.statistics, synth.federated, synth.Synthesizer)
    flags = [
        o.default for c in commands().commands.values() for o in c.params if o.name == "delta" and o.default is not None
    ]
    assert flags
    assert {*flags, *(signature(f).parameters["delta"].default for f in paid)} == {1e-5}
