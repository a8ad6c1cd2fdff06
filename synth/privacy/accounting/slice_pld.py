"""Slices as privacy loss distributions, to be composed with anything else by dp_accounting, pessimistically.

Used where no closed composition holds: subsampled slices beside other questions, or slices of several laws.

Proof note: synth/mechanisms/slices.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, singledispatch
from math import ceil, inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.privacy.accounting.events import Event, SlicesDpEvent
from synth.privacy.accounting.slice_profile import Shift, epsilon_at, profile

if TYPE_CHECKING:
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld
else:
    pld = Lazy("dp_accounting.pld.privacy_loss_distribution")
    pld_pmf = Lazy("dp_accounting.pld.pld_pmf")

INTERVAL = 2e-3  # step of the losses; connecting the dots errs by its square
TOP = 1e-13  # delta at the largest loss listed; what is beyond counts as infinite
LARGEST = 60.0  # losses above this count as infinite

Law = tuple[Shift, float, float, float, int]  # the shift's law, sensitivity / sigma, rate, swap, count


@singledispatch
def law_of(event: Event) -> Law:
    """What an event adds here. Errors: UsageError where it has no such law.

    Privacy: public only.
    """
    raise UsageError(f"slices are not composed with {event.kind}; use separate runs")


@law_of.register
def _(event: SlicesDpEvent) -> Law:
    if event.rows_split_across_groups:
        raise UsageError(
            "slices of several laws are not composed where a unit has several rows; ask one question of slices, or "
            "take as many slices as coordinates, on a rotation"
        )
    return event.shift, event.ratio, event.rate, event.swap, event.count


def as_one(slices: Sequence[SlicesDpEvent]) -> SlicesDpEvent | None:
    """All slices as one event, where their squared shifts add up to one of the same family; else None.

    Independent Gaussian directions of equal dim and noise: chi-squared degrees add.

    Privacy: public only.
    """
    first = slices[0]
    if len(slices) == 1 and first.count == 1:
        return first
    alike = {(e.dim, e.ratio, e.directions, e.rate, e.swap) for e in slices}
    if len(alike) > 1 or first.directions != "gaussian" or first.rate < 1 or first.swap:
        return None
    split = any(e.rows_split_across_groups for e in slices)
    number = sum(e.count * e.num_slices for e in slices)
    return replace(first, count=1, num_slices=number, rows_split_across_groups=split)


@lru_cache(maxsize=32)
def distribution(shift: Shift, *, ratio: float, rate: float = 1.0, swap: float = 0.0) -> pld.PrivacyLossDistribution:
    """The loss distribution that dominates slices with ``ratio`` = sensitivity / sigma, in both orders of neighbours.

    **Source**: connect-the-dots, Doroshenko et al., arXiv 2207.04380, Algorithm 1, applied to the exact profile.

    Privacy: public only.
    """
    sampled: dict[str, Any] = {"rate": rate, "swap": swap}
    top = min(epsilon_at(TOP, shift, ratio=ratio, **sampled), LARGEST)
    most = ceil(top / INTERVAL) + 1
    steps = np.arange(-most, most + 1)
    removed = _masses(steps, profile(steps * INTERVAL, shift, ratio=ratio, **sampled))
    if rate == 1 or swap:
        return pld.PrivacyLossDistribution(removed)
    added = _masses(steps, profile(steps * INTERVAL, shift, ratio=ratio, rate=rate, removed=False))
    return pld.PrivacyLossDistribution(removed, added)


def _masses(steps: np.ndarray, deltas: np.ndarray) -> pld_pmf.PLDPmf:
    return pld_pmf.create_pmf_pessimistic_connect_dots(INTERVAL, steps, np.minimum.accumulate(deltas))


def epsilon(laws: Sequence[Law], delta: float, *, mu_elsewhere: float = 0.0) -> float:
    """Epsilon at ``delta`` of slices, each a (shift, ratio, rate, swap, count), and of Gaussians (``mu_elsewhere``).

    Privacy: public only.

    >>> twice = [(Shift(9, 9), 0.3, 1.0, 0.0, 2)]
    >>> round(epsilon(twice, 1e-5), 4), round(epsilon(twice, 1e-5, mu_elsewhere=0.2), 4)
    (1.9592, 2.1063)
    """
    whole = pld.identity(value_discretization_interval=INTERVAL)
    if mu_elsewhere > 0:
        whole = pld.from_gaussian_mechanism(1 / mu_elsewhere, value_discretization_interval=INTERVAL)
    for shift, ratio, rate, swap, count in laws:
        one = distribution(shift, ratio=ratio, rate=rate, swap=swap)
        whole = whole.compose(one if count == 1 else one.self_compose(count))
    result = float(whole.get_epsilon_for_delta(delta))
    return result if isfinite(result) else inf
