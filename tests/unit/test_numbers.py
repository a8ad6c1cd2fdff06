"""An option that takes a number takes no `1_0`, which Python reads as ten: every option of every command."""

import pytest

from synth import cli
from synth.cli import numbers


def commands(command, path=()):
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from commands(one, (*path, name))


def numeric(command):
    """Names of its own options that take whole or decimal numbers."""
    for param in command.params:
        if getattr(getattr(param, "type_descriptor", None), "annotation", None) in (int, float):
            yield from (name for name in param.opts if name.startswith("--"))


CASES = [(path, option) for path, command in commands(cli.commands()) for option in numeric(command)]


def test_there_are_such_options():
    assert {"--epsilon", "--delta", "--num-rows", "--seed", "--max-epsilon"} <= {option for _, option in CASES}


@pytest.mark.parametrize("value", ["1_0", "0_1.5", "1_0e-5"])
def test_no_number_has_an_underscore(value, command):
    for path, option in CASES:
        for words in ((option, value), (f"{option}={value}",)):
            code, said, stderr = command(*path, *words)
            assert (code, said) == (2, ""), (path, option)
            assert f"{option} {value}: is not a number" in stderr, (path, option, stderr)


def test_a_text_may_have_one():
    assert numbers.check(["run", "a_b.csv", "--dataset", "a_b"], cli.commands()) is None
