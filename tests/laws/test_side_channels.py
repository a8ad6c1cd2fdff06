"""Neighbouring tables through the real command line: all that can be seen but the noised output is the same.

Seen are exit code, stdout, stderr, names, rights and public sizes of files, job folder, card and ledger. Left out, and
written down in docs/threats.md: seconds, peak memory, and steward.json, which is the steward's alone.
"""

import json
import multiprocessing
import os
import runpy
import sqlite3
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from app.session import workers
from tests.conftest import ROOT, SMALL, small_frame
from tests.laws.masks import masked, still
from tests.made import python

pytestmark = pytest.mark.xdist_group("processes")

Ended = tuple[int, str, str]  # exit code, stdout, stderr
UNSEEN = {
    "id": "SENTINEL_ID",
    "age": "1e999",
    "sex": "SENTINEL_SEX",
    "region": "=SENTINEL",
    "income": "-5",
    "seen": "2020-13-45",
    "ill": "",
}


HOSTILE = {
    "id": "\0",
    "age": str(10**18 + 65),
    "sex": "f" * 5_000_000,
    "region": "3\0",
    "income": "7.125e400",
    "seen": "-infinity",
    "ill": "9" * 5000,
}


def tables() -> dict[str, pd.DataFrame]:
    """A table and its neighbours: a row less, a row more of cells that the schema does not know, a rare row more."""
    base = small_frame(300)
    rare = {**base.iloc[0].to_dict(), "age": "99", "region": "4", "income": "100000.00", "seen": "2020-12-31"}
    return {
        "base": base,
        "less": base.iloc[:-1],
        "odd": pd.concat([base, pd.DataFrame([UNSEEN])]),
        "hostile": pd.concat([base, pd.DataFrame([HOSTILE])]),
        "rare": pd.concat([base, pd.DataFrame([rare])]),
    }


