"""The real thing: a browser, a server, a run. Every page, wide and light, narrow and dark: nothing sticks out, charts
speak, the keyboard reaches the way on. Skipped where Chromium or playwright is not installed."""

import gzip
import re
import subprocess
import sys
import time
import zipfile

import pytest

from app.session.frame import SAMPLE
from synth.privacy.ledger.ledger import Ledger
from tests.app.browser import (
    AXE,
    CHROMIUM,
    IDLE,
    PICTURES,
    barred,
    chromium,
    environment,
    press,
    relay,
    send,
    server,
    soonest,
    there,
    unfold,
    with_token,
)
from tests.app.ports import free_port

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
WIDE = {"viewport": {"width": 1280, "height": 900}}
LOOKS = ((390, "dark"), (1280, "light"))
FOCUSED = """(it => it ? `${it.innerText} ${it.getAttribute('aria-label') ?? ''}` : '')(
    document.activeElement.closest('button, a, [role=button]'))"""
UNNAMED = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
    .filter(chart => !(chart.querySelector('[aria-label]')?.getAttribute('aria-label')?.length > 40)).length"""

UPLOAD = """() => ['button p', '[data-testid=stFileUploaderDropzoneInstructions] span'].map(inner => getComputedStyle(
    document.querySelector(`[data-testid=stFileUploaderDropzone] ${inner}`), '::after').content)"""


def looked_at(page, name: str) -> None:
    """Narrow and dark, then wide and light, with a picture of each for whoever looks at them."""
    page.mouse.move(0, 0)  # what the pointer is over has other colours
    for width, scheme in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(IDLE, polling=100)
        faults = settled(page, width)
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"look-{name}-{width}-{scheme}.png")
        assert faults == [], f"{name}, {width} wide, {scheme}"


def settled(page, width: int) -> list:
    """What is wrong with the page; a chart is drawn anew in a new width, so that a fault must last to be one."""
    for _ in range(40):
        page.wait_for_timeout(300)
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        faults = [f"sticks out: {wide}"] * (wide > width)
        faults += ["a chart without a text alternative"] * page.evaluate(UNNAMED)
        if not faults and not (faults := barred(page)):  # axe-core takes a second: of a page that stands
            break
    return faults


def reached_by_tab(page, name: str, most: int = 120) -> bool:
    """Whether the Tab key comes to a button of that name."""
    page.evaluate("document.activeElement.blur()")
    for _ in range(most):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        assert "Help for " not in focused, "each field is one Tab stop"
        if name in focused:
            return True
    return False


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """One server that takes uploads of a mebibyte, and one browser: (home, port, what opens pages, their errors)."""
    home, port = tmp_path_factory.mktemp("house"), free_port()
    env = {**environment(home), "SYNTH_UPLOAD_MIB": "1"}
    with server(home, port, env=env), chromium(errors := []) as opened:
        yield home, port, opened, errors


def to_run(page) -> None:
    page.get_by_role("button", name="Use the sample table").click()
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")


def test_from_a_started_server_to_an_opened_bundle_in_four_clicks_though_the_connection_broke(house, tmp_path):
    """The browser talks through a relay, which is cut while the run goes on; a cut is told on the console."""
    home, port, opened, errors = house
    with relay(port) as cut:
        page = opened(with_token(cut.port), accept_downloads=True, **WIDE)
        to_run(page)
        page.get_by_role("button", name="make the table").click()
        page.get_by_role("button", name="Cancel the run").wait_for()
        assert errors == [], "nothing on the console up to here"
        cut.off()
        page.get_by_text("Connection error").or_(page.get_by_text("Connecting")).first.wait_for()
        cut.on()
        there(page, "The result")
        errors.clear()  # the cut and the tries to connect again
        with page.expect_download() as download:
            page.get_by_role("button", name=re.compile(r"^Download .*\.zip$")).click()
        download.value.save_as(tmp_path / "release.zip")
        deeds = page.evaluate("deeds")
        assert errors == []
        page.context.close()
    errors.clear()  # of the relay's end
    assert 0 < deeds["click"] <= 4, deeds
    assert deeds["keydown"] == 0, "there is nothing to type"
    assert [t.runs for t in Ledger(home / "ledger.sqlite").summary()] == [1], "nothing was started twice"
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path / "release")
    assert (tmp_path / "release" / "synthetic.csv").read_text().startswith("person_id,age,sex")
    checked = subprocess.run(
        [sys.executable, "-m", "synth", "card", "check", str(tmp_path / "release" / "card.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed, so no page was held to it: it is of the extra dev")
def test_axe_core_is_there_and_finds_a_barrier(house):
    """The check that ``looked_at`` makes of every page has teeth: a button without a name is found."""
    _, port, opened, _ = house
    page = opened(with_token(port), **WIDE)
    assert settled(page, WIDE["viewport"]["width"]) == []
    page.evaluate("document.querySelector('[data-testid=stMain]').append(document.createElement('button'))")
    assert [b.split(":")[0] for b in barred(page)] == ["button-name"]
    page.context.close()


def test_a_file_above_the_stated_limit_is_refused_before_it_is_sent(house, tmp_path):
    _, port, opened, errors = house
    (tmp_path / "large.csv").write_bytes(b"a,b\n" + b"1,2\n" * 300_000)
    page = opened(with_token(port), **WIDE)
    page.get_by_role("button", name="Upload", exact=True).first.wait_for()
    assert page.evaluate(UPLOAD) == ['"Upload"', '"up to 1 MB a file"']
    page.get_by_test_id("stFileUploader").filter(has_text="Table (CSV").locator("input[type=file]").set_input_files(
        tmp_path / "large.csv"
    )
    page.get_by_text("must be 1.0MB or smaller").wait_for()
    assert page.get_by_text("Chosen:").count() == 0
    page.context.close()
    assert errors == []


def test_every_page_fits_both_widths_and_is_walked_by_keyboard(house):
    """A run is cancelled on the way, by keyboard too."""
    _, port, opened, errors = house
    page = opened(with_token(port), **WIDE)
    looked_at(page, "data")
    assert reached_by_tab(page, "Use the sample table")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Next: Privacy").wait_for()
    looked_at(page, "table")
    assert reached_by_tab(page, "Next: Privacy and accuracy")
    page.keyboard.press("Enter")
    looked_at(there(page, "Privacy and accuracy"), "privacy")
    page.get_by_role("spinbutton").first.press("F1")
    page.get_by_test_id("stTooltipContent").get_by_text("to type in").wait_for()
    soonest(page)
    assert reached_by_tab(page, "make the table")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel the run").focus()
    page.keyboard.press("Enter")
    page.get_by_text("cancelled").or_(page.get_by_role("heading", name="The result", exact=True)).first.wait_for()
    page.wait_for_function(IDLE, polling=100)
    if not page.get_by_role("heading", name="The result", exact=True).count():
        page.get_by_role("button", name="make the table").click()
    there(page, "The result").get_by_role("button", name=re.compile(r"^Download .*\.zip$")).wait_for()
    looked_at(page, "result")
    assert reached_by_tab(page, ".zip")
    page.get_by_role("button", name="Show the comparison").click()
    page.get_by_role("tab", name="Pairs", exact=True).click()
    looked_at(page, "compared")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Ledger").click()
    unfold(there(page, "Ledger"), "What all runs on a dataset cost together")
    page.get_by_role("button", name="Work it out").click()
    page.get_by_text("if all were planned beforehand").wait_for()
    page.keyboard.press("r")  # the page is drawn again, as after a run that ends: what was asked for stays
    page.wait_for_timeout(2000)
    page.get_by_text("if all were planned beforehand").wait_for()
    looked_at(page, "ledger")
    page.get_by_test_id("stSelectbox").filter(has_text="Sprache").locator("input").click()
    page.get_by_role("option", name="Deutsch").click()
    for title in ("Verzeichnis", "Das Ergebnis", "Schutz und Genauigkeit", "Die Tabelle"):
        page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
        looked_at(there(page, title), f"german-{title}")
        page.set_viewport_size(WIDE["viewport"])
    assert page.evaluate("document.documentElement.lang") == "de"
    page.get_by_role("button", name="Andere Tabelle").click()
    page.get_by_role("button", name="Die Beispieltabelle verwenden").wait_for()
    assert page.evaluate(UPLOAD) == ['"Hochladen"', '"je Datei bis zu 1 MB"']
    page.context.close()
    assert errors == []


def test_behind_a_slow_line_no_page_is_emptied_by_what_the_page_before_asks_for(house):
    """A followed run's page asks for itself each second, also after the server has gone on to another page."""
    _, port, opened, errors = house
    with relay(port) as line:
        page = opened(with_token(line.port), **WIDE)
        to_run(page)
        soonest(page)
        line.lag = 0.8
        page.get_by_role("button", name="make the table").click()
        stays(page, "The result").get_by_role("button", name=re.compile(r"^Download .*\.zip$")).wait_for()
        press(page, "Back: Privacy", "Privacy and accuracy")
        page.get_by_role("button", name="make the table").click()
        page.get_by_role("button", name="Cancel the run").wait_for()
        page.wait_for_timeout(1500)
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Ledger").click()
        stays(page, "Ledger")
        page.context.close()
    assert errors == []


