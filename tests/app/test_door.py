"""The door under a base path, what uploads may take, and what a stranger can write into the log."""

import http.client
import os
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
from streamlit import config

from app.session import door
from synth.cli import serve_app
from synth.errors import UsageError
from tests.app.browser import TOKEN, cookie, environment, installation, server
from tests.app.ports import free_port

METRICS = ("/_stcore/metrics", "//_stcore/metrics")


@pytest.fixture
def base():
    before = config.get_option("server.baseUrlPath")
    yield lambda path: config.set_option("server.baseUrlPath", path)
    config.set_option("server.baseUrlPath", before)


@pytest.mark.parametrize("path", ["", "synth", "/a/b/"])
def test_rules_by_path_hold_below_every_base_path(base, path, monkeypatch, tmp_path):
    """Without stripping it, metrics, media and uploads of others were open to everybody."""
    base(path)
    monkeypatch.setenv("SYNTH_ROLES", str(tmp_path / "roles.toml"))
    monkeypatch.setattr(door, "get_instance", Nobody)
    start = "/" + path.strip("/") if path.strip("/") else ""
    for closed in ("/_stcore/metrics", "/_stcore/agent/x", "/media/x.png", "/_stcore/upload_file/s/f"):
        for written in (start + closed, "/" + start + closed):
            assert not door.allowed(written, {}), written
    assert door.allowed(f"{start}/", {})
    assert not path or not door.allowed("/_stcore/metrics", {})


class Nobody:
    """A server without files."""

    class media_file_mgr:
        @staticmethod
        def read_file(_name):
            return None


def test_of_pictures_the_icon_alone_is_for_everybody(monkeypatch, tmp_path):
    monkeypatch.setenv("SYNTH_ROLES", str(tmp_path / "roles.toml"))
    for content, open_to_all in ((door.ICON, True), (b"a picture of rows", False)):
        held = SimpleNamespace(content=content, mimetype="image/png")
        files = SimpleNamespace(read_file=lambda _name, held=held: held)
        monkeypatch.setattr(door, "get_instance", lambda files=files: SimpleNamespace(media_file_mgr=files))
        assert door.allowed("/media/x.png", {}) is open_to_all


class File:
    def __init__(self, size):
        self.data = bytes(size)


class Manager:
    def __init__(self, held):
        self.file_storage, self.gone = held, []

    def remove_file(self, session, file):
        self.gone.append((session, file))


def test_a_session_and_all_of_them_have_a_limit(monkeypatch):
    held = Manager({"one": {"a": File(60)}, "other": {"b": File(30)}})
    monkeypatch.setattr(door, "_manager", lambda: held)
    monkeypatch.setattr(door, "limits", lambda: (100, 150))
    for session, size, fits in (("one", 40, True), ("one", 41, False), ("new", 60, True), ("new", 61, False)):
        with door.room_for(session, size) as given:
            assert given is fits
    with door.room_for("new", None) as given:
        assert not given, "who does not say how much"
    with door.room_for("new", 40) as first, door.room_for("new", 40) as second, door.room_for("new", 20) as third:
        assert (first, second, third) == (True, False, True), "what is under way counts"
    assert door.coming == []


def test_what_says_no_length_is_not_taken(monkeypatch):
    scope = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/s/f"}
    monkeypatch.setattr(door, "_manager", lambda: Manager({}))
    monkeypatch.setattr(door, "limits", lambda: (100, 150))
    sent = ({"content-length": "5"}, {"content-length": "5", "transfer-encoding": "chunked"}, {"content-length": "٥x"})
    for headers, fits in zip(sent, (True, False, False), strict=True):
        with door._room(scope, headers) as given:
            assert given is fits


def test_what_is_forgotten_is_freed_by_the_clock(monkeypatch):
    held = Manager({"one": {"a": File(1)}})
    monkeypatch.setattr(door, "_manager", lambda: held)
    seen: dict = {}
    door.forget(seen, 0.0)
    door.forget(seen, door.RETAINED)
    assert held.gone == []
    held.file_storage["one"]["b"] = File(1)
    door.forget(seen, door.RETAINED + 1)
    assert held.gone == [("one", "a")]


@pytest.mark.xdist_group("browser")
def test_a_real_server_below_a_base_path_keeps_media_and_uploads_to_those_who_signed_in(tmp_path, monkeypatch):
    """Without the door these are 404, and 204 or 400: whoever knew an address had the file, or left one."""
    monkeypatch.setenv("STREAMLIT_SERVER_BASE_URL_PATH", "below")
    file = "/_stcore/upload_file/session/file"
    with installation(tmp_path, "[roles]\nsteward = ['ann@example.org']\n") as (url, _):
        assert urllib.request.urlopen(f"{url}/below/").status == 200
        for method, closed in (
            ("GET", f"/media/{'0' * 64}.csv"),
            ("GET", f"//media/{'0' * 64}.csv"),
            ("HEAD", f"/media/{'0' * 64}.csv"),
            ("PUT", file),
            ("PUT", f"//{file}"),
            ("DELETE", file),
            ("GET", "/_stcore/metrics"),
            ("GET", "/_stcore/agent/x"),
        ):
            for cookie in ("", "_streamlit_user=forged"):
                asked = urllib.request.Request(f"{url}/below{closed}", b"x" if method == "PUT" else None, method=method)
                asked.add_header("Cookie", cookie)
                with pytest.raises(urllib.error.HTTPError, match="403"):
                    urllib.request.urlopen(asked)


