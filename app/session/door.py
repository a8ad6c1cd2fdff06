"""The server's door: whose page may show, call or message the application, and who may fetch or send which file.

It stands before Streamlit's own server, which serves any file to whoever knows its address, takes uploads from
strangers, and answers pages of every program on this computer. A proxy in front may be stricter.

Where nobody signs in, every account of this computer can reach the port. So whoever comes must know the token in the
address that the start prints: it becomes a cookie, and without it nothing is answered but that the server is healthy.

Uploads lie in memory until a page has written them to disk once: there is a limit for a session and for all, and an end
for what is forgotten.
"""

import hmac
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.auth_util import get_cookie_with_chunks, get_secrets_auth_section
from streamlit.runtime import get_instance
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

import synth
from app.session import access
from synth.app_api import roles

RETAINED = 900.0  # seconds for which an upload is held in memory
EVERY = 30.0  # seconds between looks
MIB = 1 << 20


def limits() -> tuple[int, int]:
    """Bytes that one session, and all together, may have in memory: two and eight of the largest files allowed."""
    largest = int(config.get_option("server.maxUploadSize")) * MIB
    return 2 * largest, 8 * largest


@contextmanager
def room_for(session: str, size: int | None) -> Iterator[bool]:
    """Whether a session may send so many bytes, which are kept free until they came; not without saying how many."""
    if size is None or not _fits(session, size):
        yield False
        return
    coming.append((session, size))
    try:
        yield True
    finally:
        coming.remove((session, size))


coming: list[tuple[str, int]] = []  # what was admitted and is under way; only the server's own thread changes it


def under_way(session: str) -> bool:
    """Whether a file of this session is still being sent."""
    return any(session == one for one, _size in list(coming))


def _fits(session: str, size: int) -> bool:
    one, every = limits()
    known = [(s, len(f.data)) for s, files in _held().items() for f in files.values()] + coming
    own = sum(n for s, n in known if s == session)
    return own + size <= one and sum(n for _other, n in known) + size <= every


def forget(seen: dict[tuple[str, str], float], now: float) -> None:
    """Frees what has been held for long. ``seen``: when each file was first met; it is brought up to date."""
    there = {(s, f) for s, files in _held().items() for f in files}
    for gone in set(seen) - there:
        del seen[gone]
    for key in there:
        if now - seen.setdefault(key, now) > RETAINED:
            _manager().remove_file(*key)


def watch() -> None:
    """Frees forgotten uploads from now on, beside the server."""

    def look() -> None:
        seen: dict[tuple[str, str], float] = {}
        while True:
            time.sleep(EVERY)
            forget(seen, time.monotonic())

    threading.Thread(target=look, daemon=True).start()


def _manager() -> Any:
    return get_instance().uploaded_file_mgr


def _held() -> dict[str, dict[str, Any]]:
    """By session its files; a copy, since other threads add to it."""
    return {s: dict(files) for s, files in list(_manager().file_storage.items())}


HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "frame-ancestors 'self'; object-src 'none'; base-uri 'self'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
CLOSED = ("/_stcore/metrics", "/_stcore/agent/")  # figures of everybody's sessions; a way in for programs
UPLOAD, MEDIA = "/_stcore/upload_file/", "/media/"
ICON = (Path(__file__).parents[1] / "icon.png").read_bytes()
CALLBACK = "/oauth2callback"
HERE = ("localhost", "127.0.0.1", "::1")
HEALTH = "/_stcore/health"
NO_TOKEN = b"Open the address that the start of the application printed: it ends in a token.\n"


class Door:
    """ASGI middleware. **Source**: HTML standard, frame-ancestors and X-Frame-Options; Fetch standard, CORP."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands a request on, or answers 403 with nothing else."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        if roles.place() is None and not _has_token(scope, headers):
            await _take_token(scope, headers, send)
            return
        if not (same_site(scope, headers) and allowed(scope["path"], headers)):
            await _refuse(scope, send)
            return
        if scope["path"].rstrip("/").endswith(CALLBACK):
            scope = {**scope, "query_string": _unsaid(scope["query_string"])}

        async def shielded(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.accept"):
                own = {k.encode(): v.encode() for k, v in HEADERS.items()}
                reported = [(k, v) for k, v in message.get("headers", []) if k.title() not in own]
                message = {**message, "headers": [*reported, *own.items()]}
            await send(message)

        with _room(scope, headers) as given:
            await (self.app(scope, receive, shielded) if given else _refuse(scope, send))


def _room(scope: Scope, headers: Mapping[str, str]) -> AbstractContextManager[bool]:
    """Whether there is room for what is sent, kept free while it comes."""
    below = _below(scope["path"]) or ""
    if scope["type"] != "http" or scope["method"] != "PUT" or not below.startswith(UPLOAD):
        return nullcontext(True)
    size = "" if "transfer-encoding" in headers else headers.get("content-length", "")
    return room_for(below.removeprefix(UPLOAD).partition("/")[0], int(size) if size.isdecimal() else None)


def _unsaid(query: bytes) -> bytes:
    """A sign-in's answer without texts of whoever sent it, which the framework would write into the log."""
    known = [(n, v) for n, v in parse_qsl(query.decode("latin-1")) if n in ("code", "state", "iss", "session_state")]
    return urlencode([*known, *([("error", "refused")] if b"error=" in query else [])]).encode()


