"""`slice_wasserstein`: the slicing mechanism's release, a network trained by Wasserstein distances of single slices."""

from dataclasses import dataclass, replace

from synth.generators.method import option
from synth.generators.slices import training as slicing_training
from synth.generators.slices.divergence import wasserstein
from synth.generators.slices.slicing import Slicing


@dataclass(frozen=True, kw_only=True)
class SliceWasserstein(Slicing):
    """As `slicing` with a network, one slice at a time, compared by sorting.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    **Source**: arXiv 2410.19941 (its baseline SliceWass); DP-SWD, arXiv 2107.01848.
    """

    name = "slice_wasserstein"
    summary = "noisy random projections, a network trained by their sorted one-dimensional distances"
    loss: str = option("wasserstein", "wasserstein")
    k: int = option(1, 1, 1)

    def check_together(self) -> None:
        """Errors: UsageError for options that do not fit each other."""
        replace(
            Slicing(),
            groups=self.groups,
            encoding=self._encoding,
            directions=self.directions,
            loss="kl",
            num_slices=self.num_slices,
            rate=self.rate,
            sample=self.sample,
            form=self.form,
            accounting=self.accounting,
            oneway_share=self.oneway_share,
        ).check_together()

    @property
    def _encoding(self) -> str:
        return "scaled" if self.encoding == "auto" else self.encoding

    def _loss(self) -> slicing_training.Distance | None:
        return wasserstein
