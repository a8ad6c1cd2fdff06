"""The steward's report stands alone, is marked in name, page and data, and stays out of the release."""

import json
import os
import re
import stat
from dataclasses import replace

import pytest
from pages import check
from report_release import report_release  # noqa: F401

from synth.errors import InputError, UsageError
from synth.evaluate import shadows
from synth.evaluate.examination import Limits
from synth.release import folder as bundle
from synth.release.card.card import Card
from synth.report.steward import write
from tests.made import a_schema, codes, number

pytestmark = pytest.mark.xdist_group("steward")
SMALL = Limits(rows=600, quality=300, models=600, classifier=300, nearest=200, attacks=40)


@pytest.fixture(scope="module")
def made(release, tmp_path_factory):
    folder, table = release
    examination = write.examine(folder, real=table, target="ill", limits=SMALL)
    out = tmp_path_factory.mktemp("report") / "r.html"
    return examination, write.put(write.alone(examination, folder, out))


def test_the_page_needs_nothing_but_itself(made):
    with open(made[1]["report"], encoding="utf-8") as file:
        page = check(file.read())
    assert len(page.images) > 10
    assert any(name.startswith("pair-") for name in page.names)


def test_the_mark_is_in_name_page_sections_and_data(made):
    _, paths = made
    assert "steward-only" in paths["report"]
    assert "steward-only" in paths["report_json"]
    with open(paths["report"], encoding="utf-8") as file:
        text = file.read()
    assert text.count("not for release") >= text.count("<section>") + 1
    assert "<title>For the steward only, not for release" in text
    assert '<div class="mark"' in text
    with open(paths["report_json"], encoding="utf-8") as file:
        assert "Not for release" in json.load(file)["marking"]


def test_only_the_owner_may_read_it(made):
    for path in made[1].values():
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_link_laid_where_the_page_begins_is_not_followed(tmp_path):
    """Whoever may write in the folder could guess the name: the exact figures must not land where a link leads."""
    victim, out = tmp_path / "victim", tmp_path / "r.html"
    victim.write_text("another's file")
    (tmp_path / f".{out.name}.{os.getpid()}").symlink_to(victim)
    write.put({"report": (out, "exact figures")})
    assert victim.read_text() == "another's file"
    assert (out.is_symlink(), out.read_text()) == (False, "exact figures")


def test_every_line_that_was_promised_is_there(made):
    with open(made[1]["report"], encoding="utf-8") as file:
        text = file.read()
    promised = "KS: numbers|TV: categories|ContSim|CorrSim|F1, logistic regression|area under ROC|Groups of people"
    promised += "|Correlations|Copies|nearest record|Diagnostic|SDMetrics|forecast|bootstrap|seed of all draws"
    assert not [words for words in promised.split("|") if words not in text]


@pytest.fixture(scope="module")
def shadowed(release):
    """The release's guarantee with a method that is run in no time."""
    stored = replace(bundle.load_release(release[0]), method="independent", options={})
    return write.membership(stored, draws=40)


def test_shadow_runs_tell_leaks_from_a_method_under_its_guarantee(shadowed):
    """A line of ours would be called a fault at 39 right guesses of the 40 held out: where 60 in a hundred are right,
    as this guarantee allows at most, with a probability below 1e-7."""
    ours = [s for s in shadowed if s.private]
    assert [s.seen for s in ours] == [shadows.ANSWERS, shadows.TABLE]
    assert not any(s.finding.violated for s in ours)
    leaks = {s.made: s for s in shadowed if not s.private}
    assert list(leaks) == [shadows.COPIED, shadows.HALF, shadows.SHUFFLED]
    for s in leaks.values():
        assert s.finding.violated
        assert s.finding.epsilon > 3
        assert s.right.value > 0.9 > s.allowed
        assert "leak" in s.reading
    assert ours[0].finding.claim.epsilon == 2.0


