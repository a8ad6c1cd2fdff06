"""Errors are objects: rule, place, remedy and options; what a check refuses is never taken for another fault."""

import ast
import pickle

import pytest

import synth
from synth.errors import InputError, SynthError, UsageError, reading, spelled
from tests.conftest import ROOT


def test_an_error_says_rule_place_and_remedy():
    error = InputError("is empty", place="a.csv", remedy="use another copy")
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
