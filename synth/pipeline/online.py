"""Questions that come one by one, each perhaps after the answers before: a session of `online_weights`.

Proof note: synth/mechanisms/above.md.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.papers.queries import Online, OnlineWeights
from synth.pipeline.charge import charge
from synth.pipeline.draw_rows import allowed_by
from synth.pipeline.prepare import requested
from synth.pipeline.private_rows import Source
from synth.privacy.owner import Owner
from synth.questions import Bins
from synth.schema.dataset import ONE
from synth.schema.table import Schema

MOST = 1_000_000  # values of a column that is asked about


@dataclass(frozen=True, kw_only=True)
class OnlineAnswer:
    """``rows``: how many rows meet the question, about. ``counted``: under noise, or else the weights' own answer.

    ``left``: counts that the session can still pay for; with none left every answer is the weights'.

    Privacy: released answers only.
    """

    rows: float
    counted: bool
    left: int


class OnlineSession:
    """An open session: its budget is charged, its rows are behind the curator.

    Privacy: released answers only.
    """

    def __init__(self, door: Online, schema: Schema) -> None:
        self._door, self._schema, self._owner = door, schema, Owner()

    def count(self, where: Mapping[str, str]) -> OnlineAnswer:
        """How many rows meet all conditions: by column a value, ``a|b``, or ``low..high``, as of ``synth.sample``.

        Threads are answered one after the other. Errors: UsageError for a condition on no column, or one that cuts
        through the parts of a number's range; BudgetError in a fork.
        """
        if not where:
            raise UsageError("a question: name a column at least, and what it may be")
        allowed = allowed_by(self._schema, where)
        box = tuple(self._part(name, positions) for name, positions in allowed[ONE].items())
        with self._owner:
            if (before := self._door.left) <= 0:
                return OnlineAnswer(rows=self._door.weights.count(box), counted=False, left=0)
            rows = self._door.answer(box)
            return OnlineAnswer(rows=rows, counted=self._door.left < before, left=self._door.left)

    def _part(self, name: str, positions: Any) -> Bins:
        """The column's allowed positions as one group; whole parts only."""
        bins = self._door.bins[name]
        if bins.cells > MOST:
            raise UsageError(
                "a question about {}: of columns of more than {:,} values nothing can be asked", name, MOST
            )
        inside = np.zeros(bins.cells, dtype=bool)
        inside[np.asarray(positions, dtype=np.int64)] = True
        groups = np.repeat(bins.groups, bins.widths)
        full = np.bincount(groups, inside, minlength=bins.size)
        if ((full > 0) & (full < np.bincount(groups, minlength=bins.size))).any():
            starts = ", ".join(str(s) for s in bins.starts)
            raise UsageError(
                "a question about {}: its range is cut into parts that begin at the positions {}, and a condition "
                "may not cut through one; choose bounds there, or more parts (option bins)",
                name,
                starts,
            )
        return Bins(column=name, cells=bins.cells, starts=np.arange(bins.cells), groups=np.where(inside, 0, -1))


@contextmanager
def online(
    table: Source, *, schema: Schema, epsilon: float, delta: float = 0.0, **options: Any
) -> Iterator[OnlineSession]:
    """A session on a table, for as long as the ``with`` block lasts; the whole of epsilon and delta is charged first.

    ``table``, ``schema``, ``options``: as of ``synth.run``; its
    ``options={"updates": 20}`` are those of the method ``online_weights``. However many questions come, no more is ever
    charged than ``epsilon`` and ``delta``.

    **Guarantee**: all answers together are (epsilon, delta)-DP for the relation on the unit; with delta 0 purely.
    Errors: UsageError, InputError, BudgetError before anything is spent; SpentError for an error inside the block.

    Privacy: reads rows, under noise.
    """
    request, context = requested(table, epsilon=epsilon, delta=delta, method="online_weights", **options)
    with charge(request, schema, context) as run:
        ask, setting = run.door()
        method = run.plan.questions
        assert isinstance(method, OnlineWeights)
        yield OnlineSession(Online(ask, setting, method), setting.schema)
