"""Which mechanism answers which kind of question, and what a generator is told of its budget."""

from collections.abc import Callable
from math import hypot
from typing import Any

from synth.generators.base import Setting
from synth.mechanisms import (
    counts,
    embeddings,
    external,
    laplace,
    linked,
    nearest,
    search,
    selection,
    slices,
    values,
    weighted,
)
from synth.mechanisms.above import Comparisons
from synth.mechanisms.functional import Functional
from synth.mechanisms.gradients import Descents
from synth.mechanisms.gradients import rate as unit_rate
from synth.mechanisms.pulls import Pulling
from synth.mechanisms.votes import Classes
from synth.pipeline.uses import workload
from synth.privacy.accounting.float_slack import EPSILON_SLACK, SAFETY
from synth.privacy.accounting.gaussian import derived_epsilon
from synth.privacy.accounting.losses import sampled_sigma
from synth.privacy.accounting.renyi import calibrate_rho
from synth.privacy.accounting.slice_profile import slice_sigma, swd, theorem_1
from synth.privacy.curator import Grant
from synth.privacy.relation import Relation
from synth.questions import (
    Above,
    Choice,
    Counts,
    Embedding,
    External,
    FunctionalQuery,
    Laplace,
    Linked,
    Nearest,
    Pulls,
    Search,
    Slices,
    Step,
    Values,
    Votes,
    WeightedCounts,
)
from synth.schema.dataset import Dataset
from synth.schema.table import Schema


def mechanisms() -> dict[type, Any]:
    """By kind of question the mechanism that answers it; new for each run, since some keep what they answered."""
    return {
        Counts: counts,
        Linked: linked,
        Values: values,
        Slices: slices,
        Embedding: embeddings,
        External: external,
        FunctionalQuery: Functional(),
        Choice: selection,
        Search: search,
        Step: Descents(),
        Votes: Classes(),
        Nearest: nearest,
        Pulls: Pulling(),
        WeightedCounts: weighted,
        Laplace: laplace,
        Above: Comparisons(),
    }


def setting(schema: Schema | Dataset, grant: Grant, *, public_rows: int | None) -> Setting:
    """What a generator may know of a run that may spend ``grant``."""
    before = derived_epsilon(grant.mu_elsewhere, grant.left_delta)
    return Setting(
        schema=schema.as_measured(schema.root),
        tree=schema.tree,
        workload=workload(schema),
        mu=grant.mu,
        sensitivity=counts.sensitivity(grant.adjacency),
        signed=counts.signed_sensitivity(grant.adjacency),
        public_rows=public_rows,
        rho=calibrate_rho(grant.epsilon, grant.left_delta, mu_elsewhere=grant.mu_elsewhere),
        epsilon=max(grant.epsilon * (1 - EPSILON_SLACK) * (1 - SAFETY) - before, 0.0),
        slice_sigma=slices_within(grant),
        step_sigma=steps_within(grant),
    )


def slices_within(grant: Grant) -> Callable[..., float]:
    """The least noise of one question of slices on random directions that takes all that a grant leaves.

    The function returned takes ``dim``, ``num_slices``, and if they differ from the usual ``directions``, ``rate``,
    ``swap``, ``signed`` (coordinates of any sign), ``accounting`` (``theorem_1``, ``swd``: a published bound's noise,
    where that is more) and ``mu_elsewhere``, mu of the same generator's Gaussian questions.
    """

    def sigma(
        *,
        dim: int,
        num_slices: int,
        directions: str = "gaussian",
        rate: float = 1.0,
        swap: float = 0.0,
        signed: bool = False,
        mu_elsewhere: float = 0.0,
        accounting: str = "exact",
    ) -> float:
        adjacency = grant.adjacency
        size = counts.signed_sensitivity(adjacency) if signed else counts.sensitivity(adjacency)
        exact = slice_sigma(
            epsilon=grant.epsilon,
            delta=grant.left_delta,
            sensitivity=size,
            dim=dim,
            num_slices=num_slices,
            directions=directions,
            rate=rate,
            swap=swap,
            mu_elsewhere=hypot(mu_elsewhere, grant.mu_elsewhere),
            rows_split_across_groups=adjacency.max_rows > 1,
        )
        if accounting == "exact":
            return exact
        if accounting == "swd":
            published = swd(grant.epsilon, grant.left_delta, dim=dim, num_slices=num_slices)
        else:
            published = theorem_1(grant.epsilon, grant.left_delta, dim=dim, num_slices=num_slices, rate=rate)
        return max(exact, size * published)

    return sigma


def steps_within(grant: Grant) -> Callable[..., float]:
    """The least noise of a descent's steps that takes all that a grant leaves, as a multiple of the clip.

    The function returned takes ``rate``, ``steps`` and ``mu_elsewhere``, mu of the same generator's Gaussian questions.
    """

    def sigma(*, rate: float, steps: int, mu_elsewhere: float = 0.0) -> float:
        adjacency = grant.adjacency
        each = sampled_sigma(
            epsilon=grant.epsilon,
            delta=grant.left_delta,
            rate=unit_rate(rate, adjacency),
            steps=steps,
            mu_elsewhere=hypot(mu_elsewhere, grant.mu_elsewhere),
            replaced=adjacency.relation is Relation.REPLACE_ONE,
        )
        return adjacency.max_rows * each

    return sigma
