"""Clipped gradients of a public network, summed over Poisson samples and noised. Proof note: gradients.md beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

import numpy as np

from synth.errors import BudgetError, UsageError, need
from synth.lazy import torch
from synth.numeric import networks
from synth.privacy.accounting.events import Event, PoissonSampledDpEvent, PoissonSampledReplacedDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Descent, Pulls, Step, StepRelease
from synth.questions.features import codes
from synth.questions.gradients import AUTOENCODER, FINE, FLOW, KERNEL, RATES, TRANSPORT

CHUNK = (
    128  # rows differentiated at a time, always: shapes are public, and a row's arithmetic does not depend on others
)
SHRUNK = 1 - 2.0**-20  # makes room for what float arithmetic may add to a clipped norm; checked again in whole numbers
WEIGHTS = 1 << 20  # of a network: CHUNK gradients of it in two precisions take 2.5 GB
LARGE = (
    "a network of {:,} weights: {:,} are the most, since its gradients would fill this machine's memory after the "
    "spend; lower the option hidden or groups, or leave columns out"
)
MAPPED = (FLOW, TRANSPORT)  # networks whose layers Opacus does not know
PLACES = "this machine's matrix products depend on where a row stands; DP-SGD is not sound on it: choose another method"


def sensitivity(question: Step, adjacency: Adjacency) -> float:
    """L2 distance by which one unit's rows, once they are in the sample, can move a step's sum from theirs being out.

    **Guarantee**: each of at most ``max_rows`` rows adds a vector of length at most ``clip``.

    Privacy: public only.
    """
    return question.descent.clip * adjacency.max_rows


def rate(each: float, adjacency: Adjacency) -> float:
    """The chance, rounded up, that any of a unit's rows is in a sample that every row enters with chance ``each``.

    Privacy: public only.

    >>> rate(0.5, Adjacency(relation=Relation.ADD_REMOVE))
    0.5
    """
    return each if adjacency.max_rows == 1 else min(1.0, (1 - (1 - each) ** adjacency.max_rows) * (1 + 1e-12))


class Descents:
    """The descents of one run. The first step of each pays for all of its steps, and beyond them there is none.

    State: for each descent the number of steps taken and the rows' groups, which are as private as rows: an object of
    this class stays with the run's curator and goes with it.

    Errors: BudgetError for a step that is not paid for.
    Privacy: reads rows, under noise.
    """

    def __init__(self) -> None:
        self._open: dict[int, _Descending] = {}

    def events(self, question: Step, adjacency: Adjacency) -> list[Event]:
        """All steps of a descent that is new, nothing for one that is open. Errors: BudgetError beyond its steps."""
        entry = self._open.get(id(question.descent))
        taken, plan = entry.taken if entry else 0, question.descent
        if question.number != taken or taken >= plan.steps:
            raise BudgetError(
                "step {} of {} is not paid for: {} of its {} steps are taken, and they come in order",
                question.number,
                plan.purpose,
                taken,
                plan.steps,
            )
        if entry:
            return []
        replaced = adjacency.relation is Relation.REPLACE_ONE
        kind = PoissonSampledReplacedDpEvent if replaced else PoissonSampledDpEvent
        size = sensitivity(question, adjacency)
        return [
            kind(
                name=plan.purpose,
                sensitivity=size,
                sigma=plan.sigma,
                count=plan.steps,
                rate=rate(plan.rate, adjacency),
                pitch=plan.lattice,
            )
        ]

    def changed_cells(self, question: Step, adjacency: Adjacency) -> int:  # noqa: ARG002
        """In how many numbers of one step neighbouring tables can differ."""
        return question.descent.weights

    def answer(self, question: Step, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> StepRelease:
        """The step's noisy sum over ``rows`` (by column the positions, (n,)).

        **Guarantee**: all answers of a descent together are its steps of a Gaussian mechanism over Poisson samples
        (gradients.md). Memory: the rows' groups, and ``CHUNK`` gradients. Errors: UsageError on a machine whose
        arithmetic cannot be relied on.
        """
        plan = question.descent
        result = self._open.get(id(plan)) or _Descending(plan, rows)
        with networks.one_thread():
            if result.taken == 0:
                check_places(question)
            total = result.sums(question, noise)
        released = total + noise.gaussian_counts((plan.weights,), sigma=FINE)
        result.taken += 1
        self._open[id(plan)] = result
        return StepRelease(question=question, values=released * plan.lattice)


class _Descending:
    """What is known of one descent: its plan (kept, so that its identity is its own), rows and steps taken."""

    def __init__(self, plan: Descent, rows: Mapping[str, np.ndarray]) -> None:
        self.plan, self.taken, self.gradients = plan, 0, PerExampleGradients(plan)
        self.codes = np.stack([codes(b, rows[b.column]) for b in plan.bins], axis=1)

    def sums(self, question: Step, noise: SystemNoise) -> np.ndarray:
        """The exact sum of a sample's clipped gradients, int64 (weights,), in units of the lattice."""
        plan = self.plan
        drawn = noise.uniform_codes(len(self.codes), high=RATES) < round(plan.rate * RATES)
        picked, total = self.codes[drawn], np.zeros(plan.weights)
        self.gradients.at(question.weights)
        for some, span in self.gradients.shares(picked):
            for at in range(0, len(some), CHUNK):
                draws = noise.directions((CHUNK, plan.latent)) if plan.latent else np.zeros((CHUNK, 0))
                told = self.gradients.of(some[at : at + CHUNK], draws)
                total[span] += on_lattice(told / plan.fallen(question.number), plan).sum(0)
        return total.astype(np.int64)


