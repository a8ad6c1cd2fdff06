"""A typo is answered with what was meant, and with the help of the command that was begun."""

import pytest

import synth
from synth.cli import app
from synth.cli.answer import foreign
from synth.errors import meant


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["run", "x.csv", "--epsilom", "1"], "see `synth run --help`"),
        (["schema", "ini"], "see `synth schema --help`"),
        (["runn"], "see `synth --help`"),
        (["plan", "--rows", "many"], "write a whole number"),
    ],
)
def test_the_help_is_that_of_the_command_that_was_begun(typed, said):
    import typer.main

    with pytest.raises(Exception) as caught:  # noqa: PT011 - the parser's own kind, which the command line turns
        typer.main.get_command(app).main(typed, prog_name="synth", standalone_mode=False)
    assert said in foreign(caught.value)[0]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("mixtur", "did you mean mixture?"),
        ("Chronic", "did you mean chronic_condition?"),
        ("zzz", "choose one of age, chronic_condition, mixture"),
        ("", "choose one of"),
    ],
)
def test_a_name_that_is_unknown_is_answered_with_what_was_meant(name, remedy):
    assert meant(name, ["age", "chronic_condition", "mixture"]).startswith(remedy)


@pytest.mark.parametrize("typed", [["-h"], ["help"], ["run", "-h"], ["help", "run"], ["help", "schema", "init"]])
def test_help_is_given_however_it_is_asked_for(typed, command):
    code, said, _ = command(*typed)
    assert (code, said.startswith("Usage: synth")) == (0, True)


def test_the_version_is_said(command):
    assert command("--version") == (0, f"synth {synth.__version__}\n", "")


@pytest.mark.parametrize(
    "group", [[], ["schema"], ["ledger"], ["card"], ["audit"]], ids=lambda g: " ".join(g) or "synth"
)
def test_no_summary_of_a_command_is_cut_off(group, command):
    _, said, _ = command(*group, "--help")
    assert "..." not in said.partition("Commands:")[2]
