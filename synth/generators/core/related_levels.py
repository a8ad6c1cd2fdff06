"""The tables that a mixture over roots implies, in closed form; torch, so that gradients follow.

A root has a component z. A row of a child table has a component u of that table's own, whose chances hang on the
parent's component z and on the row's place: of events, its rank. Given both, columns are independent: each column
is drawn as z has it, with a chance of that column's own, or as u has it; and of the former some, with another such
chance, is one value drawn once for all rows of a parent. What stays the same from row to row of one parent is z's or
this value, what belongs together within a row is u's. **Source**: mixtures of products for households, Hu, Reiter
and Wang, arXiv 1412.2282; shared components, columns of two origins, values shared by rows, first and later events,
and closed-form tables are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache

import numpy as np

from synth.generators.core.columns import Histogram
from synth.generators.core.related_tables import Known
from synth.lazy import torch
from synth.questions.linked import FAR
from synth.schema.constraints import NUMBER
from synth.schema.dataset import Dataset, number_of


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where each column's bins stand among the table's (G,), by column.

    ``numbers``: of a number of children whose bins hold several numbers, the share (B, most + 1) of each in its bin.
    """

    slices: Mapping[str, slice]
    size: int
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Known) -> Columns:
        """In the order of the table's columns."""
        slices, start = {}, 0
        for name, size in known.sizes.items():
            slices[name] = slice(start, start + size)
            start += size
        numbers = {n: _within(known.histograms[n], known.groups[n]) for n in slices if n.startswith(NUMBER)}
        return cls(slices=slices, size=start, numbers={n: w for n, w in numbers.items() if w.shape[0] < w.shape[1]})

    @cached_property
    def of_one(self) -> np.ndarray:
        """Which two bins (G, G) are of one column."""
        column = np.repeat(np.arange(len(self.slices)), [s.stop - s.start for s in self.slices.values()])
        return column[:, None] == column


def _within(histogram: Histogram, groups: np.ndarray) -> np.ndarray:
    """The share (B, cells) of each position in its bin; those of a leaf are alike."""
    widths = np.diff(np.append(histogram.starts, histogram.cells))
    owner = np.repeat(groups, widths)
    mass = np.repeat(np.maximum(histogram.mass, 0) / widths, widths)
    sums, many = np.bincount(owner, mass), np.bincount(owner)
    out = np.zeros((len(many), histogram.cells))
    out[owner, np.arange(histogram.cells)] = np.where(
        sums[owner] > 0, mass / np.maximum(sums[owner], 1e-12), 1 / many[owner]
    )
    return out


@dataclass(kw_only=True)
class Logits:
    """What is fitted of one table: ``columns`` (C, G); ``state`` (1 or C_parent, C), of events the first one's.

    Of a child: ``direct`` (C_parent, G), columns as the parent's component has them; ``lean`` (J,), which of both a
    column follows; ``shared`` (J,), which part of the former is one value for all rows of a parent; ``later``
    (R, C_parent, C), as ``state`` of the second row, the third, ..., one for all after it too, None where a parent has
    one row at most; ``last`` (C_parent, C), of the last event or the only one, None where rows are not in order;
    ``keep`` (C_parent,), ``again`` (J,), ``lasting`` (J,), of long histories (``related_model.py``).
    """

    columns: torch.Tensor
    state: torch.Tensor
    direct: torch.Tensor | None = None
    lean: torch.Tensor | None = None
    shared: torch.Tensor | None = None
    later: torch.Tensor | None = None
    last: torch.Tensor | None = None
    keep: torch.Tensor | None = None
    again: torch.Tensor | None = None
    lasting: torch.Tensor | None = None

    @property
    def named(self) -> dict[str, torch.Tensor]:
        """All that is fitted."""
        return {f.name: t for f in fields(self) if (t := getattr(self, f.name)) is not None}