async def _refuse(scope: Scope, send: Send, words: bytes = b"") -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    headers = [(b"content-length", str(len(words)).encode()), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": words})


def _is_token(given: str) -> bool:
    token = os.environ.get("SYNTH_TOKEN", "")
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


def _cookie(headers: Mapping[str, str]) -> str:
    """The token's cookie, named for the address: browsers send cookies to all ports of a computer, and all paths.

    The port is the visitor's: those of two containers may be one inside.
    """
    at = f"{headers.get('host', '').rpartition(':')[2]} {config.get_option('server.baseUrlPath') or ''}"
    return f"facsimile-{re.sub('[^A-Za-z0-9]+', '-', at).strip('-')}"


def _has_token(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Whether a request has the token, or asks for no more than whether the server is healthy."""
    if scope["type"] == "http" and _below(scope["path"]) == HEALTH:
        return True
    return _is_token(_cookies(headers).get(_cookie(headers), ""))


async def _take_token(scope: Scope, headers: Mapping[str, str], send: Send) -> None:
    """Makes a cookie of an address's token, and leads to the address without it; or refuses. **Source**: Jupyter."""
    asked = parse_qsl(scope["query_string"].decode("latin-1"))
    if scope["type"] != "http" or scope["method"] != "GET" or not any(n == "token" and _is_token(v) for n, v in asked):
        await _refuse(scope, send, NO_TOKEN)
        return
    rest = urlencode([(n, v) for n, v in asked if n != "token"])
    place = quote(re.sub("^/+", "/", scope["path"])) + (f"?{rest}" if rest else "")
    kept = f"{_cookie(headers)}={os.environ['SYNTH_TOKEN']}; Path=/; HttpOnly; SameSite=Lax"
    told = [(b"location", place.encode()), (b"set-cookie", kept.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": [*told, (b"referrer-policy", b"no-referrer")]})
    await send({"type": "http.response.body", "body": b""})


def same_site(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a page of ours, or from no page; and under a name of this server's.

    Streamlit takes websockets from pages at any port of this computer. A single user's application also refuses
    foreign names, which an attacker's name server can point at this computer.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    named = {*HERE, os.environ.get("SYNTH_ADDRESS"), *os.environ.get("SYNTH_HOSTS", "").lower().split(",")} - {None, ""}
    if roles.place() is None and urlsplit(f"//{host}").hostname not in named:
        return False
    if origin is None or (scope["type"] == "http" and scope["method"] in ("GET", "HEAD")):
        return True
    return urlsplit(origin).netloc in {host, _public()} - {""}


def _public() -> str:
    """The name under which a proxy serves the application, from the sign-in's settings; empty where there is none."""
    try:
        return urlsplit(str(get_secrets_auth_section().get("redirect_uri", ""))).netloc
    except (AttributeError, KeyError, FileNotFoundError):
        return ""


def allowed(path: str, headers: Mapping[str, str]) -> bool:
    """Whether somebody with these cookies may ask for this path. Errors in the file of roles are a no."""
    below = _below(path)
    if below is None or below.startswith(CLOSED):
        return False
    if roles.place() is None or not below.startswith((UPLOAD, MEDIA)):
        return True
    who = access.verified_address(_claims(headers))
    if below.startswith(MEDIA):
        return _given(below.removeprefix(MEDIA).partition(".")[0], who)
    try:
        visitor = access.rules().visitor(who) if who else None
    except synth.SynthError:
        return False
    session = below.removeprefix(UPLOAD).partition("/")[0]
    return visitor is not None and visitor.may("send_file") and access.sessions.get(session) == who


def _below(path: str) -> str | None:
    """The path without the server's base path (`server.baseUrlPath`); None for one that is not below it.

    Rules by path would else not know their own pages, and let everybody through.
    """
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    plain = re.sub("/+", "/", f"/{path}")
    if not base:
        return plain
    return plain[len(base) + 1 :] or "/" if f"{plain}/".startswith(f"/{base}/") else None


def _given(file: str, who: str) -> bool:
    """Whether a file was made for a download of this visitor's, or is the application's icon."""
    held = get_instance().media_file_mgr.read_file(file)
    if held is None:
        return False
    made_for = access.given.get(sha256(held.content).digest(), ())
    return held.content == ICON or (bool(who) and who in made_for)


def _claims(headers: Mapping[str, str]) -> dict[str, Any]:
    """What the signed cookie says of the visitor; nothing where there is none, or it was forged."""
    cookies, secret = _cookies(headers), get_cookie_secret()

    def one(name: str) -> bytes | None:
        return decode_signed_value(secret, name, cookies[name].encode("latin-1")) if name in cookies else None

    try:
        reported = json.loads(get_cookie_with_chunks(one, USER_COOKIE_NAME) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return reported if isinstance(reported, dict) else {}


def _cookies(headers: Mapping[str, str]) -> dict[str, str]:
    """As the framework reads them: those of other programs on this computer, however written, hide none of ours."""
    return cookie_parser(headers.get("cookie", ""))
