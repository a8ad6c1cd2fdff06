"""Every page, wide and light, narrow and dark: nothing sticks out, charts speak, the keyboard reaches the way on."""

import pytest

from tests.app import browser
from tests.app.browser import CHROMIUM, IDLE, PICTURES, press, there

served, visit, clock = browser.served, browser.visit, browser.clock  # fixtures
pytestmark = [
    pytest.mark.xdist_group("app"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
LOOKS = ((390, "dark"), (1280, "light"))
FOCUSED = "document.activeElement.closest('button, a, [role=button]')?.innerText ?? ''"
UNNAMED = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
    .filter(chart => !(chart.querySelector('[aria-label]')?.getAttribute('aria-label')?.length > 40)).length"""


def looked_at(page, name: str) -> None:
    """Narrow and dark, then wide and light, with a picture of each for whoever looks at them."""
    for width, scheme in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(IDLE)
        page.wait_for_timeout(300)  # charts are drawn anew in the new width
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"look-{name}-{width}-{scheme}.png")
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= width, f"{name} sticks out of a screen of {width}"
        assert page.evaluate(UNNAMED) == 0, f"{name} has a chart without a text alternative"


def reached_by_tab(page, name: str, most: int = 120) -> bool:
    """Whether the Tab key comes to a button of that name."""
    page.evaluate("document.activeElement.blur()")
    for _ in range(most):
        page.keyboard.press("Tab")
        if name in page.evaluate(FOCUSED):
            return True
    return False


def test_every_page_fits_both_widths_and_is_walked_by_keyboard(visit):
    page = visit(viewport={"width": 1280, "height": 900})
    looked_at(page, "data")
    assert reached_by_tab(page, "Use the sample table")
    page.keyboard.press("Enter")
    for step, following in zip(("Describe", "Budget", "Method"), ("Budget", "Method", "Run"), strict=True):
        looked_at(there(page, step), step.lower())
        assert reached_by_tab(page, f"Next: {following}"), step
        page.keyboard.press("Enter")
    looked_at(there(page, "Run"), "run")
    assert reached_by_tab(page, "Spend epsilon")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Next: Review").click()
    there(page, "Review").get_by_role("button", name="Show the comparison").click()
    page.get_by_role("tab", name="Pairs of columns").click()
    looked_at(page, "review")
    press(page, "Next: Release", "Release")
    looked_at(page, "release")
    assert reached_by_tab(page, "Everything (.zip)")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Ledger").click()
    there(page, "Ledger").get_by_text("What all runs on a dataset cost together").click()
    page.get_by_role("button", name="Work it out").click()
    page.get_by_text("if all were planned beforehand").wait_for()
    page.keyboard.press("r")  # the page is drawn again, as after a run that ends: what was asked for stays
    page.wait_for_timeout(2000)
    page.get_by_text("if all were planned beforehand").wait_for()
    looked_at(page, "ledger")
