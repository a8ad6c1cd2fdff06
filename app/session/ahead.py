"""What later pages need in the browser, loaded while the first is read: a grid or chart asks for a megabyte of script.

The framework loads the parts of its pages one by one when they are first drawn. Their files have names of its version;
one that is not there is loaded when it is needed, as before.
"""

import json
from functools import cache
from pathlib import Path

import streamlit as st

PARTS = (
    "Selectbox",
    "NumberInput",
    "Multiselect",
    "DataFrame",
    "Slider",
    "Progress",
    "Metric",
    "ArrowVegaLiteChart",
    "embed",
    "Table",
    "DownloadButton",
    "Checkbox",
    "TextArea",
)  # in the order of the pages
PAGE = Path(__file__).resolve().parent.parent / "parts_ahead.html"


def present() -> list[str]:
    """The files of these parts, as addresses beside the framework's own script."""
    place = Path(str(st.__file__)).parent / "static" / "static" / "js"
    files = [list(place.glob(f"{part}.*.js")) for part in PARTS]
    return [f"./{one[0].name}" for one in files if len(one) == 1]


@cache
def script() -> str:
    """A script that loads them."""
    return PAGE.read_text(encoding="utf-8").replace("NAMES", json.dumps(present()))