@dataclass(frozen=True, kw_only=True)
class Places:
    """Counts for parents with 1, 2, ..., ``most`` rows. ``rows`` (most, K): how many of their rows are in each place;
    ``pairs`` (most, K, K): how many pairs of a row and the next, or of any two where rows are in no order;
    ``first`` (most, K), in which the first row is; ``far`` (most, K, K), as ``pairs``, of a row and that half a history
    later.

    Rows in no order have places too, dealt by chance, each row another one. Rows that all had the same chances could
    only be alike more often than by chance; of a household there is one head, and of an account one order for its rent.
    """

    rows: torch.Tensor
    pairs: torch.Tensor
    first: torch.Tensor
    far: torch.Tensor

    @cached_property
    def turns(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Places of a row, and of one that may follow it, (T,) each."""
        one, other = self.pairs.sum(0).nonzero(as_tuple=True)
        return one, other

    @cached_property
    def part(self) -> torch.Tensor:
        """Of a parent's rows what is in each place, (most, K)."""
        return self.rows / _counted(self.rows.T)[:, None]

    def once(self, pairs: torch.Tensor) -> torch.Tensor:
        """``pairs`` as shares of all of a parent; a single child has none."""
        return pairs / pairs.sum((1, 2), keepdim=True).clamp_min(1)


@lru_cache
def places(most: int, ranks: int, *, last: bool, device: str = "cpu", dtype: torch.dtype | None = None) -> Places:
    """``ranks``: places of the first row, the second, ..., one for all after these.

    ``last``: of rows in order; the last one, or the only one, has a place of its own, after the others.

    >>> places(3, 2, last=True).rows.tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """
    size = ranks + last
    rows, pairs, first = np.zeros((most, size)), np.zeros((most, size, size)), np.zeros((most, size))
    far = np.zeros_like(pairs)
    for many in range(1, most + 1):
        own = [min(rank, ranks - 1) for rank in range(many)]
        if last:
            own[-1] = size - 1
        first[many - 1, own[0]] = 1
        np.add.at(rows[many - 1], own, 1)
        if last:
            np.add.at(pairs[many - 1], (own[:-1], own[1:]), 1)
            if many >= FAR:
                np.add.at(far[many - 1], (own[: -(many // 2)], own[many // 2 :]), 1)
        else:
            pairs[many - 1] = np.outer(rows[many - 1], rows[many - 1]) - np.diag(rows[many - 1])
    counts = {"rows": rows, "pairs": pairs, "first": first, "far": far}
    return Places(**{n: torch.as_tensor(c, dtype=dtype, device=device) for n, c in counts.items()})


LEAST_WEIGHT = 1e-12
MOST_STAYED = 0.99  # chance that a component is kept from row to row


@dataclass(kw_only=True)
class Level:
    """One table of the model: ``probs`` (C, G); ``weights`` (C,), roots' worth of rows in each component."""

    probs: torch.Tensor
    weights: torch.Tensor
    state: torch.Tensor

    @property
    def one_way(self) -> torch.Tensor:
        """Columns of all rows, (G,)."""
        return self.weights @ self.probs

    @property
    def known(self) -> torch.Tensor:
        """Columns of each component's rows, (C, G)."""
        return self.probs

    @property
    def own(self) -> torch.Tensor:
        """Two columns of one row, (G, G)."""
        return (self.weights[:, None] * self.probs).T @ self.probs


@dataclass(kw_only=True)
class Below(Level):
    """A child's table. ``state`` (C_parent, C), ``later`` (R, C_parent, C), ``last`` (C_parent, C): chances, by place
    (``Places``), ``last`` where rows are in order. ``direct`` (C_parent, G); ``lean`` (G,): the part of a column
    that follows ``direct``, of long histories in all rows of a parent or in none, of which ``shared`` (G,) is one value
    for all of a parent's rows; ``of_one`` (G, G): 1 for two bins of one column. ``keep`` (C_parent,), ``again`` (G,)
    and ``lasting`` (G,): of long histories (``related_model.py``).

    ``mass`` (C_parent, most): the parents' weights by their number of children; ``joint`` (C_parent, C): roots' worth
    of rows by both components; ``by_number`` (most, C): the weights parted by how many siblings there are.
    """

    later: torch.Tensor | None
    last: torch.Tensor | None
    direct: torch.Tensor
    lean: torch.Tensor
    shared: torch.Tensor
    of_one: torch.Tensor
    keep: torch.Tensor | None
    again: torch.Tensor | None
    lasting: torch.Tensor | None
    mass: torch.Tensor
    joint: torch.Tensor
    by_number: torch.Tensor

    def __post_init__(self) -> None:
        """Both origins of columns, by their chances."""
        self.ours, self.theirs = (1 - self.lean) * self.probs, self.lean * self.direct
        self._mixed = self.joint @ self.ours  # of the rows of each of the parent's components

    @cached_property
    def given(self) -> torch.Tensor:
        """Columns of the rows of each of the parent's components, roots' worth, (C_parent, G)."""
        return self.mass.sum(1)[:, None] * self.theirs + self._mixed

    @property
    def known(self) -> torch.Tensor:
        """Columns of each component's rows, whosever children they are, (C, G)."""
        return self.ours + self.joint.T @ self.theirs / self.weights.clamp_min(LEAST_WEIGHT)[:, None]

    @property
    def numbers(self) -> torch.Tensor:
        """Columns by how many siblings there are, (most, G)."""
        return self.mass.T @ self.theirs + self.by_number @ self.ours

    @property
    def one_way(self) -> torch.Tensor:
        """Columns of all rows, (G,)."""
        return self.given.sum(0)

    @property
    def own(self) -> torch.Tensor:
        """Two columns of one row, (G, G)."""
        mixed = self.theirs.T @ (self.given + self._mixed)  # theirs with theirs, and twice with ours
        return (self.weights[:, None] * self.ours).T @ self.ours + (mixed + mixed.T) / 2

    @property
    def first(self) -> torch.Tensor:
        """Columns of first events, (G,)."""
        return torch.einsum("zk,kzg->g", self.mass @ self._counts.first, self.placed)

    def paired(self, fold: torch.Tensor | None = None, *, counted: bool = False) -> torch.Tensor:
        """A column of one row and one of the next, or of a sibling, (G, G); (F, F) of joined bins, ``fold`` (G, F).

        ``counted``: each pair weighs as much as its parent.
        """
        whole = self._pairs[counted]
        return whole if fold is None else fold.T @ whole @ fold

    @cached_property
    def _pairs(self) -> list[torch.Tensor]:
        """``paired``, and the same ``counted``."""
        pairs, out = self._counts.pairs, []
        for each in (self._counts.once(pairs), pairs):
            mass = torch.einsum("zn,nkl->klz", self.mass, each)
            shared = mass.sum((0, 1))[:, None] * (1.0 if self.lasting is None else self.lasting)
            both = _of_two(self.placed, mass) + self._of_shared(shared) + self._of_origins(mass)
            out.append(both if self.keep is None else both + self._of_stayed(mass))
        return out

    def _of_stayed(self, mass: torch.Tensor) -> torch.Tensor:
        """By how much tables (G, G) of a row and the next differ since components are kept; ``mass`` (K, K, C_parent):
        of pairs, by both places."""
        assert self.keep is not None
        assert self.again is not None
        (one, other), places = self._counts.turns, len(self.states)
        before, after = self.states.index_select(0, one), self.states.index_select(0, other)
        both = self.keep[:, None] * torch.minimum(before, after)  # of pairs in one component
        paired = mass.flatten(0, 1).index_select(0, one * places + other)[..., None]
        left = paired / (1 - both.sum(2, keepdim=True))
        moved = torch.einsum("tzg,tzh->gh", left * ((before - both) @ self.ours), (after - both) @ self.ours)
        stayed = (paired * both).flatten(0, 1).sum(0)
        whole = moved - _of_two(self._by_place, mass) + self._repeated(stayed, stayed[:, None] * self.again)
        return whole * self._ours_again

    def _repeated(self, stayed: torch.Tensor, again: torch.Tensor) -> torch.Tensor:
        """Tables (G, G) of rows that share a component, ``stayed`` (C,) of each, and a value, ``again`` (C, G)."""
        plain, weighed = (stayed[:, None] * self.ours).T @ self.ours, again * self.probs
        apart = weighed.T @ self.probs * self.of_one
        return plain + (torch.diag(weighed.sum(0)) - apart) * (1 - self.lean) ** 2

    @property
    def far(self) -> torch.Tensor:
        """Columns of a row with themselves half a history later, (G, G); other cells are no table's.

        Components last that long by chance alone, about as those of the rows in between.
        """
        pairs, many = self._counts.far, _counted(self.mass)
        mass = torch.einsum("zn,nkl->klz", self.mass, self._counts.once(pairs))
        out = _of_two(self.placed, mass) + self._of_origins(mass)
        if self.keep is None or self.again is None or self.lasting is None or self.later is None:
            return out + self._of_shared(mass.sum((0, 1))[:, None])
        ahead, all_far = (many // 2)[:, None], self.mass * (pairs.sum((1, 2)) > 0)
        out = out + self._of_shared(all_far @ self.lasting**ahead)
        long = all_far * self.keep[:, None] ** (many // 2)
        stayed, mean = long.sum(1, keepdim=True) * self.later[-1], self.later[-1] @ self.ours
        apart = (stayed.sum(1, keepdim=True) * mean).T @ mean
        stays = self._repeated(stayed.sum(0), self.later[-1].T @ (long @ self.again**ahead)) - apart
        return out + stays * self._ours_again

    def _of_shared(self, mass: torch.Tensor) -> torch.Tensor:
        """By how much tables of a column with itself, (G, G), differ since two rows share a value; ``mass``
        (C_parent, 1 or G): of pairs that do."""
        both, weighed = self.lean * self.shared, mass * self.direct
        apart = weighed.T @ self.direct * self.of_one
        apart = torch.diag(weighed.sum(0)) - apart
        return apart * both * both[:, None] if self.lasting is None else apart * both

    @property
    def _ours_again(self) -> torch.Tensor:
        """Factors (G, G): of a column in two rows of one parent both or neither follow their own component."""
        return 1 + self.of_one * (1 / (1 - self.lean).clamp_min(LEAST_WEIGHT) - 1)

    def _of_origins(self, mass: torch.Tensor) -> torch.Tensor | float:
        """By how much tables of a column with itself, (G, G), differ since in long histories a column follows one
        origin in all rows of a parent; ``mass`` (K, K, C_parent): of pairs, by both places."""
        if self.lasting is None:
            return 0.0
        return _of_two(self.direct - self.states @ self.probs, mass) * self.of_one * self.lean * (1 - self.lean)

    @cached_property
    def states(self) -> torch.Tensor:
        """Chances of components of the rows in each place, (K, C_parent, C)."""
        return _by_place(self.state, self.later, self.last)

    @property
    def _counts(self) -> Places:
        return _places(self.mass, self.later, self.last)

    @cached_property
    def _by_place(self) -> torch.Tensor:
        return self.states @ self.ours

    @cached_property
    def placed(self) -> torch.Tensor:
        """Columns of the rows in each place, of each of the parent's components, (K, C_parent, G)."""
        return self.theirs + self._by_place

    def paired_numbers(self, *, far: bool) -> torch.Tensor:
        """Columns of rows with a next one (``far``: of the next ones) by the number of siblings, (G, most + 1)."""
        each = self._counts.once(self._counts.pairs).sum(1 if far else 2)
        out = torch.einsum("zn,nk,kzg->ng", self.mass, each, self.placed)
        return torch.cat([torch.zeros_like(out[:1]), out]).T

    @cached_property
    def as_counted(self) -> Below:
        """The same rows, each weighing as much as its parent."""
        return replace(self, **_weighed(self.mass * _counted(self.mass), self.states, self._counts))


def _by_place(state: torch.Tensor, later: torch.Tensor | None, last: torch.Tensor | None) -> torch.Tensor:
    """Of the first row, of those after it, of the last one: (K, C_parent, C)."""
    return torch.cat([state[None], *([] if later is None else [later]), *([] if last is None else [last[None]])])


def _of_two(given: torch.Tensor, mass: torch.Tensor) -> torch.Tensor:
    """Columns of two rows, (G, G), by what each place's rows are like, ``given`` (K, C_parent, G), and the weight of
    each two places, ``mass`` (K, K, C_parent)."""
    return torch.einsum("kzg,kzh->gh", given, torch.einsum("klz,lzh->kzh", mass, given))


def _places(mass: torch.Tensor, later: torch.Tensor | None, last: torch.Tensor | None) -> Places:
    """The places of rows of which these are the chances."""
    ranks = 1 if later is None else 1 + len(later)
    return places(mass.shape[1], ranks, last=last is not None, device=str(mass.device), dtype=mass.dtype)


def _real(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(array, dtype=like.dtype, device=like.device)


def _counted(mass: torch.Tensor) -> torch.Tensor:
    """1, 2, ... for the columns of a matrix."""
    return torch.arange(1, mass.shape[1] + 1, dtype=mass.dtype, device=mass.device)


def levels(schema: Dataset, columns: Mapping[str, Columns], logits: Mapping[str, Logits]) -> dict[str, Level]:
    """Every table of the model, from the root down."""
    out: dict[str, Level] = {}
    for table in schema.downwards:
        given, key = logits[table], schema.key_above(table)
        if key is None:
            out[table] = of_root(given, columns[table])
        else:
            probs = _parted(given.columns, columns[table])
            number = out[key.parent].probs[:, columns[key.parent].slices[number_of(table)]]
            within = columns[key.parent].numbers.get(number_of(table))  # of bins of several numbers, each number's part
            number = number if within is None else number @ _real(within, number)
            # rows below hang on u, and so must their number
            fixed = {number_of(k.child) for k in schema.keys_below(table)}
            out[table] = child(out[key.parent].weights, number, probs, given, columns[table], fixed)
    return out


def as_bins(numbers: torch.Tensor, columns: Columns, child: str) -> torch.Tensor:
    """A table (G, most + 1) by each number of children as one by the bins (G, B) of these."""
    within = columns.numbers.get(number_of(child))
    return numbers if within is None else numbers @ _real((within > 0).T.astype(float), numbers)


def of_root(given: Logits, columns: Columns) -> Level:
    """The root's table."""
    probs = _parted(given.columns, columns)
    return Level(probs=probs, weights=given.state[0].softmax(0), state=given.state.softmax(1))


def _parted(logits: torch.Tensor, columns: Columns) -> torch.Tensor:
    """Chances of bins, column by column."""
    return torch.cat([logits[:, s].softmax(1) for s in columns.slices.values()], 1)


def child(
    above: torch.Tensor,
    number: torch.Tensor,
    probs: torch.Tensor,
    given: Logits,
    columns: Columns,
    fixed: AbstractSet[str],
) -> Below:
    """A child's table. ``above`` (C_parent,): the parent's weights; ``number`` (C_parent, most + 1): of children.

    ``fixed``: columns that follow the row's own component alone.
    """
    assert given.direct is not None
    assert given.lean is not None
    assert given.shared is not None
    state = given.state.softmax(1)
    later = None if given.later is None else given.later.softmax(2)
    mass = above[:, None] * number[:, 1:]
    free = torch.tensor([float(n not in fixed) for n in columns.slices]).to(mass)
    widths = torch.tensor([s.stop - s.start for s in columns.slices.values()]).to(mass.device)
    lean, shared = (part.repeat_interleave(widths) for part in (given.lean.sigmoid() * free, given.shared.sigmoid()))
    last = None if given.last is None else given.last.softmax(1)
    keep = None if given.keep is None else MOST_STAYED * given.keep.sigmoid()
    again, lasting = (
        None if part is None else part.sigmoid().repeat_interleave(widths) for part in (given.again, given.lasting)
    )
    return Below(
        probs=probs,
        state=state,
        later=later,
        last=last,
        direct=_parted(given.direct, columns),
        lean=lean,
        shared=shared,
        of_one=_real(columns.of_one, mass),
        keep=keep,
        again=again,
        lasting=lasting,
        **_weighed(mass, _by_place(state, later, last), _places(mass, later, last)),
    )


def _weighed(mass: torch.Tensor, states: torch.Tensor, counts: Places) -> dict[str, torch.Tensor]:
    """What follows from the weights of a child's rows, ``mass`` (C_parent, most): by both components, by number."""
    joint = torch.einsum("zk,kzc->zc", mass @ counts.part, states)
    by_number = torch.einsum("zn,nk,kzc->nc", mass, counts.part, states)
    return {"mass": mass, "joint": joint, "weights": joint.sum(0), "by_number": by_number}


def across(
    schema: Dataset,
    columns: Mapping[str, Columns],
    level_estimates: Mapping[str, Level],
    table: str,
    above: str,
    *,
    counted: bool = False,
) -> torch.Tensor:
    """A row's columns by those of its ancestor, (G, G_above); ``counted``: each row weighs as much as its parent."""
    level, *higher = (level_estimates[t] for t in schema.upwards(table))
    way = schema.upwards(table)
    branch = way[way.index(above) - 1]  # the ancestor's child on the way down
    assert isinstance(level, Below)
    level = level.as_counted if counted else level
    whole, numbers = level.given, level.numbers
    for mid in higher[: way.index(branch)]:
        assert isinstance(mid, Below)
        each = whole / mid.weights.clamp_min(LEAST_WEIGHT)[:, None]
        whole, numbers = mid.joint @ each, mid.by_number @ each
    plain = whole.T @ level_estimates[above].known
    where = columns[above].slices[number_of(branch)]
    none = torch.zeros_like(numbers.T[:, :1])
    binned = as_bins(torch.cat([none, numbers.T], 1), columns[above], branch)
    return torch.cat([plain[:, : where.start], binned, plain[:, where.stop :]], 1)
