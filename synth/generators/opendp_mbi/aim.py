"""`aim`: AIM as OpenDP and mbi run it (arXiv 2201.12677); the extra `peers`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from synth.generators.base import Ask, Progress, Setting
from synth.generators.method import Method
from synth.generators.opendp_mbi import external_fit
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import SHARE, STEPS, Between, Range
from synth.questions import CountsRelease, ExternalRelease
from synth.schema.table import Schema


@dataclass(frozen=True, kw_only=True)
class Aim(Method):
    """One-way tables, then round after round the table that the model fits worst, with growing budgets.

    ``bins``: most bins of a number. ``numbers``: share of the budget for finding them. ``steps``: most, of the fit.
    ``rounds``: most rounds; 0 for OpenDP's 16 for each column. ``max_size``: most megabytes of the model.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name: str = "aim"
    barrier: str = "B1"
    summary: str = "OpenDP's AIM: tables chosen one after another where the model is worst"
    reads: tuple[type, ...] = (CountsRelease, ExternalRelease)
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    bins: int = 32
    numbers: float = 0.1
    steps: int = 3000
    rounds: int = 0
    max_size: float = 80.0
    ranges: ClassVar[Mapping[str, Range]] = {
        "bins": Between(2, 4096), "numbers": SHARE, "steps": STEPS, "rounds": Between(0, 10_000),
        "max_size": Between(0.01, 100_000),
    }  # fmt: skip

    def check_schema(self, schema: Schema) -> None:  # noqa: ARG002
        """Errors: UsageError, before anything is spent, when the extra is not installed."""
        external_fit.check_installed()

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[Any]:
        """Counts of numbers for their bins, then the one question."""
        return external_fit.measure(
            ask,
            setting,
            algorithm="aim",
            bins=self.bins,
            numbers=self.numbers,
            progress=progress,
            rounds=self.rounds,
            max_size=self.max_size,
        )

    def fit(
        self,
        releases: Sequence[Any],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> Product:
        """The random field that agrees best with the measured tables, as records drawn from it."""
        return external_fit.fit(releases, setting, steps=self.steps, rng=rng, device=device, progress=progress)
