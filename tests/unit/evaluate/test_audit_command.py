"""`synth audit`: one answer, one page that opens offline, and a line for every fault."""

import json


def test_an_audit_writes_a_page_and_its_data(command, tmp_path):
    out = tmp_path / "audit.html"
    code, told, _ = command(
        "audit",
        "--method",
        "independent",
        "--epsilon",
        5,
        "--draws",
        400,
        "--tables",
        60,
        "--canaries",
        20,
        "--out",
        out,
        "--json",
    )
    found = json.loads(told)
    assert code == 0
    assert found["method"] == "independent"
    assert found["outputs"]["claim"]["mu"] > 1
    assert found["canaries"]["canaries"] == 20
    page = out.read_text()
    assert "ROC" in page
    assert "<script" not in page
    assert "src=" not in page
    assert json.loads(out.with_suffix(".json").read_text())["epsilon"] == 5.0


def test_an_audit_in_words(command):
    code, told, _ = command("audit", "--method", "independent", "--epsilon", 5, "--draws", 100, "--tables", 0)
    assert code == 0
    assert "releases: mu at least" in told


def test_capacity_in_words_and_as_a_page(command, tmp_path):
    out = tmp_path / "capacity.html"
    code, told, _ = command("audit", "capacity", "--epsilon", 1, "--draws", 1000, "--order", 2, "--out", out)
    assert code == 0
    assert "two-layer ReLU" in told
    assert "Renyi of order 2" in out.read_text()


def test_faults_are_one_line(command, tmp_path):
    for arguments, words in (
        (("audit", "--method", "nothing"), "unknown"),
        (("audit", "--draws", 2), "draws"),
        (("audit", "--out", tmp_path / "page.txt"), "name a .html file"),
        (("audit", "capacity", "--order", 1), "above 1"),
        (("audit", "capacity", "--draws", 10), "1,000 draws"),
    ):
        code, told, error = command(*arguments)
        assert code == 2, (arguments, error)
        assert told == ""
        assert words in error
        assert error.count("\n") == 1


def test_an_audit_of_the_whole_way_writes_a_page_and_its_data(command, tmp_path):
    out = tmp_path / "whole.html"
    code, told, _ = command(
        "audit",
        "--whole",
        "--method",
        "independent",
        "--only",
        "a row more",
        "--draws",
        24,
        "--confidence",
        0.99,
        "--out",
        out,
        "--json",
    )
    found = json.loads(told)
    assert code == 0
    assert found["whole"] is True
    assert [c["name"] for c in found["canaries"]] == ["a row more"]
    assert found["canaries"][0]["moments"]["draws"] == 24
    assert 0.8 < found["canaries"][0]["moments"]["noise_found"] < 1.2  # seven deviations either way
    page = out.read_text()
    assert "a row more" in page
    assert "Left out: seconds and memory" in page
    assert json.loads(out.with_suffix(".json").read_text())["violated"] == found["violated"]


def test_an_audit_that_does_not_go_the_whole_way_says_so(command):
    _, told, _ = command("audit", "--method", "independent", "--epsilon", 5, "--draws", 40, "--tables", 0)
    assert "skipped: reading of files" in told
    assert "--whole" in told


def test_faults_of_the_whole_way_are_one_line(command):
    for arguments, words in (
        (("--only", "a row more"), "add --whole"),
        (("--whole", "--only", "no such one"), "choose among a row more"),
        (("--whole", "--draws", 10), "24 draws or more"),
        (("--whole", "--epsilon", 8), "too few to contradict"),
        (("--whole", "--relation", "zero_out"), "absent row"),
    ):
        code, told, error = command("audit", *arguments)
        assert code == 2, (arguments, error)
        assert told == ""
        assert words in error
        assert error.count("\n") == 1
