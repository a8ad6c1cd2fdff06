"""Two browsers, signed in as different people, at one server; a page elsewhere; a server that is killed."""

import io
import os
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from synth import jobs
from tests.app.browser import (
    CHROMIUM,
    IDLE,
    PATIENCE,
    cookie,
    environment,
    installation,
    launched,
    server,
    signed_in,
    with_token,
)
from tests.app.browser import send as send_table
from tests.app.ports import free_port

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
ROLES = """
[roles]
steward = ["ann@example.org", "carl@example.org"]
reviewer = ["bob@example.org"]
"""
SECRET = "anns-secret-clinic"
TABLE = b"age,team\n" + b"".join(b"%d,%s\n" % (20 + i % 60, b"ab"[i % 2 : i % 2 + 1]) for i in range(200))
FOREIGN = """<!doctype html><title>elsewhere</title><iframe id=f src="{0}" width=800 height=600></iframe>
<script>
window.heard = [];
addEventListener('message', e => heard.push(e.origin));
const tell = () => f.contentWindow.postMessage({{stCommVersion: 1, type: 'RERUN_SCRIPT'}}, '*');
for (const after of [500, 1000, 1500]) setTimeout(tell, after);
window.socket = new Promise(done => {{
    const s = new WebSocket('{1}/_stcore/stream', ['streamlit']);
    s.onopen = () => done('open'); s.onerror = () => done('refused');
}});
window.read = fetch('{0}/_stcore/host-config').then(r => r.text(), () => 'refused');
</script>"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server, one provider and one browser for all tests here: address, provider, browser, home."""
    home = tmp_path_factory.mktemp("shared")
    with installation(home, ROLES) as (url, issuer), launched() as browser:
        yield url, issuer, browser, home


def enter(shared, person: str, heading: str = "The table"):
    """A browser of somebody's own, signed in; the heading that he sees."""
    url, _, browser, _ = shared
    page = signed_in(browser, url, person)
    try:
        page.get_by_role("heading", name=heading, exact=True).wait_for()
    except playwright.TimeoutError:
        pytest.fail(f"{person} waited for {heading!r} at {page.url}; the page says: {page.inner_text('body')[:2000]}")
    page.wait_for_function(IDLE, polling=100)
    return page


def send(page, url: str, name: str = "x.csv") -> int:
    """The status of a file sent to an address in this browser's name, by whatever it knows."""
    token = next((c["value"] for c in page.context.cookies() if "xsrf" in c["name"]), "")
    file = {"name": name, "mimeType": "text/csv", "buffer": b"a\n1\n"}
    return page.context.request.put(url, headers={"X-Xsrftoken": token}, multipart={"file": file}).status


def test_nobody_sees_or_fetches_what_another_has(shared, monkeypatch):
    url, _, _, home = shared
    monkeypatch.setenv("SYNTH_HOME", str(home / "state"))
    job = jobs.create(
        {
            "table": f"{SECRET}.csv",
            "label": f"{SECRET}.csv",
            "dataset": SECRET,
            "epsilon": 1.0,
            "delta": 1e-5,
            "method": "mixture",
            "relation": "add_remove",
            "owner": "ann@example.org",
        }
    )
    job.write(jobs.Status(state="running", stage="fit", fraction=0.3, pid=os.getpid(), pid_started=jobs.identity()))
    sent, ann = [], enter(shared, "ann@example.org")
    ann.get_by_text("A run is under way").wait_for()  # the control: she sees it herself
    ann.on("request", lambda r: sent.append(r.url) if "upload_file" in r.url and r.method == "PUT" else None)
    send_table(ann, {"name": f"{SECRET}.csv", "mimeType": "text/csv", "buffer": TABLE})

    compared = jobs.create({**job.request(), "method": "independent"})  # with the real rows, by ann
    compared.write(jobs.Status(state="done"))
    jobs.looks.look(compared, by="ann@example.org")
    (compared.path / "steward-only.html").write_text(f"<p>{SECRET}</p>")
    carl = enter(shared, "carl@example.org")
    for page in ("review", "run", "release", "ledger", "data"):
        carl.goto(f"{url}/{page}")
        carl.wait_for_function(IDLE, polling=100)
        carl.get_by_role("heading", level=1).wait_for()
        reported = carl.content()
        assert SECRET not in reported, page
        assert job.path.name not in reported
        assert compared.path.name not in reported
        assert carl.get_by_text("All runs").count() == 0
        assert "A run is under way" not in reported
    bob = enter(shared, "bob@example.org", "Approve")
    for page in ("run", "review"):
        bob.goto(f"{url}/{page}")
        bob.get_by_text("The role reviewer has no page").wait_for()
        assert SECRET not in bob.content()

    with ann.expect_download() as download:
        ann.get_by_role("button", name="Save this description").click()
    media = download.value.url
    assert "/media/" in media
    assert ann.context.request.get(media).status == 200  # while the server holds it: a few pages of anybody's long
    assert [p.context.request.get(media).status for p in (carl, bob)] == [403, 403]
    stranger = shared[2].new_context().new_page()
    stranger.goto(url)
    stranger.get_by_role("button", name="Sign in").wait_for()
    assert stranger.context.request.get(media).status == 403
    assert sent, "the upload's address is known"
    assert send(ann, sent[0]) == 204
    assert [send(p, sent[0]) for p in (carl, bob, stranger)] == [403] * 3
    assert [p.context.request.get(f"{url}/_stcore/metrics").status for p in (ann, stranger)] == [403, 403]
    ann.goto(f"{url}/review")
    ann.get_by_text("All runs (2)").wait_for()  # the control: what she compared stands in her list, and hers alone
    for page in (ann, carl, bob, stranger):
        page.context.close()


