"""Pages from templates: one style for light and dark, wide and narrow; every text that is put in is escaped."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from synth.release.card.statements import PREVIEW


def render(template: str, **data: Any) -> Markup:
    """A template of this folder, filled in. A name that the template knows and ``data`` lacks is an error.

    A page about a preview bears its mark, whatever page it is.
    """
    if (data.get("about") or {}).get("preview"):
        data |= {n: PREVIEW for n in ("mark", "small") if n in data}
    return Markup(_environment().get_template(template).render(data))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("synth.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "figure": figure, "commas": "{:,}".format}
    return made


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, a dash for none.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '-')
    """
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def figure(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of decimals, a dash for none."""
    return "-" if value is None else f"{value:.{digits}f}"
