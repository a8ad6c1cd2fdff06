"""`aim`: AIM as OpenDP and mbi run it (arXiv 2201.12677); the extra `mbi`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synth.generators.base import Setting
from synth.generators.method import SHARE, STEPS, option
from synth.generators.opendp_mbi.external import ExternalMethod
from synth.generators.opendp_mbi.external_fit import Workload
from synth.generators.opendp_mbi.workload import weighted
from synth.questions import Bins, CountsRelease, ExternalRelease


@dataclass(frozen=True, kw_only=True)
class Aim(ExternalMethod):
    """One-way tables, then round after round the table that the model fits worst, with growing budgets.

    ``bins``: most bins of a number. ``numbers``: share of the budget for finding them. ``steps``: most, of the fit.
    ``rounds``: most rounds; 0 for OpenDP's 16 for each column. ``max_size``: most megabytes of the model. Named tables
    of up to four columns are its workload, with all pairs.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name = "aim"
    summary = "OpenDP's AIM: tables chosen one after another where the model is worst"
    reads = (CountsRelease, ExternalRelease)
    bins: int = option(32, 2, 4096)
    numbers: float = option(0.1, *SHARE)
    steps: int = option(3000, *STEPS)
    rounds: int = option(0, 0, 10_000)
    max_size: float = option(80.0, 0.01, 100_000)
    takes_uses = True

    def workload(self, setting: Setting, bins: Sequence[Bins]) -> Workload:
        """All pairs and the named tables, weighted as errors in them matter; none where no use is named."""
        return weighted(setting.workload, bins)

    @property
    def further(self) -> dict[str, Any]:
        """AIM's own options."""
        return {"rounds": self.rounds, "max_size": self.max_size}
