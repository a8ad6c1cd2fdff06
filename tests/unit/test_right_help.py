"""A typo is answered with what was meant, and with the help of the command that was begun."""

import pytest

import synth
from synth.cli import app, commands
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


def leaves(command, path=()):
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from leaves(one, (*path, name))
    if not below:
        yield path, command


LEAVES = dict(leaves(commands()))


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_a_command_is_offered_wherever_its_name_is_typed_or_mistyped(path, command):
    if path[-1:] not in LEAVES or len(path) == 1:
        code, said, reported = command(path[-1], "x.csv") if len(path) > 1 else command(path[0] + "x")
        assert (code, said) == (2, "")
        assert f"`synth {' '.join(path)}`" in reported
    for letter in range(1, len(path[-1])):
        typed = path[-1][:letter] + path[-1][letter + 1 :]
        if len(typed) > 3 and typed not in {p[-1] for p in LEAVES}:
            assert f"`synth {' '.join(path)}`" in command(*path[:-1], typed)[2], typed


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_an_option_that_is_mistyped_is_offered(path, command):
    there = {o for p in LEAVES[path].params for o in p.opts if o.startswith("--") and len(o) > 6}
    for option in there:
        code, _, reported = command(*path, option + "z", "1")
        assert (code, len(reported.splitlines())) == (2, 1)
        assert f"did you mean {option}?" in reported


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("synth sche", "schema"),
        ("synth schema in", "init"),
        ("synth bundle --pap", "--papers"),
        ("synth rep", "report"),
    ],
)
def test_the_shell_completes_commands_and_options(typed, offered, monkeypatch, command):
    monkeypatch.setenv("_SYNTH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    code, said, reported = command()
    assert (code, reported) == (0, "")
    assert offered in said.split()
