"""Releases and models survive the disk, and a damaged one is an error in one line, whatever was damaged."""

import json
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import save_file

from synth.errors import InputError
from synth.questions import Bins, Counts, CountsRelease, Marginal
from synth.release import folder as bundle
from synth.release import store
from tests.conftest import SMALL, small_frame
from tests.made import ran


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
