"""Noisy sums of teachers' gradients on generated rows, in three forms. Proof note: pulls.md beside this file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from synth.lazy import torch
from synth.mechanisms.counts import changed
from synth.mechanisms.gradients import on_lattice
from synth.mechanisms.votes import Classes, TaughtTeachers, features
from synth.numeric import networks
from synth.privacy.accounting.events import Event, GaussianDpEvent, RoundedGaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Pulls, PullsRelease
from synth.questions.gradients import BALLOTS, CLIPPED, FINE, SIGNS

HELD = 1 << 24  # most numbers of teachers' gradients held at a time, 4 bytes each


def sensitivity(question: Pulls, adjacency: Adjacency) -> float:
    """L2 distance by which one unit can move one generated row's answer.

    **Guarantee**: each of a unit's at most ``max_rows`` rows belongs to one teacher, alike under every relation.

    Privacy: public only.
    """
    return adjacency.max_rows * question.answer_sensitivity


class Pulling(Classes):
    """The teachers of one run, kept from question to question, as private as rows: they stay with the run's curator.

    Errors: BudgetError for more teachers than the machine is asked to hold.
    Privacy: reads rows, under noise.
    """

    def events(self, question: Pulls, adjacency: Adjacency) -> list[Event]:  # type: ignore[override]
        """One Gaussian for each row asked about. Errors: BudgetError where teachers would not fit in memory."""
        self.check_size(question.teachers)
        kind = RoundedGaussianDpEvent if question.form == CLIPPED else GaussianDpEvent
        return [
            kind(
                name=question.purpose,
                sensitivity=sensitivity(question, adjacency),
                sigma=question.sigma,
                count=len(question.asked),
                pitch=question.lattice,
            )
        ]

    def changed_cells(self, question: Pulls, adjacency: Adjacency) -> int:  # type: ignore[override]
        """In how many numbers of one generated row's answer neighbouring tables can differ."""
        each = {CLIPPED: question.groups, SIGNS: 2 * question.kept, BALLOTS: 2 * question.projection.shape[1]}
        return min(int(np.prod(question.shape)), changed(adjacency) * each[question.form])

    def answer(self, question: Pulls, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> PullsRelease:  # type: ignore[override]
        """Teachers learn the question's lessons, then say which way they would move the asked rows.

        ``rows``: by column the positions (n,). The answer: float64 (asked, features).

        **Guarantee**: each row's answer is a Gaussian mechanism of mu = sensitivity / sigma, rounded (pulls.md).
        """
        with networks.one_thread():
            result = self.taught(question.teachers, rows, noise)
            result.learn(question.lessons, question.moves)
            total = summed(question, result)
        if question.form == CLIPPED:
            released = (total + noise.gaussian_counts(total.shape, sigma=FINE)) * question.lattice
        else:
            released = (total + noise.gaussian_counts(total.shape, sigma=question.sigma)).astype(float)
        return PullsRelease(question=question, values=released)


def summed(question: Pulls, taught: TaughtTeachers) -> np.ndarray:
    """Whole numbers (rows asked about, *shape): the exact sum over teachers, in units of the lattice.

    Privacy: reads rows, exact: it stays with the curator.
    """
    step = max(HELD // (question.teachers.teachers * question.groups), 1)
    parts = [
        said(question, each)
        for at in range(0, len(question.asked), step)
        for each in slopes(question, taught, question.asked[at : at + step])
    ]
    return np.stack([p.sum(0) for p in parts]).astype(np.int64).reshape(-1, *question.shape)


def slopes(question: Pulls, taught: TaughtTeachers, asked: np.ndarray) -> torch.Tensor:
    """Each teacher's gradient on each row, (rows, teachers, groups), of length 1 at most (clipped) or exactly; zero for
    a teacher without rows.

    One teacher's numbers come from its own weights and public ones, at its place in arrays of public shape.

    Privacy: reads rows, exact: they stay with the curator.
    """
    table = torch.from_numpy(np.array(question.teachers.table))
    lit = (features(question.teachers, asked) > 0).to(table.dtype)
    slope = (lit[:, None, :] * taught.weights[None]) @ table.T
    parts = [p - p.mean(2, keepdim=True) for p in slope.split(list(question.teachers.sizes), dim=2)]
    centred = torch.cat(parts, dim=2)
    length = torch.linalg.vector_norm(centred, dim=2, keepdim=True)
    least = question.unit if question.form == CLIPPED else 1e-30
    there = (taught.there[:, :1] > 0)[None]  # the first seat is taken where any is
    return torch.where(there & (length > 0), centred / length.clamp_min(least), 0.0)


def said(question: Pulls, each: torch.Tensor) -> np.ndarray:
    """What each teacher adds to one row's answer: whole numbers (teachers, cells), zeros from one that says nothing.

    Privacy: reads rows, exact: they stay with the curator.
    """
    if question.form == CLIPPED:
        return on_lattice(each, question)
    speaks = (each != 0).any(1)
    if question.form == SIGNS:
        first = torch.topk(each.abs(), question.kept, dim=1).indices
        return torch.zeros_like(each).scatter(1, first, torch.sign(each).gather(1, first)).double().numpy()
    coordinates = each @ torch.from_numpy(np.array(question.projection))
    part = torch.bucketize(coordinates, torch.from_numpy(question.edges.astype(np.float32)))
    votes = torch.nn.functional.one_hot(part, question.kept).double() * speaks[:, None, None]
    return votes.flatten(1).numpy()
