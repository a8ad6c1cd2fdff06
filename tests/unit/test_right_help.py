"""A typo is answered with what was meant, and with the help of the command that was begun."""

import pytest

from synth.cli import app
from synth.cli.answer import foreign


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["run", "x.csv", "--epsilom", "1"], "see `synth run --help`"),
        (["schema", "ini"], "see `synth schema --help`"),
        (["runn"], "see `synth --help`"),
    ],
)
def test_the_help_is_that_of_the_command_that_was_begun(typed, said):
    import typer.main

    with pytest.raises(Exception) as caught:  # noqa: PT011 - the parser's own kind, which the command line turns
        typer.main.get_command(app).main(typed, prog_name="synth", standalone_mode=False)
    assert said in foreign(caught.value)[0]
