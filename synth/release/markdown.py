"""Texts from schemas, cards and files inside Markdown: shown as they are written, never as markup."""

import re

MARKUP = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "\\": "\\\\", "[": "\\[", "]": "\\]", "`": "\\`"}
)


def text(words: object) -> str:
    """The words in one line, without raw HTML, links, images, code or ends of a table's cell.

    >>> print(text("<b>[x](http://y)|"))
    &lt;b&gt;\\[x\\](http\\://y)\\|
    """
    line = " ".join(str(words).split())
    return re.sub(r":(?=//)", r"\\:", line.translate(MARKUP))  # an address alone would be made a link
