"""Twenty visitors of one server at once: how long pages take while runs are on, and whether data stay apart.

    python benchmarks/app_load.py [--visitors 20] [--chromium /usr/bin/chromium]

Each visitor is a context of one Chromium: uploads a table of his own, walks to the page Run and starts it; then all
runs stand in line, and every visitor's pages are timed meanwhile. Needs the packages of the extra `dev` and Chromium.
"""

import asyncio
import json
import time
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from app_server import CHROMIUM, FLAGS, IDLE, serving
from playwright.async_api import Browser, Error, Page, TimeoutError, async_playwright, expect
from runner import start, tell

PATIENCE = 90_000
LIMIT = 2.0  # seconds in which a page must answer while runs are on


def table(number: int) -> bytes:
    """A small table that names its visitor in a column's name and values."""
    rows = [f"{20 + i % 60},v{number}_{i % 3}" for i in range(300)]
    return (f"age,mine_{number}\n" + "\n".join(rows) + "\n").encode()


def description(number: int) -> bytes:
    """Its description, so that no draft is needed."""
    mine = {"type": "categorical", "categories": [f"v{number}_{i}" for i in range(3)], "source": "public"}
    age = {"type": "integer", "min": 0, "max": 99, "source": "public"}
    return json.dumps({"dataset": f"visitor-{number}", "columns": {"age": age, f"mine_{number}": mine}}).encode()


async def idle(page: Page, heading: str) -> None:
    """Waits until a page stands there whole."""
    await page.get_by_role("heading", name=heading, exact=True).wait_for(timeout=PATIENCE)
    await page.wait_for_function(IDLE, timeout=PATIENCE)


async def prepare(browser: Browser, url: str, number: int, errors: list[str]) -> Page:
    """A visitor at the page Run with a table of his own, his run in line."""
    page = await (await browser.new_context()).new_page()
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    await page.goto(url, timeout=PATIENCE)
    await idle(page, "Data")
    files = page.locator("input[type=file]")
    name = f"visitor{number}.csv"
    await files.nth(0).set_input_files({"name": name, "mimeType": "text/csv", "buffer": table(number)})
    load = page.get_by_role("button", name="Load this table")
    await expect(load).to_be_enabled(timeout=PATIENCE)  # the server has the file
    await page.wait_for_function(IDLE, timeout=PATIENCE)
    facts = {"name": "facts.json", "mimeType": "application/json", "buffer": description(number)}
    await files.nth(1).set_input_files(facts)
    await page.get_by_test_id("stFileChipName").get_by_text("facts.json").wait_for(timeout=PATIENCE)
    await page.wait_for_function(IDLE, timeout=PATIENCE)
    await load.click(timeout=PATIENCE)
    with suppress(TimeoutError):  # the page was built anew under the pointer: a person would click again
        await page.get_by_role("heading", name="Describe", exact=True).wait_for(timeout=PATIENCE / 6)
    if await load.is_visible():
        await load.click(timeout=PATIENCE)
    for heading in ("Describe", "Budget", "Method", "Run"):
        await idle(page, heading)
        if heading == "Budget":
            await page.get_by_role("button", name="The number is public").click(timeout=PATIENCE)
        if heading != "Run":
            await page.get_by_role("button", name="Next:").click(timeout=PATIENCE)
    await page.get_by_role("button", name="Spend epsilon").click(timeout=PATIENCE)
    await page.get_by_role("button", name="Cancel the run").wait_for(timeout=PATIENCE)
    return page


async def reported(browser: Browser, number: int, work: Awaitable[Any]) -> Any:
    """What the work gives; where it does not come to pass, says what the visitor sees instead."""
    try:
        return await work
    except (Error, AssertionError) as error:
        shown = await browser.contexts[number].pages[0].inner_text("[data-testid=stMain]")
        raise SystemExit(f"visitor {number}: {str(error).splitlines()[0]}; the page says:\n{shown}") from None


async def visit(page: Page, heading: str, link: str) -> float:
    """Seconds until another page stands there."""
    began = time.perf_counter()
    await page.get_by_role("link", name=link).click(timeout=PATIENCE)
    await idle(page, heading)
    return time.perf_counter() - began


async def finished(page: Page, number: int) -> bool:
    """Whether the visitor's result is made of his own values alone."""
    await visit(page, "Run", "5. Run")
    await page.get_by_role("button", name="Next: Review").click(timeout=20 * PATIENCE)
    await idle(page, "Review")
    await page.get_by_role("link", name="7. Release").click()
    await idle(page, "Release")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Table (CSV)").click(timeout=PATIENCE)
    text = Path(await (await download.value).path()).read_text()
    values = {line.split(",")[1].split("_")[0] for line in text.splitlines()[1:]}
    return text.startswith(f"age,mine_{number}\n") and values == {f"v{number}"}


async def measured(url: str, chromium: str, visitors: int) -> dict[str, Any]:
    """The whole load: prepared one after the other, timed together while the runs stand in line."""
    errors: list[str] = []
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=FLAGS)
        pages = [await reported(browser, i, prepare(browser, url, i, errors)) for i in range(visitors)]
        alone = [await visit(page, "Ledger", "Ledger") for page in pages]
        alone += [await visit(page, "Budget", "3. Budget") for page in pages]
        together = await asyncio.gather(*(visit(page, "Ledger", "Ledger") for page in pages))
        own = [await reported(browser, i, finished(page, i)) for i, page in enumerate(pages)]
        await browser.close()
    alone.sort()
    return {
        "visitors": visitors,
        "page_seconds_median": alone[len(alone) // 2],
        "page_seconds_worst": alone[-1],
        "all_at_once_worst": max(together),
        "within_limit": alone[-1] < LIMIT,
        "own_data_only": all(own),
        "console_errors": errors,
    }


def main(given) -> None:
    """Starts a server of its own, puts the load on it, prints the figures as JSON."""
    with TemporaryDirectory() as home, serving(Path(home)) as served:
        result = asyncio.run(measured(served.url, given.chromium, given.visitors))
        result["server_mib"] = round(psutil.Process(served.pid).memory_info().rss / 2**20)
    tell(given.json, result)


if __name__ == "__main__":
    start(main, visitors=20, chromium=CHROMIUM)