@pytest.mark.parametrize("verified", [None], ids=["says nothing"])  # what it says otherwise: test_actions.py
def test_an_address_that_the_provider_does_not_confirm_stays_outside(shared, verified):
    url, issuer, browser, _ = shared
    issuer.verified = verified
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="ann@example.org").click()
    page.wait_for_url(f"{url}/**")
    page.get_by_role("button", name="Sign in").wait_for()
    page.wait_for_function(IDLE, polling=100)
    assert page.get_by_role("heading", name="The table", exact=True).count() == 0
    issuer.verified = True
    page.context.close()


def test_an_address_without_a_role_stays_outside(shared):
    """The provider confirms it, and the file of roles does not name it."""
    url, _, browser, _ = shared
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="mallory@elsewhere.org").click()
    page.get_by_text("has no role here").wait_for()
    assert page.get_by_test_id("stSidebarNavLink").count() == 0
    page.context.close()


@contextmanager
def elsewhere(app: str):
    """A page of another origin that frames the application, messages it and opens its websocket."""
    body = FOREIGN.format(app, app.replace("http", "ws")).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()


def test_a_page_elsewhere_gets_nowhere(shared):
    url, _, browser, _ = shared
    with elsewhere(url) as foreign:
        page = browser.new_context().new_page()
        page.goto(foreign)
        assert page.evaluate("socket") == "refused"
        assert page.evaluate("read") == "refused"
        page.wait_for_timeout(2000)  # the messages are out
        framed = page.frames[1]
        assert "stApp" not in framed.content()
        assert framed.url.startswith("chrome-error:")
        assert page.evaluate("heard") == []
        page.context.close()
    answer = urllib.request.urlopen(f"{url}/_stcore/host-config")
    assert b'"allowedOrigins":[]' in answer.read()
    for path in ("/", "/run", "/_stcore/health", "/static/nothing.js"):
        try:
            reported = urllib.request.urlopen(f"{url}{path}").headers
        except urllib.error.HTTPError as error:
            reported = error.headers
        assert reported["X-Frame-Options"] == "SAMEORIGIN"
        assert "frame-ancestors 'self'" in reported["Content-Security-Policy"]


def test_a_single_user_s_application_answers_to_no_foreign_name(tmp_path):
    """An attacker's name server can point his name at this computer: then his page would be of the same origin."""
    env, port = environment(tmp_path), free_port()
    env.pop("SYNTH_ROLES", None)
    (tmp_path / "state" / "uploads" / "left").mkdir(parents=True)
    with server(tmp_path, port, env=env):
        url = f"http://127.0.0.1:{port}/"
        assert urllib.request.urlopen(urllib.request.Request(url, headers=cookie(port))).status == 200
        foreign = urllib.request.Request(url, headers={"Host": f"attacker.example:{port}", **cookie(port)})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign)


def test_what_a_killed_server_left_is_gone_when_the_next_one_answers(shared, tmp_path):
    _, _, browser, _ = shared
    env, port = environment(tmp_path), free_port()
    uploads = tmp_path / "state" / "uploads"
    big = io.BytesIO(TABLE * 4000).getvalue()  # MBs: the draft takes a while
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE)
    with server(tmp_path, port, env=env) as running:
        page.goto(with_token(port))
        page.get_by_role("heading", name="The table", exact=True).wait_for()
        page.wait_for_function(IDLE, polling=100)
        page.get_by_test_id("stFileUploader").filter(has_text="Table (CSV").locator("input[type=file]").set_input_files(
            {"name": "p.csv", "mimeType": "text/csv", "buffer": big}
        )
        limit = time.monotonic() + 60
        while not list(uploads.glob("*/p.csv")):
            assert time.monotonic() < limit
            time.sleep(0.002)
        running.kill()  # in the middle: the copy is there, its description is not
        running.wait(30)
    page.context.close()
    assert list(uploads.glob("*/p.csv"))
    retained = uploads / ("0" * 16)
    retained.mkdir()
    (retained / "wizard.json").write_text('{"plain": {}, "label": "kept.csv", "owner": ""}')
    (retained / "kept.csv").write_text("a\n1\n")
    (uploads / "copy-0011.parquet").write_bytes(b"PAR1")  # as an earlier version left them
    with server(tmp_path, port, env=env):
        assert [p.name for p in uploads.iterdir()] == [retained.name]
        assert (retained / "kept.csv").exists()
