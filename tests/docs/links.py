"""Links of Markdown pages and what their headings are called in them."""

import re
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s:#]*)(?:#([^)\s]*))?\)")


def anchor(head: str) -> str:
    """What a heading is called in links, as by GitHub and by the site alike."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head.lower().strip()))


def anchors(page: Path) -> set[str]:
    """Those of a page's headings."""
    return {anchor(h) for h in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}
