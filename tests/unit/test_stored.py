"""Releases and models survive the disk, a damaged one is an error in one line, and what earlier versions wrote stays
readable: schemas, releases, models, cards, statistics, ledgers and job folders."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import synth
from synth import jobs
from synth.errors import InputError
from synth.privacy.ledger.ledger import Ledger
from synth.questions import Bins, Counts, CountsRelease, Marginal
from synth.release import folder, store
from synth.release import folder as bundle
from tests.conftest import SMALL, small_frame
from tests.made import ran

STORED = Path(__file__).parents[1] / "stored"
VERSIONS = ("before_rooms", "before_requests")


@pytest.fixture(params=VERSIONS)
def place(request, tmp_path, monkeypatch):
    """A copy of one version's files, its paths set to where they lie now; its ledger is the one in use."""
    at = tmp_path / request.param
    shutil.copytree(STORED / request.param, at)
    for file in at.rglob("*.json"):
        file.write_text(file.read_text().replace("PLACE", str(at)))
    monkeypatch.setenv("SYNTH_LEDGER", str(at / "ledger.sqlite"))
    return at


def test_schemas_are_read(place):
    assert set(synth.Schema.load(place / "people.schema.json").columns) >= {"age", "seen"}
    learnt = synth.Schema.load(place / "learnt.schema.json")
    assert learnt.learnt is not None
    assert learnt.learnt.epsilon == 3.0
    assert learnt.columns["age"].source == "private"


@pytest.mark.parametrize("name", ["made", "slices"])
def test_a_release_is_checked_fitted_again_and_drawn_from(place, tmp_path, name):
    assert synth.check(json.loads((place / name / "card.json").read_text())).epsilon in (1.0, 2.0)
    stored = folder.load_release(place / name)
    assert stored.releases
    assert len(synth.sample(place / name, num_rows=7, seed=1)[0]) == 7
    again = synth.app_api.refit(place / name, num_rows=5, seed=1, out=tmp_path / "again")
    assert again.num_rows == 5
    assert again.epsilon_spent == 0


def test_the_ledger_tells_its_spends_and_is_charged_on(place):
    book = Ledger()
    assert [e.epsilon for e in book.entries("people") if e.kind == "spend"] == [2.0, 1.0, 0.5]
    assert [e.epsilon for e in book.entries("short") if e.kind == "spend"] == [3.0]
    asked = {"method": "independent", "dataset": "people", "num_rows": 5}
    ran(place / "people.csv", place / "people.schema.json", epsilon=0.25, **asked)
    assert sum(e.epsilon for e in book.entries("people") if e.kind == "spend") == 3.75


def test_paid_statistics_are_read(place):
    from synth.release import statistics_file

    assert statistics_file.load(place / "statistics.json")["statistics"][0]["ask"] == "mean:age"


def test_an_ended_job_tells_its_request_and_its_end(place):
    job = jobs.Job(place / "job")
    assert job.request()["method"] == "independent"
    assert job.request()["epsilon"] == 2.0
    assert job.status().state == "done"
    assert jobs.listing(place)[0].request()


