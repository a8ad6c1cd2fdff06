"""Starts the application: Streamlit on this machine, on the loopback address unless people sign in."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from string import ascii_letters, digits
from typing import NoReturn

from synth.errors import InputError, UsageError, remedy
from synth.jobs import roles as roles_file

UPLOAD_MIB = 500
LOOPBACK, EVERY = "127.0.0.1", "0.0.0.0"
TOKEN_LETTERS, LEAST_TOKEN = {*ascii_letters, *digits, "-", "_"}, 16
VARIABLES = {
    "--address": "SYNTH_ADDRESS",
    "--tables": "SYNTH_TABLES",
    "--sources": "SYNTH_SOURCES",
    "--roles": "SYNTH_ROLES",
    "--secrets": "SYNTH_SECRETS",
}


Given = Mapping[str, str | Path | Sequence[Path] | None]  # by flag of VARIABLES


def start(*, port: int, headless: bool, given: Given) -> NoReturn:
    """Becomes the application's server, so that whoever stops this process stops the server.

    What is not given is taken from the environment (``VARIABLES``). Errors: UsageError, InputError.
    """
    if not 1 <= port <= 65535:
        raise UsageError(f"--port {port}: choose a port from 1 to 65535")
    entry = Path(__file__).resolve().parent.parent.parent / "app" / "server.py"
    if find_spec("streamlit") is None:
        raise InputError(f"the application needs Streamlit, which is not installed; {remedy('app')}")
    if not entry.exists():
        raise InputError("the application's files are not installed; run it from the project's folder")
    settle(given)
    address = os.environ.get("SYNTH_ADDRESS") or LOOPBACK
    check_address(address)
    check_roles()
    options = {
        "server.port": port,
        "server.address": address,
        "server.headless": str(headless).lower(),
        "server.maxUploadSize": upload_limit(os.environ.get("SYNTH_UPLOAD_MIB")),
        "server.showEmailPrompt": "false",  # a first start must ask nothing
        "logger.hideWelcomeMessage": "true",  # nor advertise tools for programmers, on the terminal or in the page
        "browser.gatherUsageStats": "false",
        "server.fileWatcherType": "none",
    }
    if signing_in := os.environ.get("SYNTH_SECRETS"):
        check_secrets(Path(signing_in))
        options["secrets.files"] = signing_in
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(entry), *flags]
    print(f"Facsimile is at {shown(address, port)} - stop it with Ctrl-C", file=sys.stderr, flush=True)
    os.execv(sys.executable, command)


def shown(address: str, port: int) -> str:
    """The address to open: with a token where nobody signs in, since all accounts of the machine can reach the port.

    The token is of the environment (``SYNTH_TOKEN``), which other accounts cannot read, else drawn and put there.
    """
    below = os.environ.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
    path = f":{port}/{below}".rstrip("/")
    if os.environ.get("SYNTH_ROLES"):
        return f"http://{address}{path}"
    token = os.environ.get("SYNTH_TOKEN") or token_urlsafe(32)
    if set(token) - TOKEN_LETTERS or len(token) < LEAST_TOKEN:
        raise UsageError(f"SYNTH_TOKEN: at least {LEAST_TOKEN} letters and digits, - and _; or leave it out")
    os.environ["SYNTH_TOKEN"] = token
    return f"http://{LOOPBACK if address == EVERY else address}{path}/?token={token}"


def settle(given: Given) -> None:
    """Puts the flags that were given into the environment, where the application and its workers look.

    Errors: UsageError for a file or folder that is not there.
    """
    for flag, value in given.items():
        if not value:
            continue
        if isinstance(value, str):
            os.environ[VARIABLES[flag]] = value
            continue
        places = [value] if isinstance(value, Path) else list(value)
        for place in places:
            kind, there = ("folder", place.is_dir()) if flag == "--tables" else ("file", place.is_file())
            if not there:
                raise UsageError(f"{flag} {place}: no such {kind}; check the path")
        os.environ[VARIABLES[flag]] = os.pathsep.join(str(p.expanduser().absolute()) for p in places)


def check_roles() -> None:
    """Reads the file of roles, so that a faulty one is told now and not to the first visitor. Errors: InputError."""
    if (place := roles_file.place()) is None:
        return
    roles_file.load(place)
    if find_spec("authlib") is None or not (find_spec("httpx") or find_spec("httpx2")):
        raise InputError(f"signing in needs the packages Authlib and httpx; {remedy('app')}")


def check_secrets(place: Path) -> None:
    """Whether Streamlit will read the sign-in's secrets: it passes over a file with another ending.

    Errors: UsageError.
    """
    if not place.is_file():
        raise UsageError(f"--secrets {place}: no such file; check the path")
    if place.suffix != ".toml":
        raise UsageError(f"--secrets {place}: its name must end in .toml; rename it, or mount it under such a name")


def upload_limit(stated: str | None) -> int:
    """The largest file, in MiB, that a page takes. Errors: UsageError.

    >>> upload_limit(None), upload_limit("20")
    (500, 20)
    """
    if not stated:
        return UPLOAD_MIB
    if not stated.isascii() or not stated.isdecimal() or not 1 <= int(stated) <= 100_000:
        raise UsageError(f"SYNTH_UPLOAD_MIB {stated}: must be a whole number of MiB from 1 to 100000")
    return int(stated)


def check_address(address: str) -> None:
    """Whether the application may listen there: beyond this machine only where people sign in.

    Errors: UsageError.
    """
    if os.environ.get("SYNTH_SHIELDED"):
        raise UsageError(
            "SYNTH_SHIELDED: the names under which the application is called are told instead; set SYNTH_HOSTS to them,"
            " for instance SYNTH_HOSTS=localhost in a container"
        )
    alone = address in (LOOPBACK, "::1", "localhost")
    if not alone and not os.environ.get("SYNTH_HOSTS") and not os.environ.get("SYNTH_ROLES"):
        raise UsageError(
            f"--address {address}: beyond this machine people must sign in; name a file of roles with --roles, or, if"
            " something else keeps strangers out, the names under which it is called with SYNTH_HOSTS=NAME,NAME"
        )
