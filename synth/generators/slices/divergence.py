"""Distances between two sets of slices, batched over all slices: f-divergences by density ratio, and Wasserstein's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


WIDEST = 2.0  # of the kernels' widths, against the median distance of noisy slices; the others are 1 and 0.5
LEAST_RATIO = 1e-6
LEAST_LOG = 1e-3


def _kl(r: torch.Tensor) -> torch.Tensor:
    return r * torch.log(r.clamp_min(LEAST_RATIO)) - r + 1


def _reverse_kl(r: torch.Tensor) -> torch.Tensor:
    return r - 1 - torch.log(r.clamp_min(LEAST_LOG))


def _js(r: torch.Tensor) -> torch.Tensor:
    return r * torch.log(r.clamp_min(LEAST_RATIO)) - (r + 1) * torch.log((r + 1) / 2)


def _chi2(r: torch.Tensor) -> torch.Tensor:
    return (r - 1) ** 2


def _hellinger(r: torch.Tensor) -> torch.Tensor:
    return (torch.sqrt(r + LEAST_RATIO) - 1) ** 2


# D_f(P || Q) = E_Q[f(dP/dQ)]; each f has its minimum, 0, at 1 (adding a multiple of t - 1 leaves a divergence as it
# is), so that an estimated ratio whose mean is not quite one does not lead away from the real points
DIVERGENCES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "kl": _kl,
    "reverse_kl": _reverse_kl,
    "js": _js,
    "chi2": _chi2,
    "hellinger": _hellinger,
}


def divergence(real: torch.Tensor, made: torch.Tensor, *, kind: str, ridge: float) -> torch.Tensor:
    """D_f(made || real), estimated: mean over slices and real points of f at the densities' ratio.

    Both (slices, batch, k), gradients through ``made``. **Source**: arXiv 2410.19941, Equation 5.

    >>> import torch
    >>> x = torch.linspace(-1, 1, 50).reshape(1, 50, 1)
    >>> near, far = (float(divergence(x, x + s, kind="chi2", ridge=0.1)) for s in (0.0, 1.5))
    >>> near < far
    True
    """
    return DIVERGENCES[kind](ratio(real, made, ridge=ridge)).mean()


def ratio(real: torch.Tensor, made: torch.Tensor, *, ridge: float) -> torch.Tensor:
    """Density ratio made / real at the points ``real``, (slices, batch), negative estimates set to zero.

    r = mean over widths b of (K_b(real, real) + ridge I)^-1 K_b(real, made) 1 times batches' sizes n / m, K_b Gaussian
    kernels of half, once and twice the median distance of the real, noisy points. What is inverted has no gradient.
    **Source**: arXiv 2410.19941, Equation 5; mean matching, Huang et al., NIPS 2006.
    """
    scale, share = _median(real), real.shape[1] / made.shape[1]
    with torch.no_grad():
        ridges = ridge * torch.eye(real.shape[1], device=real.device, dtype=real.dtype)
        factors = [torch.linalg.cholesky(k + ridges, upper=True) for k in _kernels(real, real, scale)]
    sums = [share * k.sum(2, keepdim=True) for k in _kernels(real, made, scale)]
    result = sum(torch.cholesky_solve(s, f, upper=True) for s, f in zip(sums, factors, strict=True))
    return torch.as_tensor(result).squeeze(2).clamp_min(0.0) / len(sums)


def wasserstein(real: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """Mean over slices of the squared 2-Wasserstein distance of points (slices, batch, 1), by sorting."""
    return ((real.sort(dim=1).values - made.sort(dim=1).values) ** 2).mean()


def _square_distances(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """(slices, batch, batch); by a product of matrices, which needs no room for differences."""
    apart = (a**2).sum(2)[:, :, None] + (b**2).sum(2)[:, None, :] - 2 * a @ b.transpose(1, 2)
    return apart.clamp_min(0.0)


def _median(x: torch.Tensor) -> torch.Tensor:
    """Median squared distance in each slice, (slices, 1, 1)."""
    with torch.no_grad():
        half = x.shape[1] // 2
        apart = ((x[:, :half] - x[:, half : 2 * half]) ** 2).sum(2)
        return apart.median(dim=1).values.clamp_min(1e-12)[:, None, None]


def _kernels(a: torch.Tensor, b: torch.Tensor, scale: torch.Tensor) -> list[torch.Tensor]:
    """Gaussian kernels of twice, once and half the median distance: powers of the widest."""
    widest = torch.exp(_square_distances(a, b) * (-1 / (2 * WIDEST**2) / scale))
    middle = _fourth(widest)
    return [widest, middle, _fourth(middle)]


def _fourth(x: torch.Tensor) -> torch.Tensor:
    """x to the fourth, by products: the gradient of torch's square takes x to the first by a general power."""
    twice = x * x
    return twice * twice
