"""What the collector of garbage passes over: the libraries, which are none.

The framework collects at the end of every script and sends nothing meanwhile: with the libraries of tables and charts
that is a tenth of a second on each click.
"""

import gc
import importlib
from collections.abc import Iterable
from typing import Any


def load(names: Iterable[str]) -> None:
    """Loads the modules of later pages; from then on the collector passes over all that is there."""
    for name in names:
        importlib.import_module(name)
    freeze()


def freeze() -> None:
    """Lets the collector pass over what is there and is no garbage now. What it passed over before is looked at."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def everything() -> list[Any]:
    """All objects that the collector knows, also those that it passes over; ``freeze`` afterwards."""
    gc.unfreeze()
    return gc.get_objects()
