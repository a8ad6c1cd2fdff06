"""`synth audit`: one answer, one page that opens offline, and a line for every fault."""

import json

PLAIN = ("audit", "--method", "independent")


def test_an_audit_writes_a_page_and_its_data(command, tmp_path):
    out = tmp_path / "audit.html"
    asked = ("--epsilon", 5, "--draws", 400, "--tables", 60, "--canaries", 20, "--json")
    code, stdout, _ = command(*PLAIN, *asked, "--out", out)
    parsed = json.loads(stdout)
    assert code == 0
    assert parsed["method"] == "independent"
    assert parsed["outputs"]["claim"]["mu"] > 1
    assert parsed["canaries"]["canaries"] == 20
    page = out.read_text()
    assert "ROC" in page
    assert "<script" not in page
    assert "src=" not in page
    assert json.loads(out.with_suffix(".json").read_text())["epsilon"] == 5.0


def test_an_audit_in_words(command):
    code, stdout, _ = command(*PLAIN, "--epsilon", 5, "--draws", 100, "--tables", 0)
    assert code == 0
    assert "releases: mu at least" in stdout
    assert "skipped: reading of files" in stdout
    assert "--whole" in stdout, "an audit that does not go the whole way says so"


def test_capacity_in_words_and_as_a_page(command, tmp_path):
    out = tmp_path / "capacity.html"
    code, stdout, _ = command("audit", "capacity", "--epsilon", 1, "--draws", 1000, "--order", 2, "--out", out)
    assert code == 0
    assert "two-layer ReLU" in stdout
    assert "Renyi of order 2" in out.read_text()


def test_faults_are_one_line(command, tmp_path):
    for arguments, words in (
        (("audit", "--method", "nothing"), "unknown"),
        (("audit", "--draws", 2), "draws"),
        (("audit", "--out", tmp_path / "page.txt"), "name a .html file"),
        (("audit", "capacity", "--order", 1), "above 1"),
        (("audit", "capacity", "--draws", 10), "1,000 draws"),
        (("audit", "--only", "a row more"), "add --whole"),
        (("audit", "--whole", "--only", "no such one"), "choose among a row more"),
        (("audit", "--whole", "--draws", 10), "24 draws or more"),
        (("audit", "--whole", "--epsilon", 8), "too few to contradict"),
        (("audit", "--whole", "--relation", "zero_out"), "absent row"),
    ):
        code, stdout, error = command(*arguments)
        assert code == 2, (arguments, error)
        assert stdout == ""
        assert words in error
        assert error.count("\n") == 1


def test_an_audit_of_the_whole_way_writes_a_page_and_its_data(command, tmp_path):
    out = tmp_path / "whole.html"
    asked = ["audit", "--whole", "--method", "independent", "--draws", "24", "--confidence", "0.99", "--json"]
    code, stdout, _ = command(*asked, "--only", "a row more", "--out", out)
    parsed = json.loads(stdout)
    assert code == 0
    assert parsed["whole"] is True
    assert [c["name"] for c in parsed["canaries"]] == ["a row more"]
    assert parsed["canaries"][0]["moments"]["draws"] == 24
    assert 0.8 < parsed["canaries"][0]["moments"]["noise_estimate"] < 1.2  # seven deviations either way
    page = out.read_text()
    assert "a row more" in page
    assert "Left out: seconds and memory" in page
    assert json.loads(out.with_suffix(".json").read_text())["violated"] == parsed["violated"]
