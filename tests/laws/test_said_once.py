"""A release's figures are the same, to the digit, wherever they stand and in whichever language they are told.

Epsilon, delta, both odds and the verdict of each use, as card, README, pages, report, papers, records, PDF, bundle and
command say them, of one table and of related ones.
"""

import json
import re
import zipfile
from fractions import Fraction
from html import unescape

import numpy as np
import pandas as pd
import pytest

import synth
from synth.evaluate.verdict import Verdict
from synth.languages import as_said, spoken
from synth.release.card import choice, limits, verify
from synth.release.card.card import Card, odds
from synth.report import card_page
from tests.conftest import SMALL, small_frame
from tests.made import ran
from tests.unit.reporting.related_homes import PLAIN, homes

pytestmark = pytest.mark.xdist_group("said once")

NUMBER = r"(\d[\d.,]*(?:e-\d+)?)"
FIGURES = {  # each as it is written anywhere: in a sentence, a record, a table of Markdown
    "epsilon": rf"epsilon(?:, delta \|)?:? (?:\| )?{NUMBER}",
    "delta": rf"(?:delta|epsilon, delta (?:\| )?{NUMBER[1:-1]};):? {NUMBER}",
    "sure": rf"(?:{NUMBER} % (?:sure|sicher)|in (?:odds|chancen) {NUMBER} %)",
    "odds": r"(?:höchstens|at most) (\d+:\d+|[\d.,]+ (?:in|zu) 100\b)",
}
VERDICTS = {"card.md": "sentence", "card.html": "sentence", "README.md": "sentence", "index.html": "sentence"}
VERDICTS |= {"report.html": "title", "release.pdf": "title"}
TABLES = {
    "one": (synth.Schema.parse({**SMALL, "uses": ["sex by region", "ill ~ age"]}), 1.25),
    "several": (synth.app_api.parse_related(PLAIN), 2.5),
}


def words(name: str, content: bytes) -> str:
    """A part of a bundle as people read it, in one line."""
    if name.endswith(".pdf"):
        pdfium = pytest.importorskip("pypdfium2")
        return " ".join(page.get_textpage().get_text_range() for page in pdfium.PdfDocument(content))
    return unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", content.decode(), flags=re.S))


def figures(text: str, *, comma: bool) -> dict[str, set[str]]:
    """What a text says of each of ``FIGURES``; ``comma``: of decimals."""
    line = re.sub(r"\s+", " ", text).lower()
    found = {name: {next(filter(None, m.groups())) for m in re.finditer(form, line)} for name, form in FIGURES.items()}
    swap = str.maketrans(",.", ".,") if comma else {}
    return {name: {f.translate(swap).strip(".,").replace("zu", "in") for f in said} for name, said in found.items()}


@pytest.fixture(scope="module", params=TABLES)
def bundles(request, tmp_path_factory):
    """By language the parts of a release's bundle, and the folder and ledger that it was packed from."""
    place, (schema, epsilon) = tmp_path_factory.mktemp("said"), TABLES[request.param]
    real, out, ledger = place / "real", place / "out", place / "ledger.sqlite"
    real.mkdir()
    tables = homes() if schema.several else {"one": small_frame(800)}
    for name, table in tables.items():
        pd.DataFrame(table).to_csv(real / f"{name}.csv", index=False)
    how = {"epsilon": epsilon, "delta": 3e-06, "method": "independent", "out": out, "ledger": ledger}
    ran(real if schema.several else real / "one.csv", schema, **how)
    parts = {}
    for language in ("en", "de"):
        path = place / f"{language}.zip"
        synth.bundle(out, path, ledger=ledger, unfinished=True, how="only", language=language, as_pdf=True)
        with zipfile.ZipFile(path) as file:
            parts[language] = {name: file.read(name) for name in file.namelist()}
    return parts, out, ledger


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_part_has_the_cards_figures(bundles, language):
    parts = bundles[0][language]
    card = json.loads(parts["card.json"])
    best = odds(card["epsilon"])
    expected = {
        "epsilon": {f"{card['epsilon']:g}"},
        "delta": {f"{card['delta']:g}"},
        "sure": {limits.share(g.sure).removesuffix(" %") for g in limits.guesses(Card(card))},
        "odds": {re.search(r"at most (.*)", card["meaning"])[1], f"{100 * best:.0f}:{100 * (1 - best):.0f}"},
    }
    said = {}
    for name in (n for n in parts if n.endswith((".html", ".md", ".pdf", ".cff", ".jsonld", ".json"))):
        if name in ("card.json", "report.json", "release.json", "model.json", "schema.json"):
            continue
        english = name.endswith((".cff", ".jsonld", ".json"))
        said[name] = figures(words(name, parts[name]), comma=language == "de" and not english)
        for figure, values in said[name].items():
            assert values <= expected[figure], (name, figure)
    assert {f for name in said for f, values in said[name].items() if values} == set(FIGURES), "each is said"
    for name in ("card.md", "card.html", "README.md", "index.html", "report.html", "release.pdf"):
        assert said[name]["epsilon"] == expected["epsilon"], name
        assert said[name]["delta"] == expected["delta"], name
        if name != "README.md":  # of related tables it is brief
            assert said[name]["odds"] or said[name]["sure"], name


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_part_has_the_verdict_of_each_use(bundles, language):
    parts = bundles[0][language]
    plain = as_said(json.loads(parts["card.json"]))["verdict"]
    assert plain == json.loads(parts["report.json"])["verdict"]
    assert len(plain) > 2
    texts = {n: re.sub(r"[\s\\]+", "", unescape(words(n, parts[n]))) for n in VERDICTS}
    with spoken(language):
        for use in Verdict.read(plain).uses:
            for name, what in VERDICTS.items():
                for piece in (use.heading, getattr(use, what), use.shown[0]):
                    assert re.sub(r"[\s\\]+", "", piece) in texts[name], (name, piece)


