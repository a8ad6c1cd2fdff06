"""What later pages need in the browser, loaded while the first is read: a grid or chart asks for a megabyte of script.

The framework loads the parts of its pages one by one when they are first drawn. Their files have names of its version;
one that is not there is loaded when it is needed, as before.
"""

from functools import cache
from pathlib import Path

import streamlit as st

PARTS = ("Selectbox", "NumberInput", "Multiselect", "DataFrame", "Slider", "Progress", "Metric", "ArrowVegaLiteChart",
         "embed", "Table", "DownloadButton", "Checkbox", "TextArea")  # fmt: skip  # in the order of the pages
WAIT = 1500  # milliseconds in which the first page is drawn
SCRIPT = """<script>
if (!window.partsAhead) {
  window.partsAhead = %s
  const own = document.querySelector('script[type=module][src*="static/js/"]')?.src
  const next = () => partsAhead.length &&
    import(new URL(partsAhead.shift(), own)).catch(() => 0).then(() => setTimeout(next, 50))
  if (own) setTimeout(next, %d)
}
</script>"""


@cache
def script() -> str:
    """A script that loads them, one after another."""
    place = Path(str(st.__file__)).parent / "static" / "static" / "js"
    names = [f"./{found[0].name}" for part in PARTS if len(found := list(place.glob(f"{part}.*.js"))) == 1]
    return SCRIPT % (names, WAIT)
