"""Tables of the methods' options with defaults and ranges, from the code: a run refuses what is beyond them."""

from collections.abc import Callable
from functools import partial

from markdown_tables import table

from synth.generators import GENERATORS
from synth.generators.options import options_of


def of(name: str) -> str:
    """A method's options."""
    ranges, usual = GENERATORS[name].ranges, options_of(GENERATORS[name])
    return table(("option", "default", "allowed"), [[f"`{n}`", f"`{usual[n]}`", str(r)] for n, r in ranges.items()])


TABLES: dict[str, Callable[[], str]] = {name: partial(of, name) for name, g in GENERATORS.items() if g.ranges}
