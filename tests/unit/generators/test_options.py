"""A method's options: set by name, read as the default's type, refused with the list of what there is."""

from dataclasses import dataclass, field

import pytest

import synth
from synth.cli.options import parse_options
from synth.generators.method import Method
from synth.generators.options import options_of, with_options
from tests.conftest import SMALL, small_frame


@dataclass(frozen=True, kw_only=True)
class Some(Method):
    name: str = "some"
    summary: str = ""
    steps: int = 10
    rate: float = 0.5
    loss: str = "kl"
    deep: bool = False
    parts: list = field(default_factory=list)


def test_options_are_the_plain_fields():
    assert options_of(Some()) == {"steps": 10, "rate": 0.5, "loss": "kl", "deep": False}


def test_texts_are_read_as_the_defaults_type():
    made = with_options(Some(), {"steps": "20", "rate": "1e-3", "loss": "js", "deep": "yes"})
    assert (made.steps, made.rate, made.loss, made.deep) == (20, 1e-3, "js", True)


@pytest.mark.parametrize(
    ("name", "value"), [("steps", "many"), ("rate", "x"), ("deep", "maybe"), ("name", "y"), ("z", 1)]
)
def test_a_wrong_option_is_refused_by_name(name, value):
    with pytest.raises(synth.UsageError, match=f"`options.{name}="):
        with_options(Some(), {name: value})


def test_a_text_without_a_value_is_refused():
    with pytest.raises(synth.UsageError, match="NAME=VALUE"):
        parse_options(["loss"])


def test_an_unknown_option_spends_nothing(tmp_path):
    book = synth.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(synth.UsageError, match="nonsense"):
        synth.run(
            small_frame(50),
            schema=synth.Schema.parse(SMALL),
            epsilon=1.0,
            delta=1e-5,
            dataset="d",
            options={"nonsense": 1},
            ledger=tmp_path / "ledger.sqlite",
        )
    assert not [e for e in book.entries() if e.kind == "spend"]


def test_a_refit_keeps_the_releases_options(tmp_path):
    synth.run(
        small_frame(200),
        schema=synth.Schema.parse(SMALL),
        epsilon=1.0,
        delta=1e-5,
        dataset="d",
        out=tmp_path / "one",
        options={"oneway_share": 0.5},
        num_rows=50,
    )
    from synth.release import folder

    assert folder.load_release(tmp_path / "one").options["oneway_share"] == 0.5
    again = synth.app_api.refit(tmp_path / "one", out=tmp_path / "two", num_rows=20)
    assert folder.load_release(tmp_path / "two").options["oneway_share"] == 0.5
    assert len(again.frame) == 20
