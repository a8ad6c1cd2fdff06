"""Every text of every page of a release is marked for translation, and the German ones are German.

In the language `marked` each text stands in brackets; what is left outside of them must be data: names of columns,
tables, methods and files, values, numbers, hashes, names of questions and libraries.
"""

import json
import re
import zipfile
from html import unescape

import pytest
from related_homes import PLAIN, related_homes  # noqa: F401
from report_release import report_release  # noqa: F401

import synth
from synth import languages
from synth.report import answer_page, card_page, pdf
from tests.conftest import SMALL

pytestmark = pytest.mark.xdist_group("languages")  # the pages are made once
FEW = {"rows": 400}
WORD = re.compile(r"[^\W\d_]{3,}")
FIGURES = {"synthetic": 3.5, "estimate": 3.0, "low": 2.0, "high": 4.0, "table_low": 2.5, "table_high": 3.5}
ANSWER = {
    "level": 0.95,
    "release": {"epsilon": 1.0, "synthetic_sha256": "ab12"},
    "question": {"kind": "mean"},
    "settled": False,
    "terms": {"wage": FIGURES, "age": dict.fromkeys(FIGURES)},
    "within": {"wage": {"within": True, "error": 0.01}, "age": {"within": None}},
}
DATA = set(  # words of data: files, methods, libraries, names of the ledger's questions, names of the literature
    WORD.findall(
        """index missed schema
        synthetic csv parquet html json jsonld card report release safetensors model reproduce documents crate
        metadata croissant dcat csvw CITATION cff MANIFEST sha SHA sigma mixture small homes people Approximate add
        remove accounting facsimile synth numpy randomgen torch pyarrow cpu SDMetrics kind mean wage one way level
        calendar again tables rows siblings number together nearest"""
    )
)


def names(schema) -> set[str]:
    """Words of a schema: tables, columns, categories."""
    return set(WORD.findall(json.dumps(schema)))


def text(page: str) -> str:
    """What a page says to eyes, to a screen reader, and on hovering."""
    page = re.sub(r"<(style|pre|code)\b.*?</\1>|`[^`]*`|^ {4}[^\n]*$", " ", page, flags=re.DOTALL | re.MULTILINE)
    spoken = " ".join(re.findall(r'(?:aria-label|alt)="([^"]*)"', page))
    return unescape(re.sub(r"<[^>]*>", " ", page)) + unescape(spoken)


def unmarked(page: str) -> str:
    left = text(page)
    while (shorter := re.sub(r"⟦[^⟦⟧]*⟧", " ", left)) != left:
        left = shorter
    return left


@pytest.fixture(scope="module")
def pages(release, made, tmp_path_factory):
    """Every page and text of both releases, by language and name."""
    place, out = tmp_path_factory.mktemp("languages"), {}
    kinds = {"single": (*release, release[0].parent / "ledger.sqlite"), "related": made}
    for language in (languages.MARKED, "de"):
        for name, (folder, real, ledger) in kinds.items():
            zipped, page = place / f"{name}-{language}.zip", place / language / f"{name}.html"
            page.parent.mkdir(exist_ok=True)
            synth.bundle(folder, zipped, how="before", ledger=ledger, unfinished=True, language=language)
            with zipfile.ZipFile(zipped) as file:
                parts = {n: file.read(n).decode() for n in file.namelist() if n.endswith((".html", ".md"))}
            synth.report(folder, page, real=real, ledger=ledger, language=language, **FEW)
            parts |= {p.name: p.read_text() for p in page.parent.glob(f"{name}*.html")}
            with languages.spoken(language):
                answer = {**ANSWER, "card": json.loads((folder / "card.json").read_text())}
                parts["answer.html"] = str(answer_page.render(answer))
            out |= {(language, f"{name}/{n}"): t for n, t in parts.items()}
    return out


def test_every_text_is_marked(pages):
    data = DATA | names(SMALL) | names(PLAIN)
    outside = {}
    for (language, name), page in pages.items():
        if language == languages.MARKED:
            outside[name] = {w for w in WORD.findall(unmarked(page)) if w not in data and not re.search(r"\d", w)}
    hashes = re.compile(r"[a-f]+")
    left = {n: {w for w in words if not hashes.fullmatch(w)} for n, words in outside.items()}
    assert not {n: sorted(w)[:20] for n, w in left.items() if w}


def test_the_same_pages_are_there_in_german_and_say_so(pages):
    assert {n for at, n in pages if at == "de"} == {n for at, n in pages if at == languages.MARKED}
    for (language, name), page in pages.items():
        if language == "de":
            assert name.endswith(".md") or '<html lang="de">' in page
            assert not re.search(r"\b(?:the|of|which|with|is|are|by)\b", german(page)), name


def german(page: str) -> str:
    """What a German page says, without columns that the library names."""
    return text(page).replace("number of people", "")


def test_numbers_are_written_as_the_language_does(pages):
    page = text(pages["de", "single/report.html"])
    assert re.search(r"\d,\d %", page)
    assert not re.search(r"\d\.\d %", page)


def test_data_stays_as_it_is_in_every_language(release, made, tmp_path):
    for folder, ledger in ((release[0], release[0].parent / "ledger.sqlite"), (made[0], made[2])):
        parts = {}
        for language in ("en", "de"):
            synth.bundle(folder, tmp_path / "r.zip", how="before", ledger=ledger, language=language)
            with zipfile.ZipFile(tmp_path / "r.zip") as file:
                parts[language] = {n: file.read(n) for n in file.namelist() if not n.endswith((".html", ".md"))}
        described = {n: t for n, t in parts["en"].items() if n not in ("ro-crate-metadata.json", "MANIFEST.sha256")}
        assert described == {n: parts["de"][n] for n in described}, "those two hold hashes of the pages"
        synth.check(json.loads(parts["de"]["card.json"]))


def test_a_language_without_a_catalogue_is_refused_before_anything(command, release, tmp_path):
    for line in (["report", release[0], "--publishable"], ["card", "write", release[0]], ["bundle", release[0]]):
        code, _, stderr = command(*line, "--language", "xx")
        assert code == 2
        assert "en, de" in stderr
        assert len(stderr.splitlines()) == 1
    code, out, _ = command("report", release[0], "--publishable", "--language", "de", "--out", tmp_path / "r.html")
    assert code == 0, out
    assert "Veröffentlichbarer Bericht" in (tmp_path / "r.html").read_text()


def test_a_german_pdf(pages):
    pytest.importorskip("weasyprint")
    page = pages["de", "single/card.html"]
    assert pdf.written([page]).startswith(b"%PDF")


def test_what_a_card_states_is_translated_on_its_page_alone(release):
    card = json.loads((release[0] / "card.json").read_text())
    with languages.spoken("de"):
        assert "Karte der Freigabe" in card_page.render_html(card)
        assert "eine Vermutung von 50:50" in card_page.render_markdown(card)
    assert "a guess of 50:50" in card_page.render_html(card)
