"""Steps of Adam on one variable, in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

WHOLE = slice(None)
BETA_MEAN, BETA_SQUARE = 0.9, 0.99  # averages; the steps are few, hence the short second one


class Adam:
    """Kingma and Ba, arXiv 1412.6980, Algorithm 1; in place, since building torch.optim takes seconds."""

    def __init__(self, x: torch.Tensor):
        self.x, self.mean, self.square = x, torch.zeros_like(x), torch.zeros_like(x)

    def move(self, gradient: torch.Tensor, *, step: int, rate: float, part: slice = WHOLE) -> None:
        """The ``part`` of the variable that ``gradient`` is by."""
        mean, square = self.mean[part], self.square[part]
        mean.mul_(BETA_MEAN).add_(gradient, alpha=1 - BETA_MEAN)
        square.mul_(BETA_SQUARE).addcmul_(gradient, gradient, value=1 - BETA_SQUARE)
        scale = rate * (1 - BETA_SQUARE**step) ** 0.5 / (1 - BETA_MEAN**step)
        self.x[part].addcdiv_(mean, square.sqrt().add_(1e-12), value=-scale)
