"""Every page opens offline in a browser without an error, a request or a sideways scroll. Needs Chromium; slow."""

import shutil

import pytest
from report_release import report_release  # noqa: F401

from synth.evaluate.examination import Limits
from synth.release.card.verify import load
from synth.report import card_page, publish
from synth.report.steward import write

pytestmark = pytest.mark.slow


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
    write.write(examination, folder, place / "steward.html")
    publish.write(folder, place / "publishable.html")
    (place / "card.html").write_text(card_page.render_html(load(folder)))
    return sorted(place.glob("*.html"))


@pytest.mark.parametrize("wide", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_offline_without_a_word_in_the_console(browser, pages, wide, scheme):
    assert len(pages) == 3
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
        context.close()
