"""`mst`: MST as OpenDP and mbi run it (arXiv 2108.04978); the extra `mbi`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from synth.generators.opendp_mbi.external import ExternalMethod
from synth.generators.ranges import SHARE, STEPS, Between, Range
from synth.questions import CountsRelease, ExternalRelease


@dataclass(frozen=True, kw_only=True)
class Mst(ExternalMethod):
    """One-way tables, then the pairs of a maximum spanning tree, chosen privately. The library is OpenDP.

    ``bins``: most bins of a number. ``numbers``: share of the budget for finding them. ``steps``: most, of
    the fit: more would follow the noise of large tables.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name: str = "mst"
    barrier: str = "before the fit"
    summary: str = "OpenDP's MST: tables of the pairs that depend most on each other, joined into a tree"
    reads: tuple[type, ...] = (CountsRelease, ExternalRelease)
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    bins: int = 32
    numbers: float = 0.1
    steps: int = 500
    ranges: ClassVar[Mapping[str, Range]] = {
        "bins": Between(2, 4096),
        "numbers": SHARE,
        "steps": STEPS,
    }
