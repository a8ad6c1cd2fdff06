"""A method's options: set by name, read as the default's type, refused with the list of what there is."""

from dataclasses import dataclass, field, fields

import pytest

import synth
from synth.cli.options import PARSERS
from synth.generators import GENERATORS, TREES, Methods
from synth.generators.method import Method, option, options_of, with_options
from tests.conftest import SMALL, small_frame
from tests.made import ran


@dataclass(frozen=True, kw_only=True)
class Some(Method):
    name = "some"
    steps: int = option(10, 1, 100)
    rate: float = option(0.5, 0, 1)
    loss: str = option("kl", "kl", "js")
    deep: bool = option(default=False)
    parts: list = field(default_factory=list)

    def measure(self, run):  # noqa: ARG002
        """Nothing."""
        return []


def test_options_are_the_fields_declared_so():
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


def test_an_option_of_an_earlier_version_is_passed_over_where_it_says_what_is_so_now():
    """Stored requests and releases bear it; what is no longer there is refused."""
    assert with_options(GENERATORS["dp_merf"], {"back_end": "mixture", "order": 2}).order == 2
    with pytest.raises(synth.UsageError, match=r"`options\.back_end="):
        with_options(GENERATORS["dp_merf"], {"back_end": "network"})


def test_a_text_without_a_value_is_refused():
    with pytest.raises(synth.UsageError, match="NAME=VALUE"):
        PARSERS["options"](["loss"])


def test_an_unknown_option_spends_nothing(tmp_path):
    book = synth.Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(synth.UsageError, match="nonsense"):
        ran(small_frame(50), SMALL, options={"nonsense": 1}, ledger=tmp_path / "ledger.sqlite")
    assert not [e for e in book.entries() if e.kind == "spend"]


def test_a_refit_keeps_the_releases_options(tmp_path):
    ran(small_frame(200), SMALL, out=tmp_path / "one", options={"oneway_share": 0.5}, num_rows=50)
    from synth.release import folder

    assert folder.load_release(tmp_path / "one").options["oneway_share"] == 0.5
    again = synth.app_api.refit(tmp_path / "one", out=tmp_path / "two", num_rows=20)
    assert folder.load_release(tmp_path / "two").options["oneway_share"] == 0.5
    assert len(again.frame) == 20


def test_a_method_is_loaded_when_it_is_asked_for_and_no_other():
    known = Methods({"dp_vae": "papers.dp_sgd:DPVae", "none": "papers.nothing:Nothing"})
    assert known["dp_vae"] is known["dp_vae"]
    assert known["dp_vae"].name == "dp_vae"
    assert "none" in known
    with pytest.raises(ModuleNotFoundError):
        known["none"]


def test_a_method_is_found_by_the_name_that_it_has():
    for known in (GENERATORS, TREES):
        assert {name: method.name for name, method in known.items()} == {name: name for name in known}


@pytest.mark.parametrize("method", [*GENERATORS.values(), *TREES.values()], ids=lambda m: f"{m.name}, {m.tables}")
def test_every_default_is_allowed_and_every_plain_field_is_an_option(method):
    method.check_options()
    plain = {f.name for f in fields(method) if isinstance(getattr(method, f.name), bool | int | float | str)}
    assert plain == set(options_of(method)) == set(method.ranges)
