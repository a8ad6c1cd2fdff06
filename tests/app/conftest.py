"""The application under test: the entry script itself, with a ledger and a home of its own."""

import shutil
from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from app.run import forecast
from app.session import access, frame
from app.session.state import view
from synth import languages as language
from tests.app.elements import SCHEMA, ended, to_run, upload

ROOT = Path(__file__).resolve().parent.parent.parent
config.set_option("runner.magicEnabled", False)  # as in app/.streamlit, which is read by a server alone
# Every new visitor in a test would have all installed packages looked through for components, as a server at its start.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Curves of three points in place of eight, which take seconds; ``test_forecast`` has that they span the rest."""
    monkeypatch.setattr(forecast, "ASKED_FIRST", (0.05, 10.0, 1.0))


@pytest.fixture(autouse=True)
def unfolded(monkeypatch):
    """Panels stand open, so that tests reach what is in them; ``test_release`` has that a closed one holds nothing."""
    fold = frame.fold
    monkeypatch.setattr(frame, "fold", lambda label, key, draw, **_: fold(label, key, draw, expanded=True))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A private home and ledger for the library and the workers that it starts."""
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SYNTH_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


@pytest.fixture
def signed(home, monkeypatch, request):
    """Signs a visitor in, as the provider would, where the test's file of roles holds; nobody's address is empty."""
    (home / "roles.toml").write_text(request.module.FILE)
    monkeypatch.setenv("SYNTH_ROLES", str(home / "roles.toml"))
    return lambda address: monkeypatch.setattr(access, "signed_in", lambda: address)


@pytest.fixture
def start(home):  # noqa: ARG001 - what it starts must find the home set
    """Opens the application as a new visitor would."""

    def opened() -> AppTest:
        guard = 300  # seconds: against hanging, no measure of speed
        return AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=guard).run()

    return opened


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Where the tests of one finished run have their home, one after the other, and where a copy of it is kept."""
    place = tmp_path_factory.mktemp("finished")
    return place / "home", place / "kept", []


@pytest.fixture
def done(home, stored, start, people, monkeypatch, request):  # noqa: ARG001 - ``home`` sets what is not set here
    """The result of one run on a small table, of a description and by a method that the module may name ``RUN``: made
    once, then as its folder was at that moment."""
    place, copy, wizards = stored
    shutil.rmtree(place, ignore_errors=True)
    monkeypatch.setenv("SYNTH_HOME", str(place / "home"))
    monkeypatch.setenv("SYNTH_LEDGER", str(place / "ledger.sqlite"))
    if wizards:
        shutil.copytree(copy, place)
        at = start()
        at.session_state["wizard"] = deepcopy(wizards[0])
        at.switch_page(view("result")).run()
        at._page_hash = ""  # or the test would be led back to this page after every button
        return at
    place.mkdir()
    schema, method = getattr(request.module, "RUN", (SCHEMA, "independent"))
    at = to_run(upload(start(), people, schema), method=method)
    at.button(key="spend").click().run()
    at = ended(at)
    wizards.append(deepcopy(at.session_state["wizard"]))
    shutil.copytree(place, copy)
    return at


@pytest.fixture
def people() -> bytes:
    """A table of 240 made-up people as CSV."""
    rows = [f"{20 + i % 60},{'ab'[i % 2]},{('Rome', 'Oslo', 'Bern')[i % 3]}" for i in range(240)]
    return ("age,team,city\n" + "\n".join(rows) + "\n").encode()


@pytest.fixture
def in_german():
    """All pages in German."""
    before = list(language._reader)
    language.readers(lambda: "de")
    yield
    language._reader[:] = before