def test_shadow_runs_stand_in_the_chapter_of_the_three_risks(made, shadowed, release, tmp_path):
    paths = write.put(write.alone(replace(made[0], shadows=shadowed), release[0], tmp_path / "r.html"))
    with open(paths["report"], encoding="utf-8") as file:
        text = file.read()
    start = text.index("Membership by shadow runs")
    assert text.index("Three risks") < start < text.index("How the figures were made")
    for words in ("real rows copied", "half copied, half shuffled", "columns shuffled", "No proof", "the guarantee"):
        assert words in text[start:], words
    with open(paths["report_json"], encoding="utf-8") as file:
        assert len(json.load(file)["shadows"]) == 5
    with open(made[1]["report"], encoding="utf-8") as file:
        assert "A report with 200 shadow runs" in file.read(), "without them the report says how to have them"


def test_too_few_shadow_runs_are_refused_before_a_row_is_read(release):
    with pytest.raises(UsageError, match="`shadow_runs=39`"):
        write.examine(release[0], real="nowhere.csv", shadow_runs=39)


def test_weighted_rows_have_a_section_and_figures_of_their_own(made, release):
    """The release's schema names a weight: the page, its data and the card say so."""
    with open(made[1]["report"], encoding="utf-8") as file:
        text = file.read()
    part = text[text.index("Weighted rows") : text.index("Associations")]
    for words in ("distance, weighted", "says. A real row weighs", "income", "region"):
        assert words in part, words
    figures = {f.name: f for f in made[0].figures}
    assert 0 < figures["one_way_weighted"].value < 0.2
    assert figures["two_way_weighted"].floor > 0
    with open(made[1]["report_json"], encoding="utf-8") as file:
        assert json.load(file)["weighted"]["by"] == "age"
    assert bundle.load_release(release[0]).card["weight"]["column"] == "age"


def test_forecasts_come_from_the_plan(release, made):
    reported = {f.name: f.forecast for f in made[0].figures}
    assert reported["one_way"] == write.forecast(release[0])["one_way"]
    assert reported["two_way"] > 0


def test_it_may_not_lie_among_the_files_of_a_release(release, made):
    with pytest.raises(UsageError, match="lies in the release"):
        write.put(write.alone(made[0], release[0], release[0] / "report.html"))
    with pytest.raises(UsageError, match=r"name a \.html file"):
        write.put(write.alone(made[0], release[0], "report.pdf"))
    with pytest.raises(InputError, match="holds no release"):
        write.examine(release[1].parent, real=release[1])


def test_texts_of_the_table_are_escaped(tmp_path):
    import numpy as np
    import pandas as pd

    from synth.evaluate import examination
    from synth.report.steward import page as steward

    names = ["<script>alert(1)</script>", 'a"&b']
    schema = a_schema(**{'<b>"x"</b>': codes(*names), "y": number(0, 9)})
    rng = np.random.default_rng(0)
    for table in ("real", "synthetic"):
        rows = pd.DataFrame({'<b>"x"</b>': rng.choice(names, 60), "y": rng.integers(0, 9, 60)})
        rows.to_csv(tmp_path / f"{table}.csv", index=False)
    result = examination.examine(tmp_path / "real.csv", tmp_path / "synthetic.csv", schema, limits=SMALL)
    about = {"dataset": "<i>d</i>", "method": "m", "epsilon": 1.0, "delta": 1e-5, "unit": "row"}
    text = steward.render(result, about=Card({**about, "relation": "add_remove"}))
    check(text)
    assert "<i>d</i>" not in text
    assert not re.search(r"<b>", text)


def test_the_command_writes_both_and_says_whom_for(command, release, tmp_path):
    folder, table = release
    where = ("--out", tmp_path / "r.html", "--ledger", folder.parent / "ledger.sqlite")
    code, out, _ = command("report", folder, "--real", table, "--rows", 300, "--json", *where)
    assert code == 0
    assert json.loads(out)["kind"] == "steward only, not for release"
    code, _, stderr = command("report", folder, "--out", tmp_path / "r.html")
    assert code == 2
    assert "--real" in stderr
    code, _, stderr = command("report", folder, "--publishable", "--target", "ill", "--out", tmp_path / "p.html")
    assert code == 2
