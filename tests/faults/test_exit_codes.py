"""What strikes a run after its spend ends in exit code 5, whatever else breaks while that is told."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import synth
from synth import jobs
from synth.privacy.ledger.ledger import Ledger, Spend
from tests.conftest import SMALL, small_frame
from tests.made import python, ran


def removed(place: Path, _: bytes) -> None:
    for path in place.glob("ledger.sqlite*"):
        path.unlink()


def replaced(place: Path, _: bytes) -> None:
    other = place / "other.sqlite"
    facts = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system", "question": {}}
    Ledger(other).spend(Spend(dataset="else", epsilon=0.1, delta=1e-6, **facts))
    os.replace(other, place / "ledger.sqlite")


def older(place: Path, before: bytes) -> None:
    (place / "ledger.sqlite").write_bytes(before)


def read_only(place: Path, _: bytes) -> None:
    """What no permission bits can do to root: the ledger is a folder from now on."""
    (place / "ledger.sqlite").rename(place / "kept.sqlite")
    (place / "ledger.sqlite").mkdir()


STRIKES = (removed, replaced, older, read_only)


# Every strike at every stage, each method at each stage; the whole product with -m slow.
STAGES, METHODS = ("measure", "fit", "write"), ("independent", "slicing")
STRUCK = [
    pytest.param(strike, stage, method, marks=pytest.mark.slow if (i + j + k) % 2 else ())
    for i, strike in enumerate(STRIKES)
    for j, stage in enumerate(STAGES)
    for k, method in enumerate(METHODS)
]


@pytest.mark.parametrize(("strike", "stage", "method"), STRUCK, ids=lambda s: getattr(s, "__name__", s))
def test_a_ledger_that_is_struck_after_the_spend_leaves_exit_code_5(
    command, small, tmp_path, monkeypatch, strike, stage, method
):
    place, stages = tmp_path / "books", jobs.Reporter.stage
    place.mkdir()
    facts = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system", "question": {}}
    Ledger(place / "ledger.sqlite").spend(Spend(dataset="small", epsilon=0.1, delta=1e-6, **facts))
    before = (place / "ledger.sqlite").read_bytes()
    spent = []

    def staged(self, name):
        stages(self, name)
        if name == stage:
            spent.extend(e for e in Ledger(place / "ledger.sqlite").entries() if e.kind == "spend")
            strike(place, before)

    monkeypatch.setattr(jobs.Reporter, "stage", staged)
    code, said, stderr = command(
        f"run {small[0]} --schema {small[1]} --epsilon 1 --ledger {place}/ledger.sqlite --dataset small "
        f"--out {tmp_path}/out --method {method} --num-rows 20 --json"
    )
    assert len(spent) == 2, "the strike must have come after the spend to mean something"
    assert code == 5, stderr
    assert said == ""
    assert "is spent" in stderr
    assert "nothing was" not in stderr
    assert "Traceback" not in stderr


@pytest.fixture
def tiny(tmp_path):
    """A real file system of 300 KiB."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=300k", "tmpfs", place], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("a file system cannot be mounted here; the shim's full disk is tried elsewhere")
    yield place
    subprocess.run(["umount", "-l", place], check=False)


def fill(place: Path) -> None:
    handle = os.open(place / "ballast", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(handle, bytes(512)):
            pass
    os.close(handle)


@pytest.mark.parametrize("stage", ["read", "fit", "write"])
@pytest.mark.parametrize("where", ["the ledger's disk", "the release's disk"])
def test_a_disk_that_fills_after_the_spend_leaves_exit_code_5(
    command, small, tmp_path, monkeypatch, tiny, stage, where
):
    stages = jobs.Reporter.stage

    def staged(self, name):
        stages(self, name)
        if name == stage:
            fill(tiny)

    monkeypatch.setattr(jobs.Reporter, "stage", staged)
    book = (tiny if where == "the ledger's disk" else tmp_path) / "ledger.sqlite"
    out = (tiny if where == "the release's disk" else tmp_path) / "out"
    code, _, stderr = command(
        f"run {small[0]} --schema {small[1]} --epsilon 1 --ledger {book} --dataset small --out {out} "
        "--method independent --num-rows 20 --json"
    )
    (tiny / "ballast").unlink()
    assert [e.epsilon for e in Ledger(book).entries() if e.kind == "spend"] == [1.0]
    assert code == 5, stderr
    assert "is spent" in stderr
    assert "Traceback" not in stderr


def test_an_answer_that_cannot_be_printed_is_no_reason_to_deny_the_spend(small, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    book = tmp_path / "ledger.sqlite"
    with open("/dev/full", "w") as full:
        asked = f"-m synth run {small[0]} --schema {small[1]} --epsilon 1 --ledger {book} --dataset small --json"
        more = f"--out {tmp_path}/out --method independent --num-rows 20"
        done = python(*asked.split(), *more.split(), stdout=full, stderr=subprocess.PIPE)
    assert [e.epsilon for e in Ledger(book).entries() if e.kind == "spend"] == [1.0]
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    assert "is spent" in done.stderr


def test_the_library_raises_the_same(tmp_path):
    class Strikes:
        def stage(self, name):
            if name == "fit":
                removed(tmp_path, b"")

        def progress(self, fraction): ...

        def note(self, message): ...

    asked = {"method": "independent", "ledger": tmp_path / "ledger.sqlite", "num_rows": 20}
    with pytest.raises(synth.SpentError, match="is spent"):
        ran(small_frame(), SMALL, reporter=Strikes(), **asked)
