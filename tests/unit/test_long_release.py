"""A release longer than memory: told, kept, written and read a piece at a time, and fitted to as a short one is."""

import hashlib
import io
import tempfile
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save

import synth
from synth.errors import InputError
from synth.generators.papers import slice_training as training
from synth.mechanisms import slices
from synth.numeric import disk_array
from synth.privacy.noise import SeededNoise
from synth.questions import Bins, Block, Encoding, Slices
from synth.release import folder as bundle
from synth.release import safetensors_stream, store
from tests.conftest import SMALL, small_frame
from tests.made import ran

WIDTH, ROWS = 64, 60_000
WHOLE = 8 * WIDTH * ROWS  # bytes of the release


@pytest.fixture
def small_memory(monkeypatch, tmp_path):
    """Arrays above a megabyte are long; the folder for temporary files is one of our own."""
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(home))
    for module in (disk_array, safetensors_stream, training):
        monkeypatch.setattr(module, "HELD", 1 << 20)
    monkeypatch.setattr(disk_array, "PIECE", 1 << 18)
    monkeypatch.setattr(slices, "HELD", 1 << 17)
    return home


def question(*, sigma: float, num_slices: int | None = None) -> Slices:
    """Records of two columns, one-hot."""
    blocks = tuple(Block.one_hot(Bins.each(n, WIDTH // 2), weight=0.7) for n in "ab")
    return Slices(
        purpose="t",
        encoding=Encoding(blocks=blocks),
        sigma=sigma,
        groups=None,
        **({"num_slices": num_slices, "directions": "gaussian"} if num_slices else {}),
    )


def rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {n: rng.integers(0, WIDTH // 2, ROWS) for n in "ab"}


@pytest.mark.parametrize("num_slices", [None, 40])
def test_every_record_stands_in_its_row_whatever_the_pieces(small_memory, num_slices):
    """With noise of a thousandth each value is the record's own, to ten deviations; nothing shows in the folder.

    The place of a record is the secret order's, here a known one.
    """
    asked = question(sigma=2.0**-10, num_slices=num_slices)
    noise, order = SeededNoise(1), np.random.default_rng(7).permutation(ROWS)
    noise.permutation = lambda size: order  # noqa: ARG005
    exact = np.empty((ROWS, asked.encoding.dim))
    exact[order] = slices.sums(asked, rows(), noise) * asked.pitch
    release = slices.answer(asked, rows(), noise)
    assert not release.values.flags.writeable  # it lies in the file
    wanted = exact if release.directions is None else exact @ release.directions
    assert np.abs(release.values - wanted).max() < 10 * 2.0**-10 + 2.0**-10
    assert list(small_memory.iterdir()) == []


@pytest.mark.usefixtures("small_memory")
def test_a_release_thirty_times_as_long_as_memory_is_told_written_and_read(tmp_path):
    """Half a release's size is never held, nor is it when it goes to disk and comes back."""
    data = rows()
    tracemalloc.start()
    release = slices.answer(question(sigma=1.0), data, SeededNoise(1))
    plain, arrays = store.pack([release])
    store.save(tmp_path / "release.json", {"format": "facsimile-release/1", **plain}, arrays)
    again = store.unpack(*store.load(tmp_path, kind="release"))[0]
    total = np.sum([p.sum(0) for p in disk_array.chunks(again.values)], axis=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert release.values.nbytes == WHOLE
    assert peak < WHOLE / 2
    assert np.array_equal(again.values, release.values)
    assert np.allclose(total, release.values.sum(0))


def released(folder, **options):
    """A run with a slice for each record of a table that is long beside the memory of these tests."""
    asked = {"method": "slicing", "relation": "zero_out", "options": {"groups": "records", **options}}
    asked |= {"num_rows": 200, "seed": 1, "ledger": folder.parent / "ledger.sqlite"}
    return ran(small_frame(2000), SMALL, epsilon=4.0, out=folder, **asked)


@pytest.mark.parametrize("options", [{}, {"loss": "kl", "steps": "3"}])
def test_models_are_fitted_to_it_as_to_a_short_one(monkeypatch, tmp_path, options):
    """From the same release: the same sums in other pieces, and so the same model but for rounding."""
    with monkeypatch.context() as tight:
        for module in (disk_array, safetensors_stream, training):
            tight.setattr(module, "HELD", 1 << 14)
        tight.setattr(disk_array, "PIECE", 1 << 12)
        released(tmp_path / "out", **options)
        values = next(r.values for r in bundle.load_release(tmp_path / "out").releases if hasattr(r.question, "groups"))
        assert not values.flags.writeable
        long = synth.app_api.refit(tmp_path / "out", seed=1, num_rows=200)
    short = synth.app_api.refit(tmp_path / "out", seed=1, num_rows=200)
    for one, two in zip(long.model.axes, short.model.axes, strict=True):
        assert np.allclose(long.model.weights @ one.probs, short.model.weights @ two.probs, atol=1e-3), one.column


class Full(io.BytesIO):
    """A disk without room."""

    def write(self, _):
        raise OSError(28, "No space left on device")


@pytest.mark.usefixtures("small_memory")
def test_a_full_disk_is_told_in_one_line_before_the_spend(monkeypatch, tmp_path):
    there = tempfile.TemporaryFile  # the trial of the output folder, which has room
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **how: there(**how) if "dir" in how else Full())
    with pytest.raises(InputError, match="set TMPDIR"):
        slices.answer(question(sigma=1.0), rows(), SeededNoise(1))
    monkeypatch.setattr(disk_array, "HELD", 1 << 12)
    with pytest.raises(InputError, match="set TMPDIR") as caught:  # the rehearsal meets it first
        released(tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not synth.Ledger(tmp_path / "ledger.sqlite").entries("d")


def test_files_of_arrays_are_those_of_the_formats_own_library(tmp_path):
    """Every type, no rows, no axes: byte for byte; read back from a short file and from one that is long."""
    rng = np.random.default_rng(0)
    arrays = {
        n: (rng.random((3, 5)) * 9).astype(kind)
        for n, kind in zip("zyxwvutsrqpo", safetensors_stream.KINDS, strict=True)
    }
    arrays |= {"é": np.zeros((0, 3)), "one": np.full((), 2.5), "wide": np.arange(7)}
    file = io.BytesIO()
    digest = safetensors_stream.write(file, arrays)
    assert file.getvalue() == save(arrays)
    assert digest == hashlib.sha256(file.getvalue()).hexdigest()
    path = tmp_path / "a.safetensors"
    path.write_bytes(file.getvalue())
    for held in (1 << 28, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(safetensors_stream, "HELD", held)
            result, reported = safetensors_stream.read(path)
        assert reported == digest
        assert {n: (a.dtype, a.tolist()) for n, a in result.items()} == {
            n: (a.dtype, a.tolist()) for n, a in arrays.items()
        }


@pytest.mark.parametrize("cut", [0, 7, 40, -1])
def test_a_long_file_that_is_cut_is_refused(tmp_path, monkeypatch, cut):
    monkeypatch.setattr(safetensors_stream, "HELD", 0)
    store.save(tmp_path / "release.json", {"format": "facsimile-release/1"}, {"a": np.arange(9.0)})
    path = tmp_path / "release.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="damaged"):
        store.load(tmp_path, kind="release")
