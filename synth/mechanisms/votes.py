"""Noisy counts of the votes of teachers, each trained on rows of its own. Proof note: votes.md beside this file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from synth.errors import BudgetError
from synth.lazy import torch
from synth.numeric import networks
from synth.privacy.accounting.events import Event, GaussianDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import Teachers, Votes, VotesRelease
from synth.questions.features import codes
from synth.questions.gradients import MEANS

RATE, DECAY = 0.5, 0.02  # of the teachers' gradient descent
KEYS = 2**62
HELD = 1 << 28  # most features of rows held, 4 bytes each
SCATTERED = "teachers={} of {} rows with {} features are more than this machine is asked to hold; choose fewer"


def sensitivity(adjacency: Adjacency) -> float:
    """By how many votes one unit can move the count about one generated row.

    **Guarantee**: each of a unit's at most ``max_rows`` rows belongs to one teacher, alike under every relation.

    Privacy: public only.
    """
    return float(adjacency.max_rows)


class Classes:
    """The teachers of one run, kept from vote to vote. As private as rows: they stay with the run's curator.

    Errors: BudgetError for more teachers than the machine is asked to hold.
    Privacy: reads rows, under noise.
    """

    def __init__(self) -> None:
        self._open: dict[int, TaughtTeachers] = {}

    def events(self, question: Votes, adjacency: Adjacency) -> list[Event]:
        """One Gaussian count for each row asked about. Errors: BudgetError where teachers would not fit in memory."""
        plan = question.teachers
        self.check_size(plan)
        return [
            GaussianDpEvent(
                name=plan.purpose, sensitivity=sensitivity(adjacency), sigma=plan.sigma, count=len(question.asked)
            )
        ]

    def check_size(self, plan: Teachers) -> None:
        """Errors: BudgetError where teachers would not fit in memory."""
        if plan.teachers * plan.most_rows * plan.table.shape[1] > HELD:
            raise BudgetError(SCATTERED, plan.teachers, plan.most_rows, plan.table.shape[1])

    def taught(self, plan: Teachers, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> TaughtTeachers:
        """The teachers of a plan, as they have learnt so far. ``rows``: by column the positions (n,)."""
        if id(plan) not in self._open:
            self._open[id(plan)] = TaughtTeachers(plan, rows, noise)
        return self._open[id(plan)]

    def changed_cells(self, question: Votes, adjacency: Adjacency) -> int:  # noqa: ARG002
        """In how many counts of one generated row's votes neighbouring tables can differ."""
        return 1

    def answer(self, question: Votes, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> VotesRelease:
        """Teachers learn the question's lessons, then vote. ``rows``: by column the positions (n,).

        **Guarantee**: each count is a Gaussian mechanism of mu = max_rows / sigma, rounded (votes.md), however the
        teachers learn. Memory: teachers * most_rows features.
        """
        plan = question.teachers
        with networks.one_thread():
            result = self.taught(plan, rows, noise)
            result.learn(question.lessons, question.moves)
            votes = result.votes(question.asked)
        return VotesRelease(question=question, values=votes + noise.gaussian_counts(votes.shape, sigma=plan.sigma))


class TaughtTeachers:
    """Teachers, side by side in arrays of public shapes: the arithmetic of one does not depend on another's rows.

    Privacy: reads rows, exact: they stay with the curator.
    """

    def __init__(self, plan: Teachers, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> None:
        self.plan = plan
        groups = np.stack([codes(b, rows[b.column]) for b in plan.bins], axis=1)
        teacher, seat = seats(len(groups), plan, noise)
        width = plan.table.shape[1]
        self.real = torch.zeros((plan.teachers, plan.most_rows, width))
        retained = seat < plan.most_rows
        self.real[teacher[retained], seat[retained]] = features(plan, groups[retained])
        self.there = torch.zeros((plan.teachers, plan.most_rows))
        self.there[teacher[retained], seat[retained]] = 1.0
        self.weights = torch.zeros((plan.teachers, width))
        self.bias = torch.zeros(plan.teachers)

    def learn(self, lessons: np.ndarray, moves: int) -> None:
        """Steps down each teacher's logistic loss, its real rows together weighing as much as all lessons; or means."""
        made = features(self.plan, lessons)
        share = self.there / self.there.sum(1, keepdim=True).clamp_min(1.0)
        if self.plan.critic == MEANS:
            self.weights = torch.bmm(share[:, None, :], self.real)[:, 0] - made.mean(0)
            return
        for _ in range(moves):
            real = torch.bmm(self.real, self.weights[:, :, None])[:, :, 0] + self.bias[:, None]
            pull = share * torch.sigmoid(-real)
            push = torch.sigmoid(self.weights @ made.T + self.bias[:, None]) / len(made)
            step = torch.bmm(pull[:, None, :], self.real)[:, 0] - push @ made - DECAY * self.weights
            self.weights += RATE * step
            self.bias += RATE * (pull.sum(1) - push.sum(1))

    def votes(self, asked: np.ndarray) -> np.ndarray:
        """How many teachers call each row real, int64 (m,). A teacher without rows has no say."""
        taught = self.there[:, :1] > 0  # the first seat is taken where any is
        said = self.weights @ features(self.plan, asked).T + self.bias[:, None] > 0
        return (said & taught).sum(0).numpy().astype(np.int64)


def seats(rows: int, plan: Teachers, noise: SystemNoise) -> tuple[np.ndarray, np.ndarray]:
    """Each row's teacher, drawn at random, and its rank among that teacher's rows by random keys, (rows,) each.

    Privacy: reads rows, exact: they stay with the curator.
    """
    teacher = noise.uniform_codes(rows, high=plan.teachers)
    order = np.lexsort((noise.uniform_codes(rows, high=KEYS), teacher))
    first = np.searchsorted(teacher[order], np.arange(plan.teachers))
    seat = np.empty(rows, dtype=np.int64)
    seat[order] = np.arange(rows) - first[teacher[order]]
    return teacher, seat


def features(plan: Teachers, groups: np.ndarray) -> torch.Tensor:
    """Public features (n, features): a sum of one table row for each column, rectified, of about unit length.

    Additions of one row's numbers alone, in the columns' order: no row's features depend on another.

    Privacy: reads rows, exact where the groups are the rows'; of generated rows, released answers only.
    """
    total = np.zeros((len(groups), plan.table.shape[1]), dtype=np.float32)
    offset = 0
    for j, size in enumerate(plan.sizes):
        inside = groups[:, j] >= 0
        total[inside] += plan.table[offset + groups[inside, j]]
        offset += size
    return torch.from_numpy(np.maximum(total, 0.0))
