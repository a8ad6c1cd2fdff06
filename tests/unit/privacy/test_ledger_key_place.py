"""Where the ledger and its key lie, and that many processes agree on one key."""

import subprocess
import sys

from synth.privacy.ledger.ledger import Ledger, default_path


def test_many_processes_agree_on_one_key(tmp_path):
    paths = [str(tmp_path / f"{number}.sqlite") for number in range(30)]
    ledgers = [Ledger(path) for path in paths]
    code = f"""if True:
        import os, sys
        from synth.privacy.ledger.ledger import Ledger
        ledgers = [Ledger(path) for path in {paths!r}]
        print(flush=True)
        sys.stdin.readline()
        for ledger in ledgers:
            print(ledger.row_key().hex())
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(4)]
    for worker in workers:
        worker.stdout.readline()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = [worker.communicate()[0].split() for worker in workers]
    assert said == [[ledger.row_key().hex() for ledger in ledgers]] * 4
    assert {file.suffix for file in tmp_path.iterdir()} == {".sqlite", ".key"}


def test_default_path_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("SYNTH_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "facsimile" / "ledger.sqlite"
    monkeypatch.setenv("SYNTH_LEDGER", str(tmp_path / "mine.sqlite"))
    assert Ledger().path == tmp_path / "mine.sqlite"
