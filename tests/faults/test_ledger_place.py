"""A ledger on a network file system is refused with the reason and the switch; local ones are let be."""

from pathlib import Path

import pytest

from synth.errors import InputError
from synth.privacy.ledger import sqlite
from synth.privacy.ledger.ledger import Ledger


def test_the_system_is_asked_and_this_disk_is_local(tmp_path):
    assert isinstance(sqlite.magic(tmp_path), int)
    assert sqlite.magic(Path("/proc")) == 0x9FA0
    assert sqlite.magic(tmp_path / "absent") is None
    assert sqlite.network_kind(tmp_path / "not" / "yet" / "ledger.sqlite") is None


@pytest.mark.parametrize("number", sqlite.MAGIC)
def test_a_network_file_system_is_refused_with_a_reason_and_a_way_out(number, tmp_path, monkeypatch):
    """No such disk can be mounted in a test: only statfs's answer is put in its place."""
    monkeypatch.setattr(sqlite, "magic", lambda _: number)
    with pytest.raises(InputError) as reported:
        Ledger(tmp_path / "ledger.sqlite")
    assert sqlite.MAGIC[number] in str(reported.value)
    assert "SYNTH_LEDGER_NETWORK=allow" in str(reported.value)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(sqlite.SWITCH, "allow")
    assert Ledger(tmp_path / "ledger.sqlite").verify().ok


def test_among_programs_that_serve_files_the_mount_table_tells_a_network_from_a_disk(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 0:21 / / rw - ext4 /dev/sda1 rw\n30 22 0:33 / /far\\040away rw,nosuid - fuse.sshfs host:/ rw\n"
        "31 22 0:34 / /near rw - fuse.fuse-overlayfs x rw\nnonsense\n"
    )
    assert sqlite.mount_type(Path("/far away/x"), table=table) == "fuse.sshfs"
    assert sqlite.mount_type(Path("/near/x"), table=table) == "fuse.fuse-overlayfs"
    assert sqlite.mount_type(Path("/farther"), table=table) == "ext4"
    assert sqlite.mount_type(Path("/x"), table=tmp_path / "absent") == ""
    assert sqlite.network_named(sqlite.FUSE, tmp_path) is None
