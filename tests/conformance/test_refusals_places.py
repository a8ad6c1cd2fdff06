"""What the command line is given, and a place that cannot be written to, is refused before the spend."""

import json
import os

import pytest

import synth
from synth.privacy.ledger.ledger import Ledger
from tests.conformance.refusing import FRAME, SCHEMA, spends
from tests.conftest import SMALL
from tests.made import ran

OPTIONS = [
    ("--seed", "-1"),
    ("--seed", str(2**63)),
    ("--num-rows", "999999999999"),
    ("--num-rows", "0"),
    ("--option", "oneway_share=nan"),
    ("--option", "oneway_share=1e400"),
    ("--epsilon", "1e308"),
    ("--delta", "1e-300"),
    ("--epsilon", "1e-300"),
    ("--out", "/proc/no/such"),
    ("--out", "/dev/null/x"),
    ("--out", "a\0b"),
    ("--out", "x" * 300),
    ("--dataset", "\ud800"),
    ("--max-rows", "0"),
]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda o: o[0] + "=" + o[1][:12].encode("ascii", "replace").decode())
def test_the_command_line_refuses_before_the_spend(command, small, option):
    code, said, stderr = command("run", small[0], "--schema", small[1], "--epsilon", 1, *option)
    assert code == 2, stderr
    assert (said, stderr.count("synth: "), "Traceback" in stderr) == ("", 1, False)
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []


def test_a_category_that_no_file_can_hold_is_refused_before_the_spend(command, small, tmp_path):
    schema = tmp_path / "half.json"
    plain = json.loads(json.dumps(SMALL))
    plain["columns"]["region"]["categories"][0] = chr(0xD800)
    schema.write_text(json.dumps(plain))  # as an escape, which is valid JSON
    code, _, stderr = command("run", small[0], "--schema", schema, "--epsilon", 1)
    assert code == 2, stderr
    assert "region" in stderr
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []


@pytest.mark.parametrize("name", ["no/such/folder/log.json", "", "a\0b", "pipe"])
def test_a_stewards_log_that_cannot_be_written_is_refused_before_the_spend(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # which nobody reads
    log, book = f"{tmp_path}/{name}", tmp_path / "ledger.sqlite"
    with pytest.raises(synth.UsageError, match="steward log"):
        ran(FRAME, SCHEMA, method="independent", ledger=book, steward_log=log)
    assert spends(book) == []
