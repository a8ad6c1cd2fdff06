"""A small OpenID provider for trials and tests: authorization code flow, signed ID tokens, a page that asks who one is.

It knows one client and believes whoever comes: never put it before real data. ``compose.yaml`` starts it under the
profile `trial` from the application's own image, and publishes it on the loopback address of the machine alone.
**Source**: OpenID Connect Core 1.0, section 3.1; Discovery 1.0, section 4.
"""

import argparse
import json
import secrets
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, HUSH = "facsimile", "client-secret-of-the-test"
PEOPLE = ("ann@example.org", "bob@example.org", "carl@example.org", "mallory@elsewhere.org")


class Provider(ThreadingHTTPServer):
    """The provider; ``issuer`` is its address. ``verified``: what it says of every address; None for nothing.

    ``outside``: its address as the browser knows it, where that is another.
    """

    def __init__(
        self,
        listen: tuple[str, int] = ("127.0.0.1", 0),
        *,
        issuer: str | None = None,
        outside: str | None = None,
        people: tuple[str, ...] = PEOPLE,
        secret: str = HUSH,
    ) -> None:
        super().__init__(listen, _Handler)
        self.issuer = issuer or f"http://127.0.0.1:{self.server_address[1]}"
        self.outside, self.people, self.secret = outside or self.issuer, people, secret
        self.key = RSAKey.generate_key(2048, {"kid": "test", "use": "sig", "alg": "RS256"})
        self.codes: dict[str, dict[str, str]] = {}
        self.verified: bool | None = True

    def token(self, code: str) -> dict[str, Any]:
        """What a code is worth, once. Errors: KeyError for one that is unknown or used."""
        asked = self.codes.pop(code)
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": asked["email"],
            "email": asked["email"],
            "email_verified": self.verified,
            "name": asked["email"],
            "iat": now,
            "exp": now + 600,
        }
        if self.verified is None:
            del claims["email_verified"]
        if asked.get("nonce"):
            claims["nonce"] = asked["nonce"]
        signed = jwt.encode({"alg": "RS256", "kid": "test"}, claims, self.key)
        return {"access_token": secrets.token_hex(8), "token_type": "Bearer", "expires_in": 600, "id_token": signed}


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        """Discovery, keys, and the page that asks who one is."""
        parts = urlsplit(self.path)
        asked = {k: v[0] for k, v in parse_qs(parts.query).items()}
        if parts.path == "/.well-known/openid-configuration":
            self._json(self._about())
        elif parts.path == "/jwks":
            self._json(KeySet([self.server.key]).as_dict(private=False))
        elif parts.path == "/authorize" and "email" not in asked:
            links = [
                f'<a href="/authorize?{escape(urlencode({**asked, "email": p}))}">{p}</a>' for p in self.server.people
            ]
            self._answer(f"<h1>Who are you?</h1>{'<br>'.join(links)}".encode(), "text/html")
        elif parts.path == "/authorize":
            code = secrets.token_hex(8)
            self.server.codes[code] = asked
            self.send_response(302)
            self.send_header(
                "Location", f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
            )
            self.end_headers()
        else:
            self._answer(b"", "text/plain")  # a browser's wish for an icon, for instance

    def do_POST(self) -> None:
        """The token endpoint: a code for a signed token, to the client that knows its secret."""
        told = {k: v[0] for k, v in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()}
        given = (told.get("client_id"), told.get("client_secret"))
        if self.headers.get("Authorization", "").startswith("Basic "):
            given = tuple(b64decode(self.headers["Authorization"][6:]).decode().split(":", 1))
        if given != (CLIENT, self.server.secret) or told.get("code") not in self.server.codes:
            self._json({"error": "invalid_grant"}, status=400)
            return
        self._json(self.server.token(told["code"]))

    def _about(self) -> dict[str, Any]:
        issuer, outside = self.server.issuer, self.server.outside
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{outside}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
        }

    def _json(self, plain: Any, status: int = 200) -> None:
        self._answer(json.dumps(plain).encode(), "application/json", status)

    def _answer(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that runs meanwhile."""
    with Provider() as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        try:
            yield served
        finally:
            served.shutdown()
            thread.join(10)


def client(issuer: str, application: str) -> str:
    """The application's file of secrets, as TOML."""
    return f"""[auth]
redirect_uri = "{application}/oauth2callback"
cookie_secret = "{secrets.token_hex(16)}"
client_id = "{CLIENT}"
client_secret = "{HUSH}"
server_metadata_url = "{issuer}/.well-known/openid-configuration"
"""


def main() -> None:
    """Serves until it is stopped."""
    wanted = argparse.ArgumentParser(description="An OpenID provider for a trial: whoever comes is believed.")
    wanted.add_argument("--listen", default="127.0.0.1:9000")
    wanted.add_argument("--inside", help="its address as the application knows it")
    wanted.add_argument("--outside", help="its address as the browser knows it")
    wanted.add_argument("--secret", default=HUSH, help="the client's")
    wanted.add_argument("people", nargs="+", help="addresses to choose from")
    told = wanted.parse_args()
    host, _, port = told.listen.rpartition(":")
    listen = (host, int(port))
    with Provider(
        listen, issuer=told.inside, outside=told.outside, people=tuple(told.people), secret=told.secret
    ) as found:
        print(f"a provider for a trial, which believes whoever comes: {found.outside}", flush=True)
        found.serve_forever()


if __name__ == "__main__":
    main()
