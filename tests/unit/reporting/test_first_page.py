"""Every report begins with a page in plain words, from card and verdict; figures come after how to read them."""

import re
import shutil
from html import unescape

import pytest
from related_homes import related_homes  # noqa: F401
from report_release import report_release  # noqa: F401

import synth
from synth.evaluate import verdict as rating
from synth.evaluate.examination import Limits
from synth.evaluate.from_rows import of_column
from synth.release.card import limits
from synth.release.card.card import Card
from synth.release.card.verify import load
from synth.report import card_page, first_page, publish
from synth.report.steward import write as steward

pytestmark = pytest.mark.xdist_group("first page")  # the reports are made once
SIGNED = {
    "intended_use": "teaching <& trials>",
    "recipients": "students of the town",
    "approver": "Dr A, officer",
    "approved": "2026-11-25",
    "controller": "Town hall",
}
FEW = Limits(rows=400, quality=200, models=300, classifier=200, nearest=100, attacks=40)


@pytest.fixture(scope="module")
def reports(release, made, tmp_path_factory):
    """Every kind of report, with the card that it is about."""
    place = tmp_path_factory.mktemp("reports")
    out = {}
    for name, (source, real) in {"single": release, "related": made[:2]}.items():
        folder, ledger = place / name, source.parent / "ledger.sqlite"
        shutil.copytree(source, folder)
        card_page.write(folder, facts=SIGNED)
        publish.write(folder, place / f"{name}.html")
        synth.report(folder, place / f"{name}.s.html", real=real, ledger=ledger, rows=400)
        for path in (place / f"{name}.html", place / f"{name}.s.steward-only.html"):
            out[path.name] = path.read_text(), load(folder)
    return out


KINDS = ("single.html", "single.s.steward-only.html", "related.html", "related.s.steward-only.html")


def words(page: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S)))


@pytest.mark.parametrize("kind", KINDS)
def test_it_stands_first_and_says_what_card_and_verdict_say(reports, kind):
    page, card = reports[kind]
    heads = re.findall(r"<h2>([^<]*)", page)
    assert heads[0].strip() == "In plain words"
    assert page.index("How to read it") < page.index("<svg"), "before the first figure"
    first = words(page[page.index("In plain words") : page.index("</section>")])
    for guess in limits.guesses(card):
        assert guess.sentence() in first
    assert "What is true of many people alike" in first
    assert "Approved by Dr A, officer, 2026-11-25." in first
    for said in (SIGNED["intended_use"], SIGNED["recipients"], "Controller: Town hall."):
        assert said in first
    assert "<& trials>" not in page, "escaped"
    assert not re.search(r"1e-|\bepsilon\b|\bdelta\b", first), "in plain words"


def test_a_release_that_nobody_signed_says_so(release):
    card = Card({k: v for k, v in load(release[0]).items() if k != "deployment"})
    message = dict(first_page.answers(card, publish.verdict(release[0])))
    assert message["Who answers for it?"] == ["Nobody has approved it yet."]
    assert message["Who receives it?"] == ["Nobody has stated it."]


def test_beside_each_figure_stands_what_the_rule_says(release, reports):
    """The advice of every column is the rule's, for the released figures and for the steward's."""
    shown = publish.gather(release[0])
    page = words(reports["single.html"][0])
    for name, one in shown.singles["synthetic"].items():
        rated = rating.rate(rating.DISTANCES["columns"], **vars(one.measured(shown.rows)))
        message = rating.advice(rated)
        assert one.advice("columns", shown.rows) == message
        assert message.lower() in page.lower(), name
    examined = steward.examine(release[0], real=release[1], limits=FEW)
    for name in examined.comparison.columns:
        assert of_column(examined.comparison, name).partition(":")[0] in set(rating.ADVICE.values())


def test_attacks_on_what_is_said_of_somebody_stand_on_the_stewards_first_page(reports):
    first = words(reports["single.s.steward-only.html"][0]).partition("How to read it")[0]
    assert "Tried here (inference, the worst column)" in first
    assert "% without any table" in first
    assert "Tried here" not in words(reports["single.html"][0]), "never where others read it"
