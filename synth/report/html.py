"""Pages from templates: one style for light and dark, wide and narrow; every text that is put in is escaped.

In Markdown it goes through ``plainly``. A template's own texts stand in ``{% trans %}`` or ``_("...")``, and are
rendered in the language that is spoken.
"""

import re
from functools import cache
from json import dumps
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from synth.languages import MARKED, current, numerals, prose, translated
from synth.release.card.card import PREVIEW

MARKUP = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "\\": "\\\\", "[": "\\[", "]": "\\]", "`": "\\`"}
)


def render(template: str, **data: Any) -> Markup:
    """A template of this folder, filled in. A name that the template knows and ``data`` lacks is an error.

    A page about a preview bears its mark, whatever page it is.
    """
    if (data.get("about") or {}).get("preview"):
        data |= {n: prose(PREVIEW) for n in ("mark", "small") if n in data}
    data.setdefault("lang", "en" if current() == MARKED else current())
    return Markup(_environment().get_template(template).render(data))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("synth.report"),
        autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.newstyle_gettext = True  # type: ignore[attr-defined]  # the extension's: it hands the values over
    made.globals |= {"gettext": _block, "_": translated}
    made.filters |= {"quoted": lambda text: Markup(dumps(text, ensure_ascii=False))}
    made.filters |= {"percent": percent, "figure": figure, "commas": commas, "number": number, "said": prose}
    made.filters |= {"plainly": plainly, "numerals": numerals}
    return made


def _block(text: str, **values: object) -> Markup:
    """A ``{% trans %}``: markup of the template's own, with values that are escaped."""
    braces = re.sub(r"%\((\w+)\)s", r"{\1}", text).replace("%%", "%")
    return Markup(translated(braces)).format(**values)


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, a dash for none.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '-')
    """
    return "-" if share is None else numerals(f"{100 * share:.{digits}f} %")


def figure(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of decimals, a dash for none."""
    return "-" if value is None else numerals(f"{value:.{digits}f}")


def commas(value: float) -> str:
    """A count with marks between its thousands.

    >>> commas(12345.0)
    '12,345'
    """
    return numerals(f"{value:,.0f}")


def number(value: float, digits: int = 6) -> str:
    """A number as short as these digits let it be.

    >>> number(0.5), number(1e-06)
    ('0.5', '1e-06')
    """
    return numerals(f"{value:.{digits}g}")


def plainly(words: object) -> str:
    """The words in one line, without raw HTML, links, images, code or ends of a table's cell.

    >>> print(plainly("<b>[x](http://y)|"))
    &lt;b&gt;\\[x\\](http\\://y)\\|
    """
    line = " ".join(str(words).split())
    return re.sub(r":(?=//)", r"\\:", line.translate(MARKUP))  # an address alone would be made a link
