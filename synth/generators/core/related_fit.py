"""Fit of a nested mixture to all released tables at once: Adam on their squared residuals, each by its noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, pi
from typing import Any

import numpy as np

from synth.generators.base import Progress, Share
from synth.generators.core import related_levels as closed_form
from synth.generators.core.related_questions import TABLES, coarsely
from synth.generators.core.related_tables import ByNumber, Known, Place, Sure
from synth.generators.core.solver import Adam, neighbours
from synth.lazy import torch
from synth.questions import LinkedRelease, Marginal
from synth.questions.linked import View, placed
from synth.schema.dataset import Dataset
from synth.schema.histories import is_long


@dataclass(frozen=True, kw_only=True)
class TreeOptions:
    """``fits``: mixtures from as many starts, which share the model. ``roots``: components of the root; ``children``:
    of each table below it; ``ranks``: of rows of one parent, told apart. Of few roots there are fewer components: one
    for so many as ``each`` times a table's noise.

    Adam for ``steps`` with a falling ``rate``, on the squared error in units of the noise and ``pull`` times the roots
    times ``told_by_components`` (its ``half``), twice that where there are half the components or fewer, and
    ``smooth`` times the roots times ``Roughness``. While the first is below the part ``stop`` of the cells, where a
    fit begins to follow the noise, only the others are followed; of few roots that part is greater by up to
    ``sooner``: less where it is negative, for their tables are shrunk to independence before.
    ``spread``: deviation of the starting logits around the one-ways; ``mixing``: of those of a child's components given
    its parent's. ``root``: how many times over the few tables of the root alone count, on which all others rest, until
    they are met. ``chance``: of the variance that the rows themselves have, as draws from a law, how much is added to
    the noise's: else a few large cells, known to a fraction of their own chance, would have all the classes. The root's
    own tables are then met by a step of their own.
    """

    fits: int = 6
    roots: int = 256
    children: int = 128
    each: float = 4.0
    ranks: int = 4
    steps: int = 600
    rate: float = 0.2
    last_rate: float = 0.01
    spread: float = 1.0
    mixing: float = 3.0
    stop: float = 0.6
    sooner: float = -0.2
    pull: float = 0.02
    half: float = 1.0
    root: float = 4.0
    chance: float = 0.3
    smooth: float = 0.2


@dataclass(frozen=True, kw_only=True)
class NestedMatrix:
    """Measured tables laid into one matrix: ``y`` shares of the roots, ``precision`` 1 / variance, 0 where none.

    ``view``: as of a question, or ``one-way`` with a single line. ``above``: the ancestor whose columns are the
    matrix' columns, the table itself where it is of one table. ``fold`` (G, F): bins into the fewer ones of a table
    that was asked coarser, or None. ``counted``: rows weigh as much as their parent (``ByNumber``). ``cells``: how
    many cells' worth of noise is in ``y``.
    """

    table: str
    view: str
    above: str
    y: torch.Tensor
    precision: torch.Tensor
    fold: torch.Tensor | None = None
    counted: bool = False
    cells: float = 0.0

    def softened(self, chance: float) -> torch.Tensor:
        """The precision of cells if so much of the rows' own chance were noise, in roots: a count's variance is its
        mean, at most."""
        return self.precision / (1 + self.precision * self.y.clamp_min(0) * chance)


def told_by_components(
    levels: Mapping[str, closed_form.Level],
    columns: Mapping[str, closed_form.Columns],
    middle: Mapping[str, torch.Tensor],
    *,
    half: float,
) -> torch.Tensor:
    """What components tell, in nats of a root: the sum of h log(1 + I/h), h being ``half``.

    One I for each column, the mutual information of a row and its component, or its parent's, and one for each place of
    children, that of a row's component and its parent's; ``middle``: logarithms of the one-ways (G,). Weak dependence
    counts in full, strong dependence less and less. Privacy: released answers only. **Source**: as ``fit_mixture``.
    """
    parts: list[torch.Tensor] = []
    for table, level in levels.items():
        sizes = torch.tensor([s.stop - s.start for s in columns[table].slices.values()])
        column = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        member = torch.nn.functional.one_hot(column, len(sizes)).to(level.probs)  # which bins are a column's, (G, J)
        own = (level.weights @ _apart(level.probs, middle[table])) @ member
        if isinstance(level, closed_form.Below):
            mass = level.mass.sum(1)
            above = (mass @ _apart(level.direct, middle[table])) @ member
            lean = level.lean @ (member / member.sum(0))
            own = (1 - lean) * own + lean * above
            least = (
                closed_form.LEAST_WEIGHT
            )  # of a parent's component on its children's, place by place, in equal parts
            mean, states = (level.weights / mass.sum().clamp_min(least)).clamp_min(least).log(), level.states
            parts.append((_apart(states, mean).sum(2) @ mass) / len(states))
        parts.append(own)
    released = torch.cat(parts).clamp_min(0)
    return (half * torch.log1p(released / half)).sum()


def _apart(probs: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """How far each component's bins are from those of all rows, (C, G), in nats."""
    return probs * (probs.clamp_min(closed_form.LEAST_WEIGHT).log() - base)


