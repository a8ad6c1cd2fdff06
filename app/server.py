"""The server: Streamlit's, behind a door of ours. What a killed process left is gone before anybody is let in."""

import importlib
import os
import sys
import tempfile
import threading
import time
import urllib.request
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from streamlit import config
from streamlit.starlette import App

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

import synth  # noqa: E402
from app.session import door  # noqa: E402
from app.session.door import Door  # noqa: E402
from app.table.stored import sweep  # noqa: E402
from synth import app_api  # noqa: E402

# Nobody else's page may send the application messages: by default the framework's makers' may. Set here, since no file
# of settings that lies elsewhere may say otherwise.
config.set_option("client.allowedOrigins", [])
app_api.sweep_scratch()
try:
    sweep()
except OSError as error:
    print(
        f"synth: uploads that a killed process left cannot be removed ({error.strerror}); see to the folder of"
        " SYNTH_HOME",
        file=sys.stderr,
    )
    sys.exit(synth.InputError.exit_code)


FIRST = ("app.run.runs", "app.run.forecast", "app.table.database", "app.table.reading", "synth.schema.dataset")


LOOKED_AT = 20.0  # seconds after which a browser has read the file that leads it here


@asynccontextmanager
async def _lifespan(_: Any) -> AsyncIterator[None]:
    threading.Thread(target=_load, daemon=True).start()
    door.watch()
    if not config.get_option("server.headless"):
        threading.Thread(target=_show, daemon=True).start()
    yield


def _load() -> None:
    """What the first page needs, while the browser is still busy with the framework's own files."""
    for name in FIRST:
        importlib.import_module(name)


def _show() -> None:
    """Opens the application in a browser once it answers.

    Through a file of this account's alone: what a browser is started with, all accounts of the machine can read.
    """
    below = (config.get_option("server.baseUrlPath") or "").strip("/")
    url = f"http://{os.environ.get('SYNTH_ADDRESS') or '127.0.0.1'}:{config.get_option('server.port')}/{below}".rstrip(
        "/"
    )
    for _ in range(100):
        with suppress(OSError):
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)
            with tempfile.NamedTemporaryFile("w", suffix=".html") as page:
                page.write(
                    f'<meta http-equiv="refresh" content="0; url={url}/?token={os.environ.get("SYNTH_TOKEN", "")}">'
                )
                page.flush()
                webbrowser.open(f"file://{page.name}")
                time.sleep(LOOKED_AT)
            return
        time.sleep(0.1)


app = App("main.py", middleware=[Middleware(Door)], lifespan=_lifespan)