def stays(page, heading: str):
    """A page that was drawn, and that stands after what was under way has arrived."""
    there(page, heading)
    page.wait_for_timeout(4000)
    return there(page, heading)


def test_a_killed_server_finds_run_table_and_ledger_when_it_is_started_again(house, home, people):
    """The run goes on without its window and its server; a narrow screen finds it."""
    (home / "people.csv").write_bytes(people)
    _, _, opened, errors = house
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with server(home, port) as process:
        page = opened(with_token(port), **WIDE)
        send(page, home / "people.csv")
        page.get_by_role("button", name="Another table").click()
        to_run(page)
        page.get_by_role("button", name="make the table").dblclick()  # the second click is that of a person in doubt
        page.get_by_role("button", name="Cancel the run").wait_for()
        page.reload()
        there(page, "Privacy and accuracy").get_by_text("Went on with the last table").wait_for()
        page.get_by_role("button", name="Cancel the run").or_(page.get_by_role("button", name="Spend")).first.wait_for()
        other = page.context.new_page()
        other.goto(url)
        other.get_by_role("button", name="Watch it").or_(other.get_by_role("button", name="Open it")).wait_for()
        process.kill()
        process.wait(30)
        page.context.close()
        errors.clear()  # a page whose server is gone may complain
    with server(home, port):
        page = opened(with_token(port), viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.get_by_text("Tables of earlier visits (2)").wait_for()
        page.get_by_role("button", name="Watch it").or_(page.get_by_role("button", name="Open it")).click()
        there(page, "The result").get_by_role("button", name=re.compile(r"^Download .*\.zip$")).wait_for()
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= 390, "nothing sticks out of a narrow screen"
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Ledger").click()
        there(page, "Ledger").get_by_text("epsilon 1 of 3 spent in 1 run").wait_for()
        page.goto(f"{url}/run")
        spend = there(page, "Privacy and accuracy").get_by_role("button", name="make the table")
        page.wait_for_function(IDLE, polling=100)
        spend.click()
        page.get_by_role("button", name="Cancel the run").wait_for()
        page.close()  # the run goes on
        for _ in range(240):
            if [t.runs for t in Ledger(home / "ledger.sqlite").summary()] == [2]:
                break
            time.sleep(0.25)
        assert [t.runs for t in Ledger(home / "ledger.sqlite").summary()] == [2], "the run was lost"
        errors.clear()  # a page opened under its own address looks for files beside it first
    assert errors == []


def test_something_public_is_named_weighed_previewed_used_and_followed_over_two_releases(house, tmp_path):
    """One journey through all that the pages say of public data; nothing is charged before the button says so."""
    home, port, opened, errors = house
    older = tmp_path / "yearbook.csv"
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as rows:
        older.write_text("".join(line for i, line in enumerate(rows) if i < 1200), encoding="utf-8")
    page = opened(with_token(port), **WIDE)
    page.get_by_role("button", name="Use the sample table").click()
    before = [t.runs for t in Ledger(home / "ledger.sqlite").summary()]
    unfold(page, "Name something public (optional)")
    field = page.get_by_test_id("stFileUploader").filter(has_text="Public table")
    field.locator("input[type=file]").set_input_files(older)
    page.get_by_text("yearbook.csv").first.wait_for()
    for name, reported in (
        ("Why is it public?", "printed in the yearbook"),
        ("Who confirms that it is public?", "the office"),
    ):
        page.get_by_role("textbox", name=name).fill(reported)
        page.keyboard.press("Tab")
        page.wait_for_function(IDLE, polling=100)
    page.get_by_role("button", name="Use it as public data").click()
    page.get_by_text("1,199 rows").wait_for()
    looked_at(page, "table-prior")
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")
    page.get_by_text("of the rows would have to change").wait_for()
    looked_at(page, "privacy-prior")
    press(page, "Preview on public rows", "Preview")
    page.get_by_role("button", name="Make the preview").click()
    page.get_by_text("Rows that would have to change").wait_for()
    looked_at(page, "Preview")
    assert [t.runs for t in Ledger(home / "ledger.sqlite").summary()] == before, "nothing was charged"
    press(page, "Back: Privacy and accuracy", "Privacy and accuracy")
    page.get_by_role("button", name="make the table").click()
    there(page, "The result").get_by_text("of the estimate").wait_for()
    looked_at(page, "result-prior")
    page.get_by_role("link", name="Series").click()
    there(page, "Series")
    looked_at(page, "Series")
    assert errors == []
    page.context.close()