@pytest.mark.xdist_group("browser")
def test_a_real_server_below_a_base_path_keeps_its_door_and_its_log(tmp_path):
    env, port = environment(tmp_path), free_port()
    env["STREAMLIT_SERVER_BASE_URL_PATH"] = "below"
    env.pop("SYNTH_ROLES", None)
    with server(tmp_path, port, env=env):
        url = f"http://127.0.0.1:{port}/below"
        asked = {p: urllib.request.Request(url + p, headers=cookie(port, "-below")) for p in ("/", *METRICS)}
        assert urllib.request.urlopen(asked["/"]).status == 200
        for closed in METRICS:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(asked[closed])


@pytest.mark.xdist_group("browser")
def test_without_the_token_no_account_of_the_machine_is_answered(tmp_path):
    """By any way: pages, files, uploads, websockets, other spellings of the health check, another server's cookie."""
    env, port = environment(tmp_path), free_port()
    env.pop("SYNTH_ROLES", None)
    url = f"http://127.0.0.1:{port}"
    with server(tmp_path, port, env=env):
        assert urllib.request.urlopen(f"{url}/_stcore/health").read() == b"ok"
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        upgrade |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        strangers = [{}, {"Cookie": f"facsimile-{port}=guess"}, {"Cookie": f"facsimile-1={TOKEN}"}, {"Cookie": "=;[=;"}]
        for headers in strangers:
            for method, path in (
                ("GET", "/"),
                ("GET", "/run"),
                ("GET", "/?token="),
                ("GET", f"/?token={TOKEN}x"),
                ("POST", f"/?token={TOKEN}"),
                ("GET", f"/media/{'0' * 64}.csv"),
                ("PUT", "/_stcore/upload_file/session/file"),
                ("GET", "/_stcore/host-config"),
                ("GET", "/_stcore/health/../host-config"),
                ("GET", "/static/nothing.js"),
                ("GET", "/_stcore/stream"),
            ):
                more = upgrade if path.endswith("stream") else {}
                asked = urllib.request.Request(url + path, headers=headers | more, method=method)
                with pytest.raises(urllib.error.HTTPError, match="403"):
                    urllib.request.urlopen(asked)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        led = opener.open(f"{url}/run?token={TOKEN}&embed=true")
        assert (led.status, led.url) == (200, f"{url}/run?embed=true")
        for other in ('x={"a": 1}', "flag", "a[b]=1", "_x@y=1"):  # of other programs on this computer
            beside = {"Cookie": f"{other}; facsimile-{port}={TOKEN}"}
            assert urllib.request.urlopen(urllib.request.Request(url, headers=beside)).status == 200
        direct = http.client.HTTPConnection("127.0.0.1", port)
        direct.request("GET", f"//evil.example/?token={TOKEN}")
        assert direct.getresponse().headers["Location"] == "/evil.example/", "never to another server"


def test_an_address_has_a_token_unless_people_sign_in(monkeypatch):
    for name in ("SYNTH_TOKEN", "SYNTH_ROLES"):
        monkeypatch.setenv(name, "")  # so that what is put there is gone afterwards
        monkeypatch.delenv(name)
    first = serve_app.shown("0.0.0.0", 80)
    assert first == f"http://127.0.0.1:80/?token={os.environ['SYNTH_TOKEN']}"
    assert len(os.environ["SYNTH_TOKEN"]) >= 32
    monkeypatch.setenv("STREAMLIT_SERVER_BASE_URL_PATH", "/below/")
    assert serve_app.shown("127.0.0.1", 80) == f"http://127.0.0.1:80/below/?token={os.environ['SYNTH_TOKEN']}"
    monkeypatch.delenv("STREAMLIT_SERVER_BASE_URL_PATH")
    monkeypatch.setenv("SYNTH_TOKEN", "short")
    with pytest.raises(UsageError, match="letters"):
        serve_app.shown("127.0.0.1", 80)
    monkeypatch.setenv("SYNTH_ROLES", "roles.toml")
    assert serve_app.shown("127.0.0.1", 80) == "http://127.0.0.1:80"


def test_hosts_are_named_and_no_other_is_answered(monkeypatch):
    monkeypatch.delenv("SYNTH_ROLES", raising=False)
    monkeypatch.setenv("SYNTH_HOSTS", "Synth.example,10.0.0.5")
    scope = {"type": "http", "method": "GET"}
    for host, answered in (
        ("synth.example:8501", True),
        ("10.0.0.5", True),
        ("localhost:1", True),
        ("evil.example", False),
        ("", False),
        (":8501", False),
    ):
        assert door.same_site(scope, {"host": host}) is answered


def test_a_sign_in_s_answer_loses_its_texts():
    asked = b"code=1&state=2&error=SENTINEL&error_description=SENTINEL%0aFORGED&x=SENTINEL"
    assert door._unsaid(asked) == b"code=1&state=2&error=refused"
    assert door._unsaid(b"code=1&state=2") == b"code=1&state=2"
