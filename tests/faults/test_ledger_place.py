"""A ledger on a network file system is refused with the reason and the switch; local ones are let be."""

from types import SimpleNamespace

import psutil
import pytest

from synth.errors import InputError
from synth.privacy.ledger import sqlite
from synth.privacy.ledger.ledger import Ledger


def mounted(monkeypatch, **kinds):
    """No such disk can be mounted in a test: only the system's table of mounts is put in its place."""
    mounts = [SimpleNamespace(mountpoint=at, fstype=kind) for at, kind in [("/", "ext4"), *kinds.items()]]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)


def test_the_system_is_asked_and_this_disk_is_local(tmp_path):
    assert sqlite.network_kind(tmp_path / "not" / "yet" / "ledger.sqlite") is None


@pytest.mark.parametrize("kind", [*sqlite.NETWORK, "nfs4", "smb3", "fuse.sshfs", "NFS"])
def test_a_network_file_system_is_refused_with_a_reason_and_a_way_out(kind, tmp_path, monkeypatch):
    mounted(monkeypatch, **{str(tmp_path): kind})
    with pytest.raises(InputError) as reported:
        Ledger(tmp_path / "ledger.sqlite")
    assert f"({kind.lower()})" in str(reported.value)
    assert "SYNTH_LEDGER_NETWORK=allow" in str(reported.value)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(sqlite.SWITCH, "allow")
    assert Ledger(tmp_path / "ledger.sqlite").verify().ok


def test_among_programs_that_serve_files_the_mount_table_tells_a_network_from_a_disk(tmp_path, monkeypatch):
    far, near, both = (tmp_path / name for name in ("far away", "near", "both"))
    for folder in (far, near, both):
        folder.mkdir()
    mounted(monkeypatch, **{str(tmp_path): "nfs4", str(far): "fuse.sshfs", str(near): "fuse.fuse-overlayfs"})
    assert sqlite.network_kind(far / "x" / "y") == "fuse.sshfs"
    assert sqlite.network_kind(near / "x") is None
    assert sqlite.network_kind(both) == "nfs4"
    assert sqlite.network_kind(tmp_path.parent / "elsewhere") is None
