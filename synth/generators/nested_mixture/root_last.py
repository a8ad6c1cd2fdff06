"""The last step of a fit of related tables: the root's own tables, met within their noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synth.generators.marginals.adam import Adam
from synth.generators.nested_mixture.closed_form import of_root
from synth.generators.nested_mixture.logits import Columns, Logits
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch

    from synth.generators.nested_mixture.matrix import NestedMatrix
else:
    torch = Lazy("torch")

LAST_STEPS, LAST_RATE = 300, 0.02
MET = 0.5  # squared errors a cell, in units of the noise, that the tables may keep


def root_last(root: str, columns: Columns, given: Logits, measured: Sequence[NestedMatrix]) -> None:
    """Moves the columns of the root's components until the root's own tables are met within their noise; in place.

    They are known far better than others, and so few that all classes together can follow them. Privacy: released
    answers only.
    """
    own = [b for b in measured if b.table == root and b.view in ("rows", "one-way")]
    cells = sum(b.cells for b in own)
    variable = given.columns.requires_grad_()
    mover = Adam(variable)
    for step in range(LAST_STEPS):
        level = of_root(given, columns)
        loss = torch.stack(
            [
                (b.precision * ((level.one_way[None] if b.view == "one-way" else level.own) - b.y) ** 2).sum()
                for b in own
            ]
        ).sum()
        if float(loss.detach()) <= MET * cells:
            break
        (gradient,) = torch.autograd.grad(loss, [variable])
        with torch.no_grad():
            mover.move(gradient, step=step + 1, rate=LAST_RATE * (1 - step / LAST_STEPS))
    variable.requires_grad_(False)
