"""One form a dataset: every document takes its answers, and no unfinished paper leaves unless somebody asks for it."""

import json
import zipfile

import pytest
from report_release import report_release  # noqa: F401

import synth
from synth.release.card import papers
from synth.release.card.card import Card
from synth.release.card.verify import load
from synth.release.folder import load_release
from synth.report.documents import pack
from tests.unit.reporting.pages import Reader

DAYS = dict.fromkeys(papers.DATES, "2026-11-25")
FULL = {n: f"{n.replace('_', ' ')}, <stated> & signed" for n in papers.FIELDS} | DAYS


@pytest.fixture
def bundled(release, tmp_path):
    """Packs a release; the parts of the zip as text, and what ``bundle`` says."""
    folder, ledger = release[0], release[0].parent / "ledger.sqlite"

    def pack_it(**more):
        made = synth.bundle(folder, tmp_path / "r.zip", how="before", ledger=ledger, **more)
        with zipfile.ZipFile(tmp_path / "r.zip") as file:
            text = {n: file.read(n).decode() for n in file.namelist() if n.endswith((".html", ".md", ".json"))}
        return made, text

    return pack_it


def test_every_field_is_used_and_every_open_line_is_a_field(release):
    """A field that no page takes would be asked for nothing; an open line without one could never be finished."""
    stored = load_release(release[0])
    taken = {line.fact for p in pack.papers(stored, stored.card) for _, ls in p.parts for line in ls} - {""}
    assert taken <= set(papers.FIELDS)
    on_others = {"name", "description", "sector", "published", "approved", "curators"}  # card, records, who signs
    assert set(papers.FIELDS) == taken | on_others
    assert all(line.fact or not line.open for p in pack.papers(stored, stored.card) for _, ls in p.parts for line in ls)


def test_a_full_form_finishes_every_paper_and_the_first_page_links_each(bundled, tmp_path):
    form = tmp_path / "papers.json"
    form.write_text(papers.form(FULL))
    made, text = bundled(facts=form)
    assert made.unfinished == ()
    files = {pack.parsed(kind)[0]["file"] for kind in pack.PAPERS}
    assert files <= set(made.parts)
    assert files <= set(Reader(text["index.html"]).links)
    for file in files:
        assert "<mark>" not in text[file], file
        assert "<stated>" not in text[file], "what the steward writes is escaped"
    for card in (text["card.html"], text["card.md"]):
        assert "approver" in card
        assert "2026-11-25" in card
    taken = json.loads(text["card.json"])["deployment"]
    assert taken == FULL


def test_what_is_not_finished_stays_out_unless_it_is_asked_for(bundled):
    made, text = bundled()
    assert not [n for n in made.parts if n.startswith("documents/")]
    assert len(made.unfinished) == len(pack.PAPERS)
    assert "documents/" not in text["index.html"] + text["README.md"]
    assert "not stated" in text["card.html"]
    made, text = bundled(unfinished=True)
    assert set(made.unfinished) <= set(made.parts)
    assert text["index.html"].count("<mark>not finished</mark>") == len(made.unfinished)


@pytest.mark.parametrize("missing", papers.FIELDS)
def test_a_paper_waits_exactly_for_the_answers_that_it_asks_for(release, missing):
    given = {n: v for n, v in FULL.items() if n != missing}
    waiting = {n for p in pack.unwritten(release[0], given) for n in p.waiting}
    stands_for = {"approved": {"approver"}, "curators": set(), "controller": set()}  # one publishes for the other
    silent = {"name", "description", "sector", "published"}
    assert waiting == stands_for.get(missing, set() if missing in silent else {missing})


BAD = {
    "no JSON": "{",
    "no JSON object": "[1]",
    "is no fact": '{"colour": "red"}',
    "a text, or a list of texts": '{"contact": 5}',
    "is no day": '{"approved": "2026-13-40"}',
    "more than": json.dumps({"contact": "x" * (papers.MOST_LETTERS + 1)}),
}


@pytest.mark.parametrize("words", BAD)
def test_a_bad_form_is_refused_in_one_line(command, release, tmp_path, words):
    form = tmp_path / "papers.json"
    form.write_text(BAD[words])
    for asked in (("bundle", release[0]), ("card", "write", release[0]), ("card", "papers", release[0])):
        code, out, reported = command(*asked, "--papers", form)
        assert code in (2, 3), reported
        assert not out
        assert words in reported
        assert len(reported.splitlines()) == 1
    assert "deployment" not in load(release[0])


def test_the_command_says_what_is_missing_and_writes_a_form_that_it_takes(command, release, tmp_path):
    code, out, _ = command("card", "papers", release[0], "--out", tmp_path / "form.json")
    assert code == 0
    assert "documents/dpia.html: " in out
    assert "Legal basis" in out
    form = json.loads((tmp_path / "form.json").read_text())
    assert set(form) == set(papers.FIELDS)
    (tmp_path / "form.json").write_text(json.dumps({**form, **FULL}))
    code, out, _ = command("card", "papers", release[0], "--papers", tmp_path / "form.json", "--json")
    assert not [p for p in json.loads(out)["papers"] if p["waiting"]]
    how = ("--choice", "before", "--ledger", release[0].parent / "ledger.sqlite")
    code, out, reported = command("bundle", release[0], "--out", tmp_path / "r.zip", *how)
    assert code == 0, reported
    assert "papers to be finished (not in the zip" in out


def test_a_controller_publishes_where_nobody_else_does(release):
    stored = load_release(release[0])
    card = Card({**stored.card, "deployment": {"controller": "Town hall"}})
    record = json.loads(pack.record("croissant", stored, card, {"synthetic.csv": b""}))
    assert record["creator"][0]["name"] == "Town hall"
