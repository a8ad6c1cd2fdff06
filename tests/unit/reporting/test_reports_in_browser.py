"""Every page opens offline in a browser without an error, a request or a sideways scroll. Needs Chromium; slow."""

import shutil
import zipfile

import pytest
from report_release import report_release  # noqa: F401

import synth
from synth.evaluate.examination import Limits
from synth.release.card.verify import load
from synth.report import card_page, publish
from synth.report.documents import pack
from synth.report.steward import write
from tests.app.browser import AXE, PICTURES, SERIOUS

pytestmark = pytest.mark.slow
CUT = """[...document.querySelectorAll('svg')].flatMap(s => { const b = s.getBoundingClientRect();
    return b.width ? [...s.querySelectorAll('text')].filter(t => { const r = t.getBoundingClientRect();
    return r.left < b.left - 2 || r.right > b.right + 2 || r.top < b.top - 2 || r.bottom > b.bottom + 2 })
    .map(t => t.textContent) : [] })"""


@pytest.fixture(scope="module")
def browser():
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    result = shutil.which("chromium") or shutil.which("chromium-browser")
    if result is None:
        pytest.skip("no Chromium on this machine")
    with driver.sync_playwright() as one:
        made = one.chromium.launch(executable_path=result, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def pages(release, tmp_path_factory):
    folder, table = release
    place = tmp_path_factory.mktemp("pages")
    limits = Limits(rows=500, quality=200, models=500, classifier=200, nearest=100, attacks=40)
    examination = write.examine(folder, real=table, limits=limits)
    write.put(write.alone(examination, folder, place / "steward.html"))
    publish.write(folder, place / "publishable.html")
    (place / "card.html").write_text(card_page.render_html(load(folder)))
    synth.bundle(folder, place / "r.zip", how="before", ledger=folder.parent / "ledger.sqlite", unfinished=True)
    with zipfile.ZipFile(place / "r.zip") as file:
        for name in (n for n in file.namelist() if n == "index.html" or n.startswith("documents/")):
            (place / name.replace("/", "-")).write_bytes(file.read(name))
    return sorted(place.glob("*.html"))


@pytest.mark.parametrize("wide", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_offline_without_a_word_in_the_console(browser, pages, wide, scheme):
    assert len(pages) == 4 + len(pack.PAPERS)
    for path in pages:
        context = browser.new_context(viewport={"width": wide, "height": 900}, color_scheme=scheme, offline=True)
        page, faults = context.new_page(), []
        page.on("console", lambda m, retained=faults: retained.append(m.text))
        page.on("pageerror", lambda e, retained=faults: retained.append(str(e)))
        page.on(
            "request",
            lambda r, retained=faults: None if r.url.startswith(("file:", "data:")) else retained.append(r.url),
        )
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= wide, path.name
        assert faults == [], path.name
        lost = page.evaluate(CUT)
        assert not lost, f"{path.name}: labels that leave their picture: {lost[:5]}"
        if AXE is not None:  # what a PDF is made of is the same page
            page.evaluate(AXE.read_text(encoding="utf-8"))
            assert page.evaluate(SERIOUS) == [], path.name
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"report-{path.stem}-{wide}-{scheme}.png")
        context.close()
