"""Report, card and papers as one PDF: numbered pages, every label whole, the same bytes; nothing is fetched."""

import re
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from report_release import report_release  # noqa: F401

import synth
from synth.errors import UsageError
from synth.evaluate.examination import Limits
from synth.report import html, pdf, svg_charts
from synth.report.steward import write as steward
from synth.schema import table

weasyprint = None
with suppress(ImportError, OSError):
    import weasyprint
pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed: it is of the extra dev")
here = pytest.mark.skipif(weasyprint is None, reason="WeasyPrint or Pango is not installed")
FEW = Limits(rows=300, quality=100, models=200, classifier=100, nearest=50, attacks=20)
LONG = [
    "a label that nobody could put beside a bar",
    "one of two lines: " + "words and words " * 5 + "end",
    "x" * 70,
    "short",
]


def texts(content: bytes) -> list[str]:
    """The text of each page, in one line."""
    document = pdfium.PdfDocument(content)
    return [re.sub(r"\s+", " ", page.get_textpage().get_text_range()) for page in document]


def letters(text: str) -> str:
    return re.sub(r"\W", "", text)


@here
def test_report_card_and_papers_are_on_numbered_pages_and_the_same_bytes(release, tmp_path):
    ledger = release[0].parent / "ledger.sqlite"
    made = [
        synth.bundle(release[0], tmp_path / f"{i}.zip", how="before", ledger=ledger, as_pdf=True, unfinished=True)
        for i in range(2)
    ]
    assert made[0].sha256 == made[1].sha256
    with zipfile.ZipFile(tmp_path / "0.zip") as file:
        pages = texts(file.read(pdf.NAME))
        titled = {re.search(r"<title>(.*?)</title>", file.read(n).decode())[1] for n in file.namelist() if ".html" in n}
    numbers = [re.findall(r"(\d+) / (\d+)", page)[-1] for page in pages]
    begun = [i for i, (number, _) in enumerate(numbers) if number == "1"]
    assert len(begun) == len(titled) - 1, "each but the first page of the bundle, which leads to files"
    for start, end in zip(begun, [*begun[1:], len(pages)], strict=True):
        assert [n for n, _ in numbers[start:end]] == [str(i + 1) for i in range(end - start)]
        assert {all_ for _, all_ in numbers[start:end]} == {str(end - start)}
    whole = " ".join(pages)
    assert "epsilon" in whole
    assert "impact assessment" in whole.lower()


@here
def test_labels_are_whole_on_paper_however_long(monkeypatch):
    """A planted cut fails."""
    chart = svg_charts.paired_bars(LONG, np.full(4, 0.25), np.full(4, 0.25), words="w")
    page = html.render("result.html", result=_result(), pictures=[("chart", chart)], more=0)
    assert all(letters(name) in letters(" ".join(texts(pdf.written([page])))) for name in LONG)
    monkeypatch.setattr(svg_charts, "wrapped", lambda words, _: [words[:17]])
    chart = svg_charts.paired_bars(LONG, np.full(4, 0.25), np.full(4, 0.25), words="w")
    page = html.render("result.html", result=_result(), pictures=[("chart", chart)], more=0)
    assert not all(letters(name) in letters(" ".join(texts(pdf.written([page])))) for name in LONG)


def _result():
    class Some:
        num_rows, method, epsilon_spent, delta, relation = 1, "m", 1.0, 0.0, "add_remove"
        schema = table.parse({"columns": {"a": {"type": "boolean", "categories": ["x", "y"], "source": "public"}}})

        class paths:
            card = ""

    return Some


@here
def test_the_stewards_report_is_marked_on_every_page(release, tmp_path):
    examined = steward.examine(release[0], real=release[1], limits=FEW)
    page = tmp_path / "r.html"
    paths = steward.put(steward.alone(examined, release[0], page))
    with open(paths["report"], encoding="utf-8") as file:
        pages = texts(pdf.written([file.read()]))
    assert all("For the steward only" in page for page in pages)


@here
def test_pictures_have_the_colours_of_the_page():
    """Without the page's own style, a picture is black on black."""
    chart = svg_charts.stacked((0.5, 0.3, 0.2), top=1.0, words="w")
    content = pdf.written([f"<html><body style='background:#fff'>{chart}</body></html>"])
    image = pdfium.PdfDocument(content)[0].render(scale=2).to_numpy()
    colours = {tuple(int(c) for c in pixel) for pixel in image.reshape(-1, image.shape[-1])[:, :3][::7]}
    assert {(0x0B, 0x6E, 0x63), (0x63, 0x6E, 0x0B)} & colours, "the good colour, in either order of bytes"


@here
def test_nothing_is_fetched(tmp_path):
    (tmp_path / "x.css").write_text("body::after{content:'fetched'}")
    page = f"<html><head><link rel=stylesheet href='{(tmp_path / 'x.css').as_uri()}'></head><body>page</body></html>"
    assert "fetched" not in "".join(texts(pdf.written([page])))


def test_without_weasyprint_or_pango_it_says_which(monkeypatch, command, release, tmp_path):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setattr(pdf, "need", lambda *_: None)
    with pytest.raises(ImportError):
        pdf.written(["<p>"])

    class Broken:
        def find_spec(self, name, *_):
            if name == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.delitem(sys.modules, "weasyprint")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(UsageError, match=pdf.PANGO):
        pdf.written(["<p>"])
    ledger = release[0].parent / "ledger.sqlite"
    code, _, reported = command("bundle", release[0], "--out", tmp_path / "r.zip", "--ledger", ledger, "--pdf")
    assert (code, len(reported.splitlines())) == (2, 1)
    assert not (tmp_path / "r.zip").exists()
