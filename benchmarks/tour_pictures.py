"""The pictures of docs/tour.md: the sample table through the three pages in a browser, a page a picture.

    python benchmarks/tour_pictures.py [--chromium /usr/bin/chromium] [--out docs/pictures]

Starts a server with a home and a ledger of its own, presses what the tour says, and writes tour-*.png.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from app_seconds import CHROMIUM, FLAGS, IDLE, LONG, at_home, awaited, opened
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from runner import PICTURES, start

WINDOW = {"width": 1180, "height": 860}
COLOURS = 128  # of a picture: a third of its size, and nobody sees it
SHRUNK = "--force-prefers-reduced-motion"


def taken(page: Page, out: Path, name: str) -> None:
    """A picture of the page once it stands whole; taking one's eye to the top first."""
    page.wait_for_timeout(300)
    page.wait_for_function(IDLE, timeout=LONG)
    page.mouse.move(5, 5)
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
    page.wait_for_timeout(800)  # charts are drawn after the script has ended
    place = out / f"tour-{name}.png"
    page.screenshot(path=place)
    Image.open(place).quantize(COLOURS).save(place, optimize=True)


def toured(page: Page, url: str, out: Path) -> None:
    """The tour, as docs/tour.md tells it."""
    opened(page, url)
    page.get_by_role("button", name="Use the sample table").click()
    awaited(page, "Next: Privacy and accuracy")
    taken(page, out, "table")
    page.get_by_role("button", name="Next: Privacy and accuracy").click()
    awaited(page, "make the table")
    taken(page, out, "privacy")
    page.get_by_role("button", name="make the table").click()
    awaited(page, ".zip")
    taken(page, out, "result")


def main(given) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home, sync_playwright() as play, at_home(Path(home)) as (url, _):
        browser = play.chromium.launch(executable_path=given.chromium, args=[*FLAGS, SHRUNK])
        page = browser.new_context(viewport=WINDOW).new_page()
        page.set_default_timeout(LONG)
        toured(page, url, given.out)
        browser.close()


if __name__ == "__main__":
    start(main, chromium=CHROMIUM, out=PICTURES)
