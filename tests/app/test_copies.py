"""Commands in copies of a loaded process: the same answers, no noise, nothing of one in the next."""

import pytest

import synth
from app.session import aside, copies
from app.table import stored


@pytest.mark.parametrize(
    "arguments",
    [
        ("schema", "check", "schema.json", "--table", "small.csv"),
        ("schema", "check", "absent.json", "--table", "small.csv"),
        ("schema", "check"),
    ],
    ids=["done", "refused", "misspelt"],
)
def test_a_copy_answers_as_a_command_that_was_started(small, monkeypatch, home, arguments):  # noqa: ARG001
    monkeypatch.chdir(small[0].parent)
    copied = stored._copied(arguments)
    assert copied is not None, "the runner has threads"
    assert copied == stored._started(arguments)


def test_what_draws_noise_is_never_run_in_a_copy(monkeypatch):
    """Copies begin with the same random state: two runs would have the same noise, and their difference the rows."""
    monkeypatch.setattr(aside.runner, "ask", lambda *_, **__: pytest.fail("a copy was made"))
    for deed in ("run", "statistics", "audit", "fetch", "app"):
        assert stored._copied((deed, "table.csv")) is None


def test_each_copy_follows_its_own_environment_and_leaves_nothing(tmp_path, monkeypatch, small):  # noqa: ARG001
    reported = []
    for name in ("one", "two"):
        monkeypatch.setenv("SYNTH_LEDGER", str(tmp_path / f"{name}.sqlite"))
        synth.Ledger().set_policy("club", max_epsilon=2.0 if name == "one" else 3.0)
        reported.append(stored.answer("ledger", "show", "--json"))
        runner = aside.runner._child
    assert "one.sqlite" in reported[0]
    assert "two.sqlite" in reported[1]
    assert aside.runner._child is runner


def test_a_process_with_threads_is_not_copied(monkeypatch):
    monkeypatch.setattr("os.listdir", lambda _: ["1", "2"])
    assert copies.commanded(("schema", "check"), {}, "/") is None
