"""A run by what it is for, from the command line to its reports: the same price, the words in them, a free refit."""

import json

from tests.conftest import small_frame


def test_uses_go_from_the_command_line_into_the_reports(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_frame(3000).to_csv("t.csv", index=False)
    assert command("schema", "init", "t.csv", "--out", "s.json", "--assume-public")[0] == 0
    facts = json.loads((tmp_path / "s.json").read_text())
    names = [n for n, c in facts["columns"].items() if c["type"] not in ("identifier", "omitted")][:3]
    line = " by ".join(names)
    asked = ("run", "t.csv", "--schema", "s.json", "--epsilon", "5", "--out", "out", "--num-rows", "500")
    code, _, stderr = command(*asked, "--for", "nothing of this kind")
    assert (code, "--for" in stderr, "is none that is understood" in stderr) == (2, True, True)
    said, _ = command.done(*asked, "--for", line, "--json")
    assert json.loads(said)["epsilon_spent"] == 5
    stored = json.loads((tmp_path / "out" / "release.json").read_text())["schema"]
    assert stored["uses"] == [{"weight": 1.0, "kind": "table", "columns": names}]
    assert command("report", "out", "--publishable", "--out", "p.html")[0] == 0
    assert f"named: {line}" in (tmp_path / "p.html").read_text()
    assert command("run", "--from-release", "out", "--out", "again", "--num-rows", "100")[0] == 0
    code, _, stderr = command("run", "--from-release", "out", "--out", "third", "--for", line)
    assert (code, "asks nothing" in stderr) == (2, True)