@dataclass(frozen=True, kw_only=True)
class Roughness:
    """``three`` (3, K): by table, every three bins that follow each other in a column of numbers."""

    three: Mapping[str, torch.Tensor]

    @classmethod
    def of(
        cls, schema: Dataset, known: Mapping[str, Known], columns: Mapping[str, closed_form.Columns], device: str
    ) -> Roughness:
        """The bins of all tables' own numbers and dates; tables without such have none."""
        result = {}
        for table, released in known.items():
            facts = schema.as_asked(table).columns
            sizes = {n: facts[n].size for n in columns[table].slices if facts[n].is_numeric}
            three = neighbours(released.histograms, released.groups, columns[table].slices, sizes)
            if three.shape[1]:
                result[table] = torch.as_tensor(three, device=device)
        return cls(three=result)

    def __call__(self, levels: Mapping[str, closed_form.Level], middle: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Half the sum over components and ``three`` of w c b**2, of roots' worth of rows; a number.

        w is the component's weight; b by how much its density over the column's own, ``middle`` (G,), bends, all as
        logarithms; c the geometric mean of the three's shares. Privacy: released answers only. **Source**: as
        ``solver.Bends``.
        """
        whole = torch.zeros(())
        for table, three in self.three.items():
            level, base = levels[table], middle[table]
            whole = whole + _bends(level.probs, level.weights, three, base)
            if isinstance(level, closed_form.Below):
                whole = whole + _bends(level.direct, level.mass.sum(1), three, base)
        return whole


def _bends(probs: torch.Tensor, weights: torch.Tensor, three: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """Of components (C, G) with their weights (C,)."""
    low, middle, high = ((probs[:, at].clamp_min(closed_form.LEAST_WEIGHT).log() - base[at]) for at in three)
    share = base[three].mean(0).exp()
    return (weights @ (low + high - 2 * middle) ** 2 @ share) / 2


LAST_STEPS, LAST_RATE = 300, 0.02
MET = 0.5  # squared errors a cell, in units of the noise, that the tables may keep


def root_last(
    root: str, columns: closed_form.Columns, given: closed_form.Logits, measured: Sequence[NestedMatrix]
) -> None:
    """Moves the columns of the root's components until the root's own tables are met within their noise; in place.

    They are known far better than others, and so few that all classes together can follow them. Privacy: released
    answers only.
    """
    own = [b for b in measured if b.table == root and b.view in ("rows", "one-way")]
    cells = sum(b.cells for b in own)
    variable = given.columns.requires_grad_()
    mover = Adam([variable])
    for step in range(LAST_STEPS):
        level = closed_form.of_root(given, columns)
        loss = torch.stack(
            [
                (b.precision * ((level.one_way[None] if b.view == "one-way" else level.own) - b.y) ** 2).sum()
                for b in own
            ]
        ).sum()
        if float(loss.detach()) <= MET * cells:
            break
        mover.move(torch.autograd.grad(loss, [variable]), rate=LAST_RATE * (1 - step / LAST_STEPS))
    variable.requires_grad_(False)


BY_NUMBER = ("steps by number", "next by number")  # views: rows with a next one, and these next ones
COUNTED: dict[View, float] = {"rows": 0.5, "steps": 0.8, "siblings": 0.8}  # part of a table that is told as plain rows
CHECK = 20  # steps between words of progress
FEWEST = 16  # components, however few roots there are
FEW_STEPS = 300  # in which these are found
SELDOM = 2.0  # by which logits of shared values start below none: where no answer tells, rows are not alike


_Place = tuple[str, str, str, bool, bool]  # of a block: table, view, above, whether folded, whether counted


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Fewer bins of a table's columns, for tables of two rows: where they stand, and which bins (G, F) are in each."""

    columns: closed_form.Columns
    matrix: np.ndarray

    @classmethod
    def of(cls, releases: Sequence[LinkedRelease], table: str, known: Known, columns: closed_form.Columns) -> Fold:
        """As the released tables have them; a column that stands in none has its own bins."""
        groups = dict(known.groups)
        for view, marginal, _ in _tables(releases):
            names = [placed(b.column) for b in marginal.bins]
            if names[0][0] == table and len(names) == 2 and coarsely(view, *names):
                groups |= {n: b.groups for (_, n, _), b in zip(names, marginal.bins, strict=True)}
        coarse = closed_form.Columns.of(Known(total=known.total, histograms=known.histograms, groups=groups))
        matrix = np.zeros((columns.size, coarse.size))
        for name, where in columns.slices.items():
            matrix[where.start + known.groups[name], coarse.slices[name].start + groups[name]] = 1
        return cls(columns=coarse, matrix=matrix)


def _tables(releases: Sequence[LinkedRelease]) -> Iterator[tuple[View, Marginal, np.ndarray]]:
    """(view, table, answer) of all that was asked beyond one-ways."""
    for release in (r for r in releases if r.question.purpose == TABLES):
        yield from ((release.question.view, marginal, values) for marginal, values in release.items())


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeFit:
    """A fit of related tables, of which columns and bins are ``known``."""

    schema: Dataset
    known: Mapping[str, Known]
    device: str = "cpu"

    @cached_property
    def columns(self) -> dict[str, closed_form.Columns]:
        """Where each table's bins stand."""
        return {t: closed_form.Columns.of(k) for t, k in self.known.items()}

    @property
    def total(self) -> float:
        """Number of roots."""
        return self.known[self.schema.root].total

    def mass(self, table: str, name: str) -> np.ndarray:
        """Rows in each bin of a column."""
        known = self.known[table]
        return np.bincount(known.groups[name], weights=known.histograms[name].mass)

    def real(self, x: np.ndarray) -> torch.Tensor:
        """On the device."""
        return torch.as_tensor(x, dtype=torch.float32, device=self.device)

    def blocks(self, releases: Sequence[LinkedRelease], sure: Mapping[Place, Sure]) -> list[NestedMatrix]:
        """All that was measured, one matrix for each view of each pair of tables; ``sure``: of moved tables."""
        columns, known = self.columns, self.known
        folds = {t: Fold.of(releases, t, known[t], columns[t]) for t in self.schema.downwards}
        result: dict[_Place, tuple[np.ndarray, np.ndarray]] = {}
        noisy: dict[_Place, float] = {}

        def lay(
            key: _Place, rows: slice, cols: slice, values: np.ndarray, sigma: Any, part: float, cells: float
        ) -> None:
            table, view, above, folded, _ = key
            size = folds[table].columns.size if folded else columns[table].size
            shape = (1 if view in ("one-way", "first", "last") else size, size if folded else columns[above].size)
            shape = (size, cols.stop) if view in BY_NUMBER else shape
            y, precision = result.setdefault(key, (np.zeros(shape), np.zeros(shape)))
            y[rows, cols] = values / self.total
            precision[rows, cols] = part * (self.total / sigma) ** 2
            noisy[key] = noisy.get(key, 0.0) + part * cells

        single, numbers = slice(0, 1), ByNumber(self.schema, releases, TABLES)
        for table in self.schema.downwards:
            for name, where in columns[table].slices.items():
                mass, unsure = self.mass(table, name), max(known[table].histograms[name].sigma, 1.0)
                lay((table, "one-way", table, False, False), single, where, mass, unsure, 1.0, mass.size)
        for view, marginal, values in _tables(releases):
            (table, first, other), *rest = places = [placed(b.column) for b in marginal.bins]
            if not rest:
                at = columns[table].slices[first]
                lay((table, view, table, False, False), single, at, values, marginal.sigma, 1.0, values.size)
                continue
            above, second, _ = rest[0]
            own = sure.get((table, view, marginal.columns), Sure(part=1.0, cells=float(marginal.cells)))
            cells, sigma = own.cells, marginal.sigma * own.part
            if view == "steps" and above != table:  # by the number of siblings
                key = (table, BY_NUMBER[other], above, False, False)
                lay(key, columns[table].slices[first], slice(0, values.shape[1]), values, sigma, 1.0, cells)
                continue
            folded = coarsely(view, *places)
            low, high = (folds[table].columns,) * 2 if folded else (columns[table], columns[above])
            both, plain = (low.slices[first], high.slices[second]), numbers.counted(view, marginal, values)
            part = 0.0 if plain is None else COUNTED[view]
            lay((table, view, above, folded, False), *both, values, sigma, 1 - part, cells)
            if plain is not None:
                lay((table, view, above, folded, True), *both, plain.values, plain.sigma * own.part, part, cells)
        return [
            NestedMatrix(
                table=table,
                view=view,
                above=above,
                y=self.real(y),
                precision=self.real(precision),
                fold=self.real(folds[table].matrix) if folded else None,
                counted=counted,
                cells=noisy[table, view, above, folded, counted],
            )
            for (table, view, above, folded, counted), (y, precision) in result.items()
        ]

    def start(self, options: TreeOptions, rng: np.random.Generator) -> dict[str, closed_form.Logits]:
        """Logits scattered around the one-ways; components of one parent lie nearer to each other."""
        out: dict[str, closed_form.Logits] = {}
        real = self.real
        for table in self.schema.downwards:
            key = self.schema.key_above(table)
            many = options.roots if key is None else options.children
            parents = 1 if key is None else options.roots if key.parent == self.schema.root else options.children
            base = self.centre(table)

            def scattered(size: int, base: np.ndarray = base) -> torch.Tensor:
                return real(base + options.spread * rng.standard_normal((size, len(base))))

            if key is None:
                out[table] = closed_form.Logits(columns=scattered(many), state=real(np.zeros((1, many))))
                continue
            state = options.mixing * rng.standard_normal((parents, many))
            later = last = None
            if key.most_children > 1:
                shape = (min(options.ranks, key.most_children) - 1, *state.shape)
                later = real(state + 0.1 * rng.standard_normal(shape))
            if key.order is not None and key.most_children > 1:
                last = real(state + 0.1 * rng.standard_normal(state.shape))
            even, more = np.zeros(len(self.columns[table].slices)), {}
            if is_long(key):
                more = {"keep": real(np.zeros(parents)), "again": real(even), "lasting": real(even + SELDOM)}
            out[table] = closed_form.Logits(
                columns=scattered(many),
                state=real(state),
                later=later,
                last=last,
                direct=scattered(parents),
                lean=real(even),
                shared=real(even + SELDOM if more else even - SELDOM),
                **more,
            )
        return out

    def centre(self, table: str) -> np.ndarray:
        """Logits (G,) of the one-ways."""
        base = np.zeros(self.columns[table].size)
        for name, where in self.columns[table].slices.items():
            mass = self.mass(table, name)
            base[where] = np.log(np.maximum(mass / max(mass.sum(), 1e-9), 1e-6))
        return base

    def of_model(self, levels: Mapping[str, closed_form.Level], block: NestedMatrix) -> torch.Tensor:
        """What the model says of a block."""
        level = levels[block.table]
        if block.view not in BY_NUMBER and block.above != block.table:
            schema, counted = self.schema, block.counted
            return closed_form.across(schema, self.columns, levels, block.table, block.above, counted=counted)
        if block.view == "one-way":
            return level.one_way[None]
        if block.view == "rows":
            return level.as_counted.own if isinstance(level, closed_form.Below) and block.counted else level.own
        assert isinstance(level, closed_form.Below)
        if block.view in BY_NUMBER:
            numbers = level.paired_numbers(far=block.view == BY_NUMBER[1])
            return closed_form.as_bins(numbers, self.columns[block.above], block.table)
        if block.view == "first":
            return level.first[None]
        if block.view == "last":
            return level.placed[-1:][0].mul(level.mass.sum(1)[:, None]).sum(0)[None]
        return level.far if block.view == "far" else level.paired(block.fold, counted=block.counted)

    def fit(
        self,
        measured: Sequence[NestedMatrix],
        options: TreeOptions,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress,
    ) -> list[dict[str, closed_form.Logits]]:
        """For each generator logits at which all tables agree within their noise, as far as steps and components allow.

        All starts move side by side, each operation at once for all.
        """
        schema, columns, total = self.schema, self.columns, self.total
        options = _fitting(options, measured, total)
        starts = [self.start(options, rng) for rng in rngs]
        middle = {t: self.real(self.centre(t)) for t in columns}
        uneven = Roughness.of(schema, self.known, columns, self.device)
        each = zip(*([t for one in start.values() for t in one.named.values()] for start in starts), strict=True)
        variables = [torch.stack(same).requires_grad_() for same in each]
        adam = Adam(variables)
        cells = torch.tensor([b.cells for b in measured], device=self.device)
        few = torch.tensor([(b.table, b.view) == (schema.root, "rows") for b in measured], device=self.device)
        y, plain = (torch.cat([getattr(b, n).flatten() for b in measured]) for n in ("y", "precision"))
        softened = torch.cat([b.softened(options.chance / max(total, 1.0)).flatten() for b in measured])
        block = torch.repeat_interleave(torch.tensor([b.y.numel() for b in measured], device=self.device))

        def terms(*tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            """Of one start, by how much each cell is off, and what pulls it."""
            result = closed_form.levels(schema, columns, _with(starts[0], tensors))
            off = torch.cat([self.of_model(result, b).flatten() for b in measured]) - y
            away = options.pull * told_by_components(result, columns, middle, half=options.half)
            return off, total * (away + options.smooth * uneven(result, middle))

        for step in range(options.steps):
            off, away = torch.vmap(terms)(*variables)
            squares = torch.where(few[block], softened, plain) * off.detach() ** 2
            seen = torch.zeros(len(rngs), len(cells), device=self.device).index_add_(1, block, squares)
            apart = seen.sum(1, keepdim=True) > options.stop * cells.sum()
            unmet = apart * torch.where(few & (seen > cells), options.root, 1.0)
            loss = (unmet[:, block] * softened * off**2).sum() + away.sum()
            gradients = torch.autograd.grad(loss, variables, materialize_grads=True)
            if step % CHECK == 0:
                told = seen.sum() / (len(rngs) * cells.sum()).clamp_min(1)
                progress(Share(step / options.steps, loss=float(told)))
            rate = options.last_rate + (options.rate - options.last_rate) * 0.5 * (1 + cos(pi * step / options.steps))
            adam.move(gradients, rate=rate)
        fitted = [_with(starts[0], [v.detach()[i].clone() for v in variables]) for i in range(len(rngs))]
        for logits in fitted:
            root_last(schema.root, columns[schema.root], logits[schema.root], measured)
        return fitted


def _with(like: Mapping[str, closed_form.Logits], tensors: Iterable[torch.Tensor]) -> dict[str, closed_form.Logits]:
    """The same logits with other values, in the order of their ``tensors``."""
    each = iter(tensors)
    return {t: replace(one, **{n: next(each) for n in one.named}) for t, one in like.items()}


def _fitting(options: TreeOptions, measured: Sequence[NestedMatrix], total: float) -> TreeOptions:
    """The options with no more components than the answers bear out; fewer are found in fewer steps, pulled harder."""
    noise = [float((total / b.precision[b.precision > 0].sqrt()).median()) for b in measured if b.view == "rows"]
    most = max(int(total / (options.each * max(float(np.mean(noise)), 1e-9))), FEWEST) if noise else FEWEST
    part = min(1.0, most / options.roots)
    steps = max(int(options.steps * min(1.0, 2 * part)), FEW_STEPS)
    return replace(
        options,
        roots=min(options.roots, most),
        children=min(options.children, most),
        steps=min(options.steps, steps),
        pull=options.pull / max(part, 0.5),
        stop=options.stop + options.sooner * (1 - part),
    )
