"""Outside validators, which need other versions than ours, in an environment of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def judged(statements: str, folder: Path, *arguments: str) -> None:
    """Runs statements in a folder by the Python that ``SYNTH_VALIDATORS`` names; skips the test where it names none.

    Its environment: `python -m venv V && V/bin/pip install mlcroissant==1.1.1 rocrate==0.16.0`; for the shapes of
    DCAT-AP also pyshacl.
    """
    python = os.environ.get("SYNTH_VALIDATORS")
    if python is None or not Path(python).is_file():
        pytest.skip("SYNTH_VALIDATORS names no environment with mlcroissant, rocrate and pyshacl")
    assert python != sys.executable
    subprocess.run([python, "-c", statements, *arguments], cwd=folder, check=True, timeout=120)
