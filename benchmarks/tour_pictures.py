"""The pictures of docs/tour.md: the sample table from Data to Release in a browser, a page a picture.

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
ONWARD = ("Describe", "Budget", "Method", "Run")


def taken(page: Page, out: Path, name: str) -> None:
    """A picture of the page once it stands whole; taking one's eye to the top first."""
    page.wait_for_timeout(300)
    page.wait_for_function(IDLE, timeout=LONG)
    page.mouse.move(5, 5)
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
    page.wait_for_timeout(800)  # charts are drawn after the script has ended
    place = out / f"tour-{name.lower()}.png"
    page.screenshot(path=place)
    Image.open(place).quantize(COLOURS).save(place, optimize=True)


def pressed(page: Page, name: str, heading: str) -> None:
    page.get_by_role("button", name=name).first.click()
    page.get_by_role("heading", name=heading, exact=True).wait_for()


def toured(page: Page, url: str, out: Path) -> None:
    """The tour, as docs/tour.md tells it."""
    opened(page, url)
    taken(page, out, "Data")
    page.get_by_role("button", name="Use the sample table").click()
    page.get_by_role("heading", name="Describe", exact=True).wait_for()
    taken(page, out, "Describe")
    for name in ONWARD[1:]:
        pressed(page, f"Next: {name}", name)
        taken(page, out, name)
    page.get_by_role("button", name="Spend epsilon").first.click()
    awaited(page, "Next: Review")
    pressed(page, "Next: Review", "Review")
    page.get_by_role("button", name="Show the comparison").click()
    page.get_by_text("Good for").first.wait_for(timeout=LONG)
    taken(page, out, "Review")
    pressed(page, "Next: Release", "Release")
    awaited(page, "Everything (.zip)")
    taken(page, out, "Release")


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