def test_a_run_that_waits_for_a_reviewer_is_approved_and_runs(place, monkeypatch):
    from app.run import runs
    from app.session import access
    from synth.jobs.roles import Visitor

    bob = Visitor(name="bob@example.org", role="reviewer")
    monkeypatch.setattr(access, "allow", lambda *_: bob)
    runs.approve(jobs.Job(place / "held"))
    assert jobs.Job(place / "held").wait(90).state == "done"
    line = Ledger().entries("people")[-1]
    spend = next(e for e in Ledger().entries("people") if e.run == line.run and e.kind == "spend")
    assert (spend.approved_by, spend.epsilon) == ("bob@example.org", 1.0)
    assert (place / "held" / "release" / "synthetic.csv").exists()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of one small release."""
    import os

    folder = tmp_path_factory.mktemp("made")
    os.environ["SYNTH_LEDGER"] = str(folder / "ledger.sqlite")
    ran(small_frame(300), SMALL, method="independent", out=folder / "out", num_rows=20)
    return folder / "out"


def copy(made, tmp_path):
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_a_release_reads_back_as_it_was_written(made):
    stored = bundle.load_release(made)
    plain, arrays = store.pack(stored.releases)
    again = store.unpack(plain, arrays)
    for one, two in zip(stored.releases, again, strict=True):
        assert one.question.purpose == two.question.purpose
        for a, b in zip(one.values, two.values, strict=True):
            assert np.array_equal(a, b)
        for a, b in zip(one.question.marginals, two.question.marginals, strict=True):
            assert (a.columns, a.sigma) == (b.columns, b.sigma)
            assert all(np.array_equal(x.groups, y.groups) for x, y in zip(a.bins, b.bins, strict=True))


BREAK = {
    "not JSON": lambda _: "{",
    "a list": lambda _: "[]",
    "another format": lambda p: json.dumps({**p, "format": "other/9"}),
    "no schema": lambda p: json.dumps({k: v for k, v in p.items() if k != "schema"}),
    "no card": lambda p: json.dumps({k: v for k, v in p.items() if k != "card"}),
    "schema of others": lambda p: json.dumps({**p, "schema": {"columns": {"q": {"type": "identifier"}}}}),
    "nulls": lambda p: json.dumps(dict.fromkeys(p) | {"format": p["format"]}),
    "nested": lambda _: "[" * 100_000,
}


@pytest.mark.parametrize("kind", ["release", "model"])
@pytest.mark.parametrize("fault", BREAK)
def test_a_damaged_description_is_refused(made, tmp_path, kind, fault):
    folder = copy(made, tmp_path)
    file = folder / f"{kind}.json"
    file.write_text(BREAK[fault](json.loads(file.read_text())))
    read = bundle.load_release if kind == "release" else bundle.load_model
    with pytest.raises(InputError):
        read(file)


@pytest.mark.parametrize("kind", ["release", "model"])
@pytest.mark.parametrize("fault", ["absent", "noise", "other arrays"])
def test_damaged_arrays_are_refused(made, tmp_path, kind, fault):
    folder = copy(made, tmp_path)
    file = folder / f"{kind}.safetensors"
    file.unlink()
    if fault == "noise":
        file.write_bytes(bytes(range(256)) * 10)
    elif fault == "other arrays":
        save_file({"x": np.zeros(3)}, file)
    read = bundle.load_release if kind == "release" else bundle.load_model
    with pytest.raises(InputError):
        read(folder)


def test_no_file_of_a_release_is_a_pickle(made):
    for path in made.iterdir():
        assert path.suffix in (".json", ".csv", ".safetensors")
        if path.suffix == ".safetensors":  # eight bytes of length, then a JSON header
            assert path.read_bytes()[8:9] == b"{"


def counted(tables=7):
    """A release of pairs of different shapes, negative counts among them."""
    bins = [Bins.each(f"c{i}", 2 + i % 3) for i in range(tables + 1)]
    pairs = tuple(Marginal(bins=(a, b), sigma=2.5) for a, b in pairwise(bins))
    values = tuple(np.arange(m.cells).reshape(m.shape) - 3 for m in pairs)
    return CountsRelease(question=Counts(purpose="tables", marginals=pairs), values=values)


def test_very_many_tables_are_stored_as_one_array_and_read_back():
    release = counted()
    before = store.pack([release])
    plain, arrays = store.pack([release], many=5)
    assert len(arrays) == len(before[1]) - 7 + 2
    for read in (store.unpack(plain, arrays), store.unpack(*before)):  # those written before are read as ever
        assert [v.tolist() for v in read[0].values] == [v.tolist() for v in release.values]
        assert [m.columns for m in read[0].question.marginals] == [m.columns for m in release.question.marginals]


@pytest.mark.parametrize("shapes", [[[2, 3]], [[0, 3]] * 7, [[-2, -3]] * 7, [[2, 3], [3, 400]], [2, 3]])
def test_shapes_that_do_not_fill_their_array_are_damage(shapes):
    plain, arrays = store.pack([counted()], many=5)
    (reported,) = (p["values"]["shapes"]["array"] for p in plain["parts"] if "values" in p)
    with pytest.raises(InputError, match="damaged"):
        store.unpack(plain, {**arrays, reported: np.array(shapes)})
