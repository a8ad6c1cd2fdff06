"""Text that a spreadsheet would run as a formula: marked where tables are written, read as what it was.

A CSV cell has no type, so a spreadsheet takes text that begins with = + - @ for a formula, a link to another machine
among them. An apostrophe before it makes it text. Numbers stay numbers: "-3" and "+1e5" are not marked.

The rule of reading: a cell is first looked up as it stands; only a text that is not known, and that begins with
apostrophes before such a beginning, is looked up without them. The rule of writing: as many apostrophes as it takes for
the cell not to be another known text. So every known text reads back as itself.

Source: https://owasp.org/www-community/attacks/CSV_Injection
"""

import re
from collections.abc import Collection, Sequence

# Spaces are passed over by some programs; the wide forms of = + - @ are read as the plain ones in some languages.
RISKY = re.compile(r"\s*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]")
NUMBER = re.compile(r"\s*[+-]?([0-9]+([.,][0-9]*)*|[.][0-9]+)([eE][+-]?[0-9]+)?%?\s*")
MARK = "'"
MARKED = "text that a spreadsheet would take for a formula has an apostrophe before it; numbers are as they are"
RAW = "raw: text cells are written as they are; a spreadsheet may take some of them for formulas"


def risky(text: str) -> bool:
    """Whether a spreadsheet would take the text for a formula.

    >>> [risky(t) for t in ("=1+1", "-3", "-3+A1", "@x", "x=1", "+49 30", "")]
    [True, False, True, True, False, True, False]
    """
    return RISKY.match(text) is not None and NUMBER.fullmatch(text) is None


def marked(text: str, known: Collection[str] = ()) -> str:
    """The ``text`` as it is written to CSV; ``known``: the texts of its column.

    Privacy: public only.

    >>> marked("=1+1"), marked("-3"), marked("=1+1", known=("=1+1", "'=1+1"))
    ("'=1+1", '-3', "''=1+1")
    """
    if not risky(text):
        return text
    longer = MARK + text
    while longer in known:
        longer = MARK + longer
    return longer


def plain(text: str) -> str | None:
    """The text without its marks, None where it has none.

    >>> plain("'=1+1"), plain("=1+1"), plain("'quoted'")
    ('=1+1', None, None)
    """
    bare = text.lstrip(MARK)
    return bare if bare != text and risky(bare) else None


def read(text: str, known: Collection[str]) -> str:
    """What a written text stands for, among the known texts of its column.

    >>> read("'=x", ("=x",)), read("'=x", ("=x", "'=x")), read("''=x", ("=x", "'=x"))
    ('=x', "'=x", '=x')
    """
    bare = None if text in known else plain(text)
    return text if bare is None else bare


def names(header: Sequence[str]) -> list[str]:
    """Column names of a header without their marks; of two that would become one, that with more marks was marked.

    >>> names(["a", "'=x"]), names(["'=x", "''=x"]), names(["=x", "'=x"])
    (['a', '=x'], ["'=x", '=x'], ['=x', "'=x"])
    """
    bare = {name: plain(name) for name in header}
    most: dict[str, str] = {}
    for name, text in bare.items():
        if text is not None and text not in bare:
            most[text] = max(most.get(text, ""), name, key=len)
    return [text if (text := bare[name]) is not None and most.get(text) == name else name for name in header]