def test_bundle_and_command_say_the_same_and_no_language_changes_a_figure(bundles, command, tmp_path):
    parts, out, ledger = bundles
    one, other = (json.loads(p["card.json"]) for p in parts.values())
    assert one == other
    how = ("--ledger", ledger, "--choice", "only")
    packed = json.loads(command("bundle", out, "--out", tmp_path / "b.zip", *how, "--json")[1])
    checked = json.loads(command("card", "check", out, "--json")[1])
    shown = {n: {r[n] for r in (one, packed, checked)} for n in ("epsilon", "delta")}
    assert all(len(values) == 1 for values in shown.values()), shown
    assert packed["verdict"] == one["verdict"]
    for code, stdout, _ in (command("bundle", out, "--out", tmp_path / "b.zip", *how), command("card", "check", out)):
        assert code == 0
        said = figures(stdout, comma=False)
        assert said["delta"] == {f"{one['delta']:g}"}
        assert f"{one['epsilon']:g}" in stdout
    command("report", out, "--publishable", "--out", tmp_path / "r.html", "--ledger", ledger)
    reported = figures(words("r.html", (tmp_path / "r.html").read_bytes()), comma=False)
    assert reported == figures(words("report.html", parts["en"]["report.html"]), comma=False)
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == one["verdict"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_no_chance_is_told_smaller_than_it_is(language):
    """For delta and what follows from it: "1 in n" is rounded towards the greater chance, as is a share of 100."""
    rng = np.random.default_rng(1)
    grid = [10.0**-k for k in range(1, 13)] + [1 / n for n in range(1, 400)] + list(10 ** rng.uniform(-12, 0, 2000))
    with spoken(language):
        for probability in map(float, grid):
            said = limits.chance(probability).replace("\xa0", " ")
            figure = said.removesuffix(" %").split(" ")[-1]
            figure = figure.replace(".", "").replace(",", ".") if language == "de" else figure.replace(",", "")
            told = Fraction(figure) / 100 if said.endswith("%") else 1 / Fraction(figure)
            assert told >= Fraction(repr(probability)), (probability, said)
            assert told <= Fraction(repr(probability)) * Fraction(111, 100), "nor much greater"
            assert said.endswith("%") == (probability >= 0.1)


@pytest.mark.parametrize(("language", "yours"), [("en", r"\byour?\b"), ("de", r"\b(Sie|Ihnen|Ihre)\b")])
def test_the_paper_for_the_people_speaks_to_them(bundles, language, yours):
    """In it the guesses are about the reader; in every other part about anybody."""
    parts = bundles[0][language]
    people = re.sub(r"\s+", " ", words("p.html", parts["documents/for-the-people.html"]))
    with spoken(language):
        for guess in limits.guesses(Card(json.loads(parts["card.json"]))):
            assert guess.sentence(yours=True) in people
            assert guess.sentence() not in people
            assert re.search(yours, guess.what(yours=True))
            assert not re.search(yours, guess.what())


def test_whose_guesses_are_told_is_said_for_every_unit():
    about = {"epsilon": 1.0, "delta": 1e-6, "relation": "add_remove", "max_rows_of_a_unit": 3}
    said = {
        unit: [g.what(yours=True) for g in limits.guesses(Card({**about, "unit": unit, **more}))]
        for unit, more in {
            "row": {},
            "patient": {},
            "pid": {"unit_in_words": "one person, named by pid, with all rows", "keys": []},
        }.items()
    }
    assert said["row"] == [
        "whether your row was used at all",
        "which of two things the private table says of your row",
    ]
    assert said["patient"] == said["pid"]
    assert said["pid"] == [
        "whether your rows were used at all",
        "which of two things the private table says of you",
    ]


def test_a_card_shows_every_mark_that_it_has(bundles):
    card = choice.chosen(verify.load(bundles[1]), "scores") | {"exportable": False}
    for shown in (card_page.render_markdown, card_page.render_html):
        for language, marks in {
            "en": ("selection not covered", "Made with seeded noise: protects nothing"),
            "de": ("Auswahl nicht abgedeckt", "Mit Rauschen aus einem Startwert gemacht: schützt nichts"),
        }.items():
            with spoken(language):
                page = shown(card)
            assert all(mark in page for mark in marks), (shown.__name__, language)
