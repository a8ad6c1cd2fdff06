"""Starts the application: Streamlit on this machine, bound to the loopback address."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from synth.errors import InputError, UsageError

UPLOAD_MIB = 500


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
    options = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "server.headless": str(headless).lower(),
        "server.maxUploadSize": UPLOAD_MIB,
        "server.showEmailPrompt": "false",  # a first start must ask nothing
        "browser.gatherUsageStats": "false",
        "server.fileWatcherType": "none",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(entry), *flags]
    print(f"Facsimile is at http://127.0.0.1:{port} - stop it with Ctrl-C", file=sys.stderr, flush=True)
    os.execv(sys.executable, command)
