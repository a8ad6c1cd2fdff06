"""`mst`: MST as OpenDP and mbi run it (arXiv 2108.04978); the extra `mbi`."""

from dataclasses import dataclass

from synth.generators.method import SHARE, STEPS, option
from synth.generators.opendp_mbi.external import ExternalMethod
from synth.questions import CountsRelease, ExternalRelease


@dataclass(frozen=True, kw_only=True)
class Mst(ExternalMethod):
    """One-way tables, then the pairs of a maximum spanning tree, chosen privately. The library is OpenDP.

    ``bins``: most bins of a number. ``numbers``: share of the budget for finding them. ``steps``: most, of
    the fit: more would follow the noise of large tables.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name = "mst"
    summary = "OpenDP's MST: tables of the pairs that depend most on each other, joined into a tree"
    reads = (CountsRelease, ExternalRelease)
    bins: int = option(32, 2, 4096)
    numbers: float = option(0.1, *SHARE)
    steps: int = option(500, *STEPS)