class PerExampleGradients:
    """Per-example gradients of a descent's network: by Opacus, or by torch's own where layers are none that it knows.

    Of a kernel, what each row adds at its points, whitened (kernel_field.py).

    Privacy: reads rows, exact: they stay with the curator.
    """

    def __init__(self, plan: Descent) -> None:
        self.sizes = plan.sizes
        self.network: Any = networks.of(plan)
        self.mapped = plan.network in MAPPED or (plan.network == AUTOENCODER and plan.depth > 0)
        self.field = plan.network == KERNEL
        if not (self.mapped or self.field):
            need("gradients of this method's network", "papers", "opacus")
            from opacus import GradSampleModule  # which takes longer to load than torch

            self.module = GradSampleModule(self.network, loss_reduction="sum")

    def at(self, weights: Sequence[np.ndarray]) -> None:
        """Sets the weights at which gradients are taken: one array for each parameter, of its shape."""
        networks.load(self.network, weights)
        if self.field:
            self.network.prepare()

    def shares(self, rows: np.ndarray) -> list[tuple[np.ndarray, slice]]:
        """All rows (n, columns) and the span of numbers that theirs stand in; of a kernel with a label, label by label.

        A row's gradient is zero outside its own label's span, and does not depend on other rows.
        """
        return self.network.shares(rows) if self.field else [(rows, slice(None))]

    def of(self, rows: np.ndarray, draws: np.ndarray) -> torch.Tensor:
        """Gradients (n, span) of the losses of rows (n, columns), n <= ``CHUNK``, of one span; draws (CHUNK, latent).

        The shapes of all products are fixed: what is missing of a chunk is filled with rows without a group.
        """
        filled = np.full((CHUNK, rows.shape[1]), -1)
        filled[: len(rows)] = rows
        one_hot, drawn = networks.one_hot(filled, self.sizes), torch.from_numpy(draws.astype(np.float32))
        if self.field:
            return self.network.numbers(one_hot)[: len(rows)]
        if self.mapped:
            return self._mapped(one_hot, drawn)[: len(rows)]
        self.module.zero_grad(set_to_none=True)
        losses = self.network.losses(one_hot.requires_grad_(), drawn)  # or hooks of the first layer complain
        losses.sum().backward()
        parts = [p.grad_sample.reshape(CHUNK, -1) for p in self.network.parameters()]
        return torch.cat(parts, dim=1)[: len(rows)]

    def _mapped(self, one_hot: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
        held = {n: p.detach() for n, p in self.network.named_parameters()}

        def loss(weights: dict[str, torch.Tensor], row: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
            return torch.func.functional_call(self.network, weights, (row, own))

        result = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(held, one_hot, drawn)
        return torch.cat([result[n].reshape(CHUNK, -1) for n in held], dim=1)


def on_lattice(gradients: torch.Tensor, plan: Descent | Pulls) -> np.ndarray:
    """Each row's gradient clipped and brought to the lattice, whole numbers as float64 (n, weights).

    **Guarantee**: a row's squared length is at most (clip / lattice)^2, as whole numbers; a row that is not finite, or
    beyond that, becomes zero. Sums of whole numbers below 2^53 are exact, in any order.

    Privacy: reads rows, exact: it stays with the curator.
    """
    room = (plan.clip - plan.rounding) * SHRUNK
    norms = torch.linalg.vector_norm(gradients, dim=1, dtype=torch.float64)
    finite = torch.isfinite(norms)
    scale = torch.where(finite, (room / norms.clamp_min(1e-300)).clamp_max(1.0), 0.0) / plan.lattice
    scaled = gradients * scale.to(gradients.dtype)[:, None]
    whole = (torch.round(scaled) if plan.rounding else torch.trunc(scaled)).double().numpy()
    whole[~finite.numpy()] = 0.0
    whole[np.einsum("ij,ij->i", whole, whole) > floor((plan.clip / plan.lattice) ** 2)] = 0.0
    return whole


def check_places(question: Step) -> None:
    """Sees on public rows that a row's gradient is the same, bit by bit, wherever it stands in a chunk and beside whom.

    Else one row more would change other rows' roundings. Errors: UsageError, also for a network whose gradients no
    machine could be expected to hold.

    Privacy: public only.
    """
    if question.descent.weights > WEIGHTS:
        raise UsageError(LARGE, question.descent.weights, WEIGHTS)
    plan, place = question.descent, np.arange(CHUNK)
    rows = np.stack([place * (2 * j + 7) % s for j, s in enumerate(plan.sizes)], axis=1)
    draws = np.sin(1.0 + place[:, None] * np.arange(3, plan.latent + 3))
    gradients = PerExampleGradients(plan)
    gradients.at(question.weights)
    shifted, few = place * 37 % CHUNK, CHUNK // 3
    for label in range(plan.sizes[plan.label]) if plan.label is not None else [0]:
        if plan.label is not None:
            rows[:, plan.label] = label
        whole = gradients.of(rows, draws)
        same = torch.equal(gradients.of(rows[shifted], draws[shifted]), whole[shifted])
        if not (same and torch.equal(gradients.of(rows[:few], draws), whole[:few])):
            raise UsageError(PLACES)