def ran(place: Path, frame: pd.DataFrame, *arguments: str) -> dict:
    """Everything that can be seen of one command on one table."""
    place.mkdir()
    frame.to_csv(place / "t.csv", index=False)
    (place / "s.json").write_text(json.dumps(SMALL))
    facts = {c: {"type": f["type"]} for c, f in SMALL["columns"].items()}
    (place / "kinds.json").write_text(json.dumps({"columns": facts}))
    environment = {
        **os.environ,
        "SYNTH_HOME": str(place / "home"),
        "SYNTH_LEDGER": str(place / "ledger.sqlite"),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    code, out, err = (started if place.name == "base" else LOADED)(arguments, environment, str(place))
    return {"code": code, "out": masked(out, place), "err": masked(err, place), **seen(place)}


def started(arguments: tuple[str, ...], environment: dict[str, str], folder: str) -> Ended:
    """The command line in a process of its own."""
    done = python("-m", "synth", *arguments, cwd=folder, env=environment)
    return done.returncode, done.stdout, done.stderr


class Loaded:
    """The command line in copies of one process that has loaded it: what is compared owes nothing to noise.

    The base table's commands are started anew, so that a copy that showed anything else would be seen.
    """

    def __init__(self) -> None:
        self.copies = multiprocessing.get_context("forkserver")
        self.copies.set_forkserver_preload([*workers.LOADED, "synth.cli"])  # the application's tests copy it too

    def __call__(self, arguments: tuple[str, ...], environment: dict[str, str], folder: str) -> Ended:
        with tempfile.TemporaryDirectory() as held:
            files = [str(Path(held) / name) for name in ("out", "err")]
            copy = self.copies.Process(target=_become, args=(arguments, environment, folder, files))
            copy.start()
            copy.join(120)
            out, err = (Path(file).read_text(encoding="utf-8") for file in files)
            return copy.exitcode, out, err


def _become(arguments: tuple[str, ...], environment: dict[str, str], folder: str, files: list[str]) -> None:
    """The command, as if it had been started; it ends the process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["synth", *arguments]
    try:
        runpy.run_module("synth", run_name="__main__", alter_sys=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


LOADED = Loaded()


def seen(place: Path) -> dict:
    """Names and rights of all files, and what is in those that hold no noise."""
    files = sorted(p for p in place.rglob("*") if p.is_file() and p.name not in ("t.csv", "ledger.sqlite-journal"))
    jobs = {p.name: f"job{i}" for i, p in enumerate(sorted((place / "home" / "jobs").glob("2*")))}
    names = {}
    for path in files:
        name = str(path.relative_to(place))
        for old, new in jobs.items():
            name = name.replace(old, new)
        names[name] = oct(path.stat().st_mode)
    result: dict = {"names": names}
    for path in files:
        if path.name in ("request.json", "status.json", "card.json", "schema.json"):
            result[path.name] = still(json.loads(path.read_text()), place)
        if path.name in ("log.txt", "result.json"):
            result[path.name] = masked(path.read_text(), place)
        if path.name == "release.safetensors":
            result["release size"] = path.stat().st_size
    with sqlite3.connect(place / "ledger.sqlite") as db:
        db.row_factory = sqlite3.Row
        lines = [dict(line) for line in db.execute("SELECT * FROM ledger ORDER BY number")]
    db.close()
    for line in lines:
        line["question"] = json.loads(line["question"])
    result["ledger"] = still(lines, place)
    return result


def public(result: dict) -> dict:
    """Without what later questions, and with them noise and sizes, owe to earlier noised answers."""
    retained = {k: v for k, v in result.items() if k != "release size"}
    if "status.json" in retained:  # the loss of a fit to noised answers
        retained["status.json"] = {k: v for k, v in result["status.json"].items() if k != "losses"}
    retained["card.json"] = {k: v for k, v in result["card.json"].items() if k not in ("mechanisms", "epsilon_derived")}
    retained["ledger"] = [
        {**line, "question": {**line["question"], "detail": None}} if line["kind"] == "outcome" else line
        for line in result["ledger"]
    ]
    return retained


RUN = ("run", "t.csv", "--schema", "s.json", "--epsilon", "1", "--dataset", "d", "--out", "out", "--num-rows", "40")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    base = tmp_path_factory.mktemp("runs")
    return {n: ran(base / n, frame, *RUN, "--method", "independent") for n, frame in tables().items() if n != "rare"}


@pytest.mark.parametrize("neighbour", ["less", "odd", "hostile"])
@pytest.mark.long
def test_a_run_shows_no_difference_between_neighbours(runs, neighbour):
    assert runs["base"]["code"] == 0, runs["base"]["err"]
    assert public(runs[neighbour]) == public(runs["base"])
    assert "SENTINEL" not in json.dumps(runs[neighbour])


@pytest.mark.long
def test_the_comparison_sees_enough(runs):
    """The evil twin: a table that is no neighbour in form is told apart; and what must be there is looked at."""
    reported = runs["base"]
    assert {"names", "status.json", "request.json", "card.json", "schema.json", "ledger", "release size"} <= set(
        reported
    )
    assert [line["kind"] for line in reported["ledger"]] == ["spend", "fingerprint", "outcome"]
    assert any(name.endswith("steward.json") for name in reported["names"])
    assert next(mode for name, mode in reported["names"].items() if name.endswith("steward.json")) == "0o100600"


@pytest.mark.long
def test_a_difference_in_a_message_or_a_name_would_be_seen(runs, tmp_path):
    other = ran(tmp_path / "x", tables()["base"], *RUN[:-1], "41", "--method", "independent")
    assert public(other) != public(runs["base"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mixture", "slicing", "dp_merf", "mwem"])
def test_other_methods_show_no_difference_either(method, tmp_path):
    results = [ran(tmp_path / n, t, *RUN, "--method", method) for n, t in tables().items()]
    assert results[0]["code"] == 0
    for one in results[1:]:
        assert public(one) == public(results[0])


@pytest.mark.long
def test_learning_a_schema_shows_no_difference_but_the_learnt_facts(tmp_path):
    arguments = [
        "schema",
        "learn",
        "t.csv",
        "--schema",
        "kinds.json",
        "--epsilon",
        "2",
        "--dataset",
        "d",
        "--out",
        "learnt.json",
    ]
    results = [ran(tmp_path / n, t, *arguments) for n, t in tables().items() if n in ("base", "odd")]
    assert results[0]["code"] == 0, results[0]["err"]
    for one in results:
        for line in one["ledger"]:
            line.pop("question")  # the accountant's figure of what was asked is the same; what was learnt is noised
    assert results[0] == results[1]
    for name in ("base", "odd"):
        assert "SENTINEL" not in (tmp_path / name / "learnt.json").read_text()


REFUSALS = {
    "a column that is not there": ("run", "t.csv", "--schema", "wide.json", "--epsilon", "1", "--out", "out"),
    "a budget": (*RUN, "--method", "independent", "--ledger", "capped.sqlite"),
    "an option": (*RUN, "--method", "nonsense"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_refusals_say_the_same_of_neighbours(refusal, tmp_path, command, monkeypatch):
    from synth.privacy.ledger.ledger import Ledger

    reported = {}
    for name in ("less", "odd"):
        place = tmp_path / name
        place.mkdir()
        tables()[name].to_csv(place / "t.csv", index=False)
        (place / "s.json").write_text(json.dumps(SMALL))
        more = {**SMALL["columns"], "absent": {"type": "integer", "min": 0, "max": 1}}
        (place / "wide.json").write_text(json.dumps({**SMALL, "columns": more}))
        Ledger(place / "capped.sqlite").set_policy("d", max_epsilon=0.5)
        monkeypatch.chdir(place)
        code, out, err = command(*REFUSALS[refusal])
        reported[name] = (code, out, masked(err, place))
    assert reported["less"] == reported["odd"]
    assert reported["less"][0] in (2, 3, 4)


@pytest.mark.long  # OpenDP takes seconds to load
def test_only_the_filters_own_refusal_is_passed_over_in_opendps_rounds():
    """A fault that the rows might have caused must not choose which tables are told (external.md)."""
    dp = pytest.importorskip("opendp.prelude", reason="the extra [mbi] is not installed")
    from synth.mechanisms.external import _exhausted

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    inner = dp.c.make_fully_adaptive_composition(*space, output_measure=dp.zero_concentrated_divergence())
    asked = dp.c.make_privacy_filter(inner, d_in=1.0, d_out=0.1)(1.0)
    noisy = dp.m.make_gaussian(*space, scale=3.0)
    asked(noisy)
    with pytest.raises(Exception, match="exhausted") as reported:
        asked(noisy)
    assert _exhausted(reported.value)
    assert not _exhausted(ValueError("filter is now exhausted"))
    with pytest.raises(Exception, match=r".") as other:
        dp.m.make_gaussian(*space, scale=-1.0)
    assert not _exhausted(other.value)
