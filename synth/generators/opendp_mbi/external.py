"""What OpenDP's methods have in common: bins of numbers, then one question that the other library answers."""

from collections.abc import Sequence
from typing import Any

from synth.generators.base import Fit, Run, Setting
from synth.generators.method import Method
from synth.generators.opendp_mbi import external_fit
from synth.generators.product_mixture.model import Product
from synth.questions import Bins
from synth.schema.table import Schema


class ExternalMethod(Method):
    """``name`` is the algorithm's too. ``bins``: most of a number; ``numbers``: budget share for finding them."""

    by_torch = False
    bins: int
    numbers: float
    steps: int

    @property
    def further(self) -> dict[str, Any]:
        """Options of this algorithm alone."""
        return {}

    def workload(self, setting: Setting, bins: Sequence[Bins]) -> external_fit.Workload:  # noqa: ARG002
        """The tables that it is to choose among, with weights; none: all pairs alike."""
        return ()

    def check_schema(self, schema: Schema) -> None:  # noqa: ARG002
        """Errors: UsageError, before anything is spent, when the extra is not installed."""
        external_fit.check_installed()

    def measure(self, run: Run) -> list[Any]:
        """Counts of numbers for their bins, then the one question."""
        ask, setting, progress = run.ask, run.setting, run.progress
        return external_fit.measure(
            ask,
            setting,
            algorithm=self.name,
            bins=self.bins,
            numbers=self.numbers,
            workload=self.workload,
            progress=progress,
            **self.further,
        )

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The random field that agrees best with the measured tables, as records drawn from it."""
        rng, device, progress = how.rng, how.device, how.progress
        return external_fit.fit(releases, setting, steps=self.steps, rng=rng, device=device, progress=progress)
