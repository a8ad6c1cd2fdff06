"""Fit of a nested mixture to all released tables at once: Adam on their squared residuals, each by its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.base import Progress, Share
from synth.generators.marginals.adam import Adam
from synth.generators.nested_mixture.closed_form import Columns, Level, Logits, across, levels, own, paired
from synth.generators.nested_mixture.known import Known
from synth.generators.nested_mixture.measure import PURPOSE
from synth.questions import LinkedRelease
from synth.questions.linked import placed
from synth.schema.lazy import Lazy
from synth.schema.related import Related

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

CHECK = 20  # steps between looks at the stopping rule


@dataclass(frozen=True, kw_only=True)
class Options:
    """``roots``: components of the root; ``states``: components of a child in each of its parent's.

    Adam for at most ``steps`` with a falling ``rate``; the fit ends when its squared error, in units of the noise,
    falls to the part ``stop`` of the cells, where it begins to follow the noise. ``spread``: deviation of the
    starting logits. ``shrink``: weight of the squared distance of logits from the one-ways', in units of a cell's
    noise: what the tables do not bear out is left out.
    """

    roots: int = 384
    states: int = 3
    steps: int = 700
    rate: float = 0.08
    last_rate: float = 0.008
    spread: float = 0.3
    stop: float = 0.85
    shrink: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Block:
    """Measured tables laid into one matrix: ``y`` shares of the roots, ``precision`` 1 / variance, 0 where none.

    ``view``: as of a question, or ``one-way`` with a single line. ``above``: the ancestor whose columns are the
    matrix' columns, the table itself where it is of one table.
    """

    table: str
    view: str
    above: str
    y: torch.Tensor
    precision: torch.Tensor


def blocks(
    releases: Sequence[LinkedRelease],
    schema: Related,
    known: Mapping[str, Known],
    columns: Mapping[str, Columns],
    device: str,
) -> list[Block]:
    """All that was measured, one matrix for each view of each pair of tables."""
    total = known[schema.root].total
    found: dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]] = {}

    def lay(table: str, view: str, above: str, rows: slice, cols: slice, values: np.ndarray, sigma: float) -> None:
        height = 1 if view in ("one-way", "first") else columns[table].size
        shape = (height, columns[above].size)
        y, precision = found.setdefault((table, view, above), (np.zeros(shape), np.zeros(shape)))
        y[rows, cols] = values / total
        precision[rows, cols] = (total / sigma) ** 2

    single = slice(0, 1)
    for table in schema.downwards:
        for name, where in columns[table].slices.items():
            histogram = known[table].histograms[name]
            mass = np.bincount(known[table].groups[name], weights=histogram.mass)
            lay(table, "one-way", table, single, where, mass, max(histogram.sigma, 1.0))
    for release in releases:
        if release.question.purpose != PURPOSE:
            continue
        view = release.question.view
        for marginal, values in zip(release.question.marginals, release.values, strict=True):
            (table, first, _), *rest = [placed(b.column) for b in marginal.bins]
            at = columns[table].slices[first]
            if not rest:
                lay(table, view, table, single, at, values, marginal.sigma)
                continue
            above, second, _ = rest[0]
            lay(table, view, above, at, columns[above].slices[second], values, marginal.sigma)
    real = lambda x: torch.as_tensor(x, dtype=torch.float32, device=device)  # noqa: E731
    return [Block(table=t, view=v, above=a, y=real(y), precision=real(p)) for (t, v, a), (y, p) in found.items()]


def start(
    schema: Related,
    known: Mapping[str, Known],
    columns: Mapping[str, Columns],
    options: Options,
    *,
    rng: np.random.Generator,
    device: str,
) -> dict[str, Logits]:
    """Logits scattered around the one-ways; components of one parent lie nearer to each other."""

    def real(x: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(x, dtype=torch.float32, device=device)

    out: dict[str, Logits] = {}
    many = {schema.root: options.roots}
    for table in schema.downwards:
        key, size = schema.key_above(table), columns[table].size
        base = centre(known[table], columns[table])
        if key is None:
            state, turn = np.zeros((1, options.roots)), None
            noise = rng.standard_normal((options.roots, size))
        else:
            parents, states = many[key.parent], options.states
            many[table] = parents * states
            shared = rng.standard_normal((parents, 1, size))
            noise = ((shared + rng.standard_normal((parents, states, size))) / np.sqrt(2)).reshape(-1, size)
            state = 0.1 * rng.standard_normal((parents, states))
            turn = None if key.order is None else real(0.1 * rng.standard_normal((parents, states, states)))
        out[table] = Logits(columns=real(base + options.spread * noise), state=real(state), turn=turn)
    return out


def centre(known: Known, columns: Columns) -> np.ndarray:
    """Logits (G,) of the one-ways."""
    base = np.zeros(columns.size)
    for name, where in columns.slices.items():
        mass = np.bincount(known.groups[name], weights=known.histograms[name].mass)
        base[where] = np.log(np.maximum(mass / max(mass.sum(), 1e-9), 1e-6))
    return base


def loss_of(
    schema: Related, columns: Mapping[str, Columns], found: Mapping[str, Level], measured: Sequence[Block]
) -> torch.Tensor:
    """Sum of squared residuals, each in units of its noise."""
    parts = []
    for block in measured:
        level = found[block.table]
        if block.view == "one-way":
            model = (level.weights @ level.probs)[None]
        elif block.view == "first":
            assert level.first is not None
            model = (level.first @ level.probs)[None]
        elif block.view in ("steps", "siblings"):
            model = paired(level)
        elif block.above != block.table:
            model = across(schema, columns, found, block.table, block.above)
        else:
            model = own(level)
        parts.append((block.precision * (model - block.y) ** 2).sum())
    return torch.stack(parts).sum()


def fit(
    schema: Related,
    known: Mapping[str, Known],
    columns: Mapping[str, Columns],
    measured: Sequence[Block],
    options: Options,
    *,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
) -> dict[str, Logits]:
    """The logits at which all tables agree within their noise, as far as steps and components allow."""
    logits = start(schema, known, columns, options, rng=rng, device=device)
    base = {t: torch.as_tensor(centre(known[t], columns[t]), dtype=torch.float32, device=device) for t in logits}
    variables = [t.requires_grad_() for one in logits.values() for t in one.tensors]
    adam = [Adam(v) for v in variables]
    cells = sum(int((b.precision > 0).sum()) for b in measured)
    for step in range(options.steps):
        loss = loss_of(schema, columns, levels(schema, columns, logits), measured)
        away = torch.stack([((one.columns - base[t]) ** 2).sum() for t, one in logits.items()]).sum()
        gradients = torch.autograd.grad(loss + options.shrink * away, variables, materialize_grads=True)
        if step % CHECK == 0:
            seen = float(loss.detach()) / max(cells, 1)
            progress(Share(step / options.steps, loss=seen))
            if seen < options.stop:
                break
        rate = options.last_rate + (options.rate - options.last_rate) * 0.5 * (1 + cos(pi * step / options.steps))
        with torch.no_grad():
            for mover, gradient in zip(adam, gradients, strict=True):
                mover.move(gradient, step=step + 1, rate=rate)
    for variable in variables:
        variable.requires_grad_(False)
    return logits
