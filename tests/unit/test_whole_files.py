"""Files appear whole or not at all, under their own name, and never through a link."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synth.files import whole_files


def test_a_file_takes_the_place_of_the_one_there(tmp_path):
    whole_files.write(tmp_path / "a", "one")
    whole_files.write(tmp_path / "a", b"two", private=True)
    assert (tmp_path / "a").read_text() == "two"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_what_fails_halfway_leaves_what_was_there(tmp_path):
    whole_files.write(tmp_path / "a", "one")
    for writing in (whole_files.beside(tmp_path / "a"), whole_files.folder(tmp_path / "out")):
        with contextlib.suppress(RuntimeError), writing as draft:
            (draft / "x" if draft.is_dir() else draft).write_text("half")
            raise RuntimeError
    assert (tmp_path / "a").read_text() == "one"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("there", [True, False], ids=["of a file", "of nothing"])
def test_nothing_is_written_through_a_link(tmp_path, there):
    aim = tmp_path / "elsewhere"
    if there:
        aim.write_text("theirs")
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "card.json").symlink_to(aim)
    with pytest.raises(OSError, match="a symbolic link, which is never written through"):
        whole_files.write(tmp_path / "release" / "card.json", "mine")
    with pytest.raises(OSError, match="symbolic link"), whole_files.folder(tmp_path / "release") as draft:
        (draft / "card.json").write_text("mine")
    assert aim.exists() == there
    assert not there or aim.read_text() == "theirs"
    assert os.listdir(tmp_path / "release") == ["card.json"]


def test_nothing_takes_the_place_of_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        whole_files.write(tmp_path / "pipe", "x")


def test_a_folder_appears_at_once_and_keeps_what_others_laid_there(tmp_path):
    for name in ("[a]*", "there"):
        out = tmp_path / name
        if name == "there":
            out.mkdir()
            (out / "mine.txt").write_text("mine")
        with whole_files.folder(out) as draft:
            (draft / "x").write_text("x")
            assert not (out / "x").exists()
        assert (out / "x").read_text() == "x"
    assert sorted(os.listdir(tmp_path / "there")) == ["mine.txt", "x"]


def test_what_a_killed_process_had_begun_is_removed_by_the_next_and_a_running_ones_is_not(tmp_path):
    script = (
        "import os, sys; from synth.files import whole_files; "
        "d = whole_files.folder(sys.argv[1]); d.__enter__(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], check=False, cwd=Path.cwd())
    assert len(os.listdir(tmp_path)) == 1
    with whole_files.folder(tmp_path / "out"):
        assert len(os.listdir(tmp_path)) == 1  # its own
        with whole_files.folder(tmp_path / "out"):
            assert len(os.listdir(tmp_path)) == 2
    assert os.listdir(tmp_path) == ["out"]
