"""Starts the application: Streamlit on this machine, on the loopback address unless people sign in."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from synth.errors import InputError, UsageError

UPLOAD_MIB = 500
LOOPBACK = "127.0.0.1"


def start(*, port: int, headless: bool) -> NoReturn:
    """Becomes the application's server, so that whoever stops this process stops the server.

    Errors: UsageError, InputError.
    """
    if not 1 <= port <= 65535:
        raise UsageError(f"--port {port}: choose a port from 1 to 65535")
    entry = Path(__file__).resolve().parent.parent / "app" / "main.py"
    if find_spec("streamlit") is None:
        raise InputError("the application needs the extra `ui`: pip install 'facsimile-synth[ui]'")
    if not entry.exists():
        raise InputError("the application's files are not installed; run it from the project's folder")
    address = os.environ.get("SYNTH_ADDRESS") or LOOPBACK
    check_address(address)
    options = {
        "server.port": port,
        "server.address": address,
        "server.headless": str(headless).lower(),
        "server.maxUploadSize": UPLOAD_MIB,
        "server.showEmailPrompt": "false",  # a first start must ask nothing
        "browser.gatherUsageStats": "false",
        "server.fileWatcherType": "none",
    }
    if secrets := os.environ.get("SYNTH_SECRETS"):
        options["secrets.files"] = secrets
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(entry), *flags]
    print(f"Facsimile is at http://{address}:{port} - stop it with Ctrl-C", file=sys.stderr, flush=True)
    os.execv(sys.executable, command)


def check_address(address: str) -> None:
    """Whether the application may listen there: beyond this machine only where people sign in.

    Errors: UsageError.
    """
    alone = address in (LOOPBACK, "::1", "localhost")
    shielded = os.environ.get("SYNTH_SHIELDED") == "yes"  # a container whose port only its host can reach
    if not alone and not shielded and not os.environ.get("SYNTH_ROLES"):
        raise UsageError(
            f"SYNTH_ADDRESS {address}: beyond this machine people must sign in; name a file of roles in SYNTH_ROLES, "
            "or set SYNTH_SHIELDED=yes where something else keeps strangers out"
        )
