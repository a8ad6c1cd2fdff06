"""The search for rows that agree with all tables of totals: fewer and fewer units off, until none is.

What is off is the sum, over all cells of all tables, of the squared number of rows beyond what the cell may have. A
change gives one column of a row another value; an exchange swaps one or two columns between two rows, and so keeps
what tables say of these columns alone. Thousands of random changes or exchanges are weighed at a time, those that
bring rows nearer are made; where none does any more, some that leave it as it is, and later a few that do not.

The last units: a whole-number program chooses which of many single changes, made together, leave no cell off. Each
candidate moves a row from a cell to another in some tables. The fewest that together leave the least off are a sparse
problem, which HiGHS solves exactly where little is off; where its time is over before, what it has by then is taken if
that helps.

Privacy: released answers and public facts only: rows here are synthetic ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from synth.lazy import optimize, sparse
from synth.schema.published_totals import PublishedTotals


class Atoms:
    """What all tables together tell apart of a column's values: ``size`` sets of positions."""

    def __init__(self, column: str, totals: PublishedTotals) -> None:
        parts = [p for t in totals.tables for p in t.parts if p.column == column]
        self.column, self.cells = column, parts[0].cells
        self.starts = np.unique(np.concatenate([p.starts for p in parts]))
        ends = np.append(self.starts[1:], self.cells)
        self._widths = ends - self.starts
        groups = np.stack([p.of(self.starts) for p in parts])
        _, first, inverse = np.unique(groups, axis=1, return_index=True, return_inverse=True)
        self._of_leaf, self.size = np.asarray(inverse).reshape(-1), len(first)
        self._example = self.starts[first]

    def of(self, positions: np.ndarray) -> np.ndarray:
        """The atom of each position."""
        return self._of_leaf[np.searchsorted(self.starts, positions, side="right") - 1]

    def example(self) -> np.ndarray:
        """A position of each atom, (size,)."""
        return self._example

    def drawn(self, atoms: np.ndarray, rng: np.random.Generator, *, seen: np.ndarray) -> np.ndarray:
        """A position within each of these atoms: one that a row of the ``seen`` positions has, else any as likely."""
        own = self.of(seen)
        order = np.argsort(own, kind="stable")
        ends = np.cumsum(np.bincount(own, minlength=self.size))
        count = np.diff(np.append(0, ends))[atoms]
        at = (ends[atoms] - count) + (rng.random(len(atoms)) * count).astype(np.int64)
        out = seen[order[np.minimum(at, len(order) - 1)]]
        for atom in np.unique(atoms[count == 0]):
            which, leaves = np.flatnonzero((atoms == atom) & (count == 0)), np.flatnonzero(self._of_leaf == atom)
            widths = self._widths[leaves]
            leaf = leaves[rng.choice(len(leaves), size=len(which), p=widths / widths.sum())]
            out[which] = self.starts[leaf] + (rng.random(len(which)) * self._widths[leaf]).astype(np.int64)
        return out


class Layout:
    """The tables of totals over atoms: a row's cell in table t is the sum of ``steps[t][v]`` at its atoms."""

    def __init__(self, totals: PublishedTotals) -> None:
        self.totals, self.columns = totals, totals.columns
        self.atoms = [Atoms(c, totals) for c in self.columns]
        at = {c: i for i, c in enumerate(self.columns)}
        self.steps: list[dict[int, np.ndarray]] = []
        for table in totals.tables:
            strides = np.append(np.cumprod([p.size for p in table.parts][:0:-1])[::-1], 1).astype(np.int64)
            self.steps.append(
                {
                    at[p.column]: p.of(self.atoms[at[p.column]].example()) * int(s)
                    for p, s in zip(table.parts, strides, strict=True)
                }
            )
        self.low = [t.low.ravel() for t in totals.tables]
        self.high = [t.high.ravel() for t in totals.tables]
        self.touching = [[t for t, s in enumerate(self.steps) if v in s] for v in range(len(self.columns))]

    def coded(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """The atoms (n, V) of rows of positions."""
        return np.stack([a.of(rows[a.column]) for a in self.atoms], axis=1).astype(np.int32)

    def cells(self, table: int, atoms: np.ndarray) -> np.ndarray:
        """The cell of each row (n, V) in a table."""
        out = np.zeros(len(atoms), dtype=np.int64)
        for v, step in self.steps[table].items():
            out += step[atoms[:, v]]
        return out


Propose = Callable[[int, np.ndarray], np.ndarray]  # column and rows (m,): atoms (m,) that a model gives them
Broken = Callable[[np.ndarray, np.ndarray], np.ndarray]  # rows (m,), their atoms (m, V): which break a rule

TOGETHER = 20_000  # changes weighed at a time
TRIES = 3  # values weighed for a row where rows are many
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)  # of the changes that help, made together if that helps most
PAIRED = 0.1  # part of the exchanges that swap two columns
NEAR, SOON = 6, 20  # squared rows off, at which so many sweeps without any gain leave the rest to ``finished``
HEAT, TURN = 0.3, 3  # of the sweeps that make changes which do not help; by turns with sweeps that make none
STALE = 40  # sweeps without any gain after which the search ends
SWEEPS = 400  # of exchanges and changes, at most
BY_MODEL = 12  # sweeps in which only what the model itself draws is taken
MANY = 200  # changes that help, from which on parts of them are tried
PLATEAU = 0.2  # part of the changes that leave it as far off which are made


class Search:
    """Rows as atoms (n, V), changed in place until they agree. ``off``: squared rows beyond what cells may have."""

    def __init__(
        self,
        layout: Layout,
        atoms: np.ndarray,
        rng: np.random.Generator,
        *,
        propose: Propose | None = None,
        broken: Broken | None = None,
    ) -> None:
        self.layout, self.atoms, self.rng = layout, atoms, rng
        self._propose, self._broken = propose, broken
        self.cells = [layout.cells(t, atoms) for t in range(len(layout.steps))]
        sizes = [len(low) for low in layout.low]
        self.counts = [np.bincount(c, minlength=s) for c, s in zip(self.cells, sizes, strict=True)]

    @property
    def off(self) -> int:
        """Squared rows beyond what cells may have, of all tables."""
        return sum(int(self._cost(t, self.counts[t]).sum()) for t in range(len(self.counts)))

    def misses(self, t: int) -> bool:
        """Whether a table has cells that the rows disagree with."""
        return bool(self._cost(t, self.counts[t]).any())

    def run(self, *, sweeps: int = SWEEPS, progress: Callable[[int, int], None] | None = None) -> bool:
        """Searches until hardly anything is off, or no more is gained; whether the rows agree."""
        heat, since = 0.0, 0
        now = best = self.off
        for sweep in range(sweeps if now else 0):
            for v in self.rng.permutation(len(self.layout.columns)).tolist():
                if self._propose is not None and sweep < BY_MODEL:
                    self._changes(v, by_model=True, heat=0.0)
                    continue
                if self._changes(v, by_model=False, heat=heat) < MANY:
                    self._exchanges(v, heat=heat)
            now = self.off
            if progress is not None:
                progress(sweep, now)
            since = 0 if now < best else since + 1
            best = min(best, now)
            heat = HEAT if since >= 2 and since // TURN % 2 else 0.0
            if now == 0 or since > (SOON if now <= NEAR else STALE):
                break
        return now == 0

    def _cost(self, t: int, counts: np.ndarray) -> np.ndarray:
        low, high = self.layout.low[t], self.layout.high[t]
        return np.maximum(np.maximum(low - counts, counts - high), 0) ** 2

    def _at(self, t: int, cells: np.ndarray, shift: np.ndarray | int) -> np.ndarray:
        """By how much the cells' cost grows when their counts do by ``shift``."""
        counts = self.counts[t][cells]
        low, high = self.layout.low[t][cells], self.layout.high[t][cells]
        before = np.maximum(np.maximum(low - counts, counts - high), 0)
        after = np.maximum(np.maximum(low - counts - shift, counts + shift - high), 0)
        return after * after - before * before

    def wrong_rows(self, v: int, most: int) -> np.ndarray:
        """Rows in cells that hold too many, of the tables that count by the column; some of the others too."""
        inside = np.zeros(len(self.atoms), dtype=bool)
        for t in self.layout.touching[v]:
            under = (self.counts[t] < self.layout.low[t]).any()
            over = self.counts[t] > (self.layout.low[t] if under else self.layout.high[t])
            if over.any():
                inside |= over[self.cells[t]]
        at = np.flatnonzero(inside)
        return self.rng.choice(at, most, replace=False) if len(at) > most else at

    def _changes(self, v: int, *, by_model: bool, heat: float) -> int:
        """Single rows get another value in column v; how many."""
        size = self.layout.atoms[v].size
        rows = self.wrong_rows(v, TOGETHER) if size > 1 else np.zeros(0, dtype=np.int64)
        if not len(rows):
            return 0
        if by_model:
            assert self._propose is not None
            new = self._propose(v, rows)
            delta = self._delta(v, rows, new)
        else:
            new, delta = self._best(v, rows, size)
        return self._make([v], rows, new[:, None], delta, heat)

    def _best(self, v: int, rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The best of all atoms for each row, or of a few at random where rows are many; and its delta."""
        tries = min(size, max(1, TOGETHER // len(rows)))
        everything = tries == size
        best, lowest = self.atoms[rows, v].astype(np.int64), np.full(len(rows), np.inf)
        for k in range(size if everything else max(tries, TRIES)):
            new = np.full(len(rows), k) if everything else self.rng.integers(0, size, len(rows))
            result = self._delta(v, rows, new) + self.rng.random(len(rows)) * 0.5
            result[new == self.atoms[rows, v]] = np.inf
            better = result < lowest
            best, lowest = np.where(better, new, best), np.where(better, result, lowest)
        return best, np.where(np.isfinite(lowest), np.floor(lowest), 1e9)

    def _delta(self, v: int, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
        """By how much it gets further off when each of the rows alone takes this atom in column v."""
        out = np.zeros(len(rows), dtype=np.int64)
        old = self.atoms[rows, v]
        for t in self.layout.touching[v]:
            step, cells = self.layout.steps[t][v], self.cells[t][rows]
            after = cells - step[old] + step[new]
            shifted = after != cells
            out += np.where(shifted, self._at(t, cells, -1) + self._at(t, after, 1), 0)
        return out

    def _exchanges(self, v: int, heat: float) -> None:
        """Pairs of rows swap column v, or v and another."""
        n = len(self.atoms)
        first = self.wrong_rows(v, TOGETHER // 2)
        if not len(first) or n < 2:
            return
        first = self.rng.choice(first, TOGETHER)
        second = self.rng.integers(0, n, TOGETHER)
        alike = self._alike(v, first[: 4 * TOGETHER // 5])
        second[: len(alike)] = alike  # the others at random: where much is off, they do more
        others = [w for w in range(len(self.layout.columns)) if w != v]
        both = [v, int(self.rng.choice(others))] if others and self.rng.random() < PAIRED else [v]
        apart = (self.atoms[first][:, both] != self.atoms[second][:, both]).any(1)
        first, second = first[apart], second[apart]
        self._swap(both, first, second, heat)

    def _alike(self, v: int, rows: np.ndarray) -> np.ndarray:
        """For each row another one at random that all tables but one or two see in the same place, but for column v.

        An exchange of v between them changes these one or two tables alone.
        """
        wrong = [t for t in self.layout.touching[v] if len(self.layout.steps[t]) > 1 and self.misses(t)]
        if not wrong:
            return np.zeros(0, dtype=np.int64)
        free = {int(self.rng.choice(wrong))}
        if self.rng.random() < 0.5:
            free.add(int(self.rng.choice(self.layout.touching[v])))
        key = np.zeros(len(self.atoms), dtype=np.uint64)
        for t in self.layout.touching[v]:
            if t not in free:
                place = (self.cells[t] - self.layout.steps[t][v][self.atoms[:, v]]).astype(np.uint64)
                key += place * np.uint64(self.rng.integers(1, 1 << 62, dtype=np.uint64) | np.uint64(1))
        order = np.argsort(key, kind="stable")
        values = key[order]
        begins = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        group = np.cumsum(np.append(0, (values[1:] != values[:-1]).astype(np.int64)))
        sizes = np.diff(np.append(begins, len(values)))
        own = np.empty(len(order), dtype=np.int64)
        own[order] = group
        at = own[rows]
        return order[begins[at] + (self.rng.random(len(rows)) * sizes[at]).astype(np.int64)]

    def _swap(self, columns: Sequence[int], one: np.ndarray, other: np.ndarray, heat: float) -> None:
        delta = np.zeros(len(one), dtype=np.int64)
        for t, steps in enumerate(self.layout.steps):
            inside = [v for v in columns if v in steps]
            if not inside or len(inside) == len(steps):  # a table of these columns alone does not change
                continue
            shift = np.zeros(len(one), dtype=np.int64)
            for v in inside:
                shift += steps[v][self.atoms[other, v]] - steps[v][self.atoms[one, v]]
            a, b = self.cells[t][one], self.cells[t][other]
            delta += self._both(t, a, a + shift, b, b - shift)
        new = np.concatenate([self.atoms[other][:, columns], self.atoms[one][:, columns]])
        self._make(columns, np.concatenate([one, other]), new, np.concatenate([delta, delta]), heat, pairs=True)

    def _both(self, t: int, a: np.ndarray, a2: np.ndarray, b: np.ndarray, b2: np.ndarray) -> np.ndarray:
        """The change of a table's cost when rows leave a and b and enter a2 and b2."""
        out = np.zeros(len(a), dtype=np.int64)
        shifted = (a != a2) & ~((a2 == b) & (b2 == a))
        near = shifted & ((a == b) | (a == b2) | (a2 == b) | (a2 == b2))
        for places, signs in (((a, b), -1), ((a2, b2), 1)):
            for cells in places:
                apart = np.flatnonzero(shifted & ~near)
                out[apart] += self._at(t, cells[apart], signs)
        at = np.flatnonzero(near)
        if len(at):
            cells = np.stack([x[at] for x in (a, a2, b, b2)])
            for k in range(4):
                same = cells == cells[k]
                net = (same * np.array([-1, 1, -1, 1])[:, None]).sum(0)
                out[at] += np.where(~same[:k].any(0), self._at(t, cells[k], net), 0)
        return out

    def _make(
        self,
        columns: Sequence[int],
        rows: np.ndarray,
        new: np.ndarray,
        delta: np.ndarray,
        heat: float,
        *,
        pairs: bool = False,
    ) -> int:
        """Makes the changes that help, some that do no harm, and hardly any that do; how many rows changed."""
        half = len(rows) // 2 if pairs else len(rows)
        score = delta[:half].astype(float)
        wanted = score < 0
        if heat > 0:
            wanted |= (score == 0) & (self.rng.random(half) < PLATEAU * heat)
            wanted |= (score > 0) & (self.rng.random(half) < 0.002 * heat * np.exp(-score / 2))
        at = np.flatnonzero(wanted)
        if not len(at):
            return 0
        at = at[np.lexsort((self.rng.random(len(at)), score[at]))]
        if pairs:
            at = at[_first_of(rows[at], rows[at + half])]
            both = np.concatenate([at, at + half])
        else:
            at = at[_first_of(rows[at])]
            both = at
        if self._broken is not None:
            after = self.atoms[rows[both]].copy()
            after[:, columns] = new[both]
            fine = ~self._broken(rows[both], after)
            at = at[fine[: len(at)] & fine[len(at) :]] if pairs else at[fine]
            both = np.concatenate([at, at + half]) if pairs else at
        if not len(at):
            return 0
        ok = self._few_at_a_cell(columns, rows[both], new[both])
        few = ok[: len(at)] & ok[len(at) :] if pairs else ok
        options = [few]
        helping = score[at] < 0
        if helping.sum() > MANY:
            chance = self.rng.random(len(at))
            options += [helping & (chance < part) for part in PARTS]
        gains = (
            [self._gain(columns, rows, new, at[o], half if pairs else 0) for o in options] if len(options) > 1 else [0]
        )
        chosen = at[options[int(np.argmin(gains))]]
        both = np.concatenate([chosen, chosen + half]) if pairs else chosen
        self._apply(columns, rows[both], new[both])
        return len(both)

    def _gain(self, columns: Sequence[int], rows: np.ndarray, new: np.ndarray, at: np.ndarray, pairs: int) -> int:
        """By how much it gets further off when these changes are made together."""
        at = np.concatenate([at, at + pairs]) if pairs else at
        out = 0
        for t, cells, after in self._moves(columns, rows[at], new[at]):
            size = len(self.counts[t])
            counts = self.counts[t] + np.bincount(after, minlength=size) - np.bincount(cells, minlength=size)
            out += int(self._cost(t, counts).sum() - self._cost(t, self.counts[t]).sum())
        return out

    def _moves(
        self, columns: Sequence[int], rows: np.ndarray, new: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Of each table that the changes touch the rows' cells before and after."""
        for t, steps in enumerate(self.layout.steps):
            if any(v in steps for v in columns):
                cells = self.cells[t][rows]
                after = cells.copy()
                for k, v in enumerate(columns):
                    if v in steps:
                        after += steps[v][new[:, k]] - steps[v][self.atoms[rows, v]]
                yield t, cells, after

    def _few_at_a_cell(self, columns: Sequence[int], rows: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Which changes may be made together: as many at a cell as it has rows too many, or too few; one elsewhere."""
        ok = np.ones(len(rows), dtype=bool)
        for t, cells, after in self._moves(columns, rows, new):
            shifted = after != cells
            over = np.maximum(self.counts[t] - self.layout.high[t], 1)
            under = np.maximum(self.layout.low[t] - self.counts[t], 1)
            ok &= ~shifted | ((_rank(cells, shifted) < over[cells]) & (_rank(after, shifted) < under[after]))
        return ok

    def change(self, v: int, rows: np.ndarray, atoms: np.ndarray) -> None:
        """Gives rows, each at most once, other atoms in column v."""
        self._apply([v], rows, atoms[:, None])

    def _apply(self, columns: Sequence[int], rows: np.ndarray, new: np.ndarray) -> None:
        for t, cells, after in self._moves(columns, rows, new):
            size = len(self.counts[t])
            self.counts[t] += np.bincount(after, minlength=size) - np.bincount(cells, minlength=size)
            self.cells[t][rows] = after
        self.atoms[np.ix_(rows, np.asarray(columns))] = new


def _first_of(rows: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Indices, ascending, of changes (or pairs) none of whose rows an earlier one has."""
    flat = rows if others is None else np.stack([rows, others], axis=1).ravel()
    _, first = np.unique(flat, return_index=True)
    fresh = np.zeros(len(flat), dtype=bool)
    fresh[first] = True
    return np.flatnonzero(fresh if others is None else fresh.reshape(-1, 2).all(1))


def _rank(cells: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many earlier entries, among those counted, are of the same cell."""
    out = np.zeros(len(cells), dtype=np.int64)
    at = np.flatnonzero(counted)
    order = at[np.argsort(cells[at], kind="stable")]
    values = cells[order]
    begins = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.append(begins, len(values)))
    out[order] = np.arange(len(values)) - np.repeat(begins, lengths)
    return out


CANDIDATES = (40_000, 120_000)  # of a first program, and of a second where the first has no solution
CHEAP = 1e-3  # a change, beside a row that is off
SECONDS = 60.0  # of a program
MOST_ALIKE = 20  # rows that one effect is asked of
ROUNDS = 5  # of search and program
WITHIN = 40  # squared rows off, beyond which a program would only take time
GAP = 0.5  # a solution is taken that has at most so much more changes than the least, in parts of these


def brought(search: Search, rng: np.random.Generator, broken: Broken | None = None) -> bool:
    """Searches, and finishes, again where that fails; whether no cell is off in the end."""
    return any(search.run() or (search.off <= WITHIN and finished(search, rng, broken)) for _ in range(ROUNDS))


def finished(search: Search, rng: np.random.Generator, broken: Broken | None) -> bool:
    """Makes the changes of a solution, where that helps; whether no cell is off any more."""
    for many in CANDIDATES:
        rows, columns, atoms = _candidates(search, many, rng, broken)
        if not len(rows):
            continue
        chosen = _solved(search, rows, columns, atoms)
        if chosen is None:
            continue
        before, off = search.atoms.copy(), search.off
        for v in np.unique(columns[chosen]):
            at = chosen[columns[chosen] == v]
            search.change(int(v), rows[at], atoms[at])
        if search.off > off:
            for v in range(before.shape[1]):
                back = np.flatnonzero(search.atoms[:, v] != before[:, v])
                search.change(v, back, before[back, v])
        if not search.off:
            return True
    return False


def _candidates(
    search: Search, many: int, rng: np.random.Generator, broken: Broken | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and new atoms, at random, and of rows in cells that hold too many; none twice a row and column."""
    sizes = np.array([a.size for a in search.layout.atoms])
    wrong = [search.wrong_rows(v, many // 4) for v in range(len(sizes))]
    near = np.concatenate([w for w in wrong if len(w)] or [np.zeros(0, dtype=np.int64)])
    rows = rng.integers(0, len(search.atoms), many)
    if len(near):
        rows[: many // 3] = rng.choice(near, many // 3)
    columns = rng.integers(0, len(sizes), many)
    atoms = (rng.random(many) * sizes[columns]).astype(np.int64)
    code = np.unique((rows * len(sizes) + columns) * int(sizes.max()) + atoms)
    rows, rest = np.divmod(code, len(sizes) * int(sizes.max()))
    columns, atoms = np.divmod(rest, int(sizes.max()))
    fine = search.atoms[rows, columns] != atoms
    if broken is not None:
        after = search.atoms[rows].copy()
        after[np.arange(len(rows)), columns] = atoms
        fine &= ~broken(rows, after)
    return rows[fine], columns[fine], atoms[fine]


def _solved(search: Search, rows: np.ndarray, columns: np.ndarray, atoms: np.ndarray) -> np.ndarray | None:
    """Indices of the candidates of a solution, at most one for a row; None where there is none.

    Candidates with the same effect are one variable: the program says how many of them, then rows are drawn.
    """
    layout = search.layout
    offset = np.append(0, np.cumsum([len(low) for low in layout.low]))
    after = search.atoms[rows].copy()
    after[np.arange(len(rows)), columns] = atoms
    before, then = (
        np.stack([offset[t] + cells for t, cells in enumerate(both)], axis=1)
        for both in ([c[rows] for c in search.cells], [layout.cells(t, after) for t in range(len(layout.steps))])
    )
    same = before == then
    before, then = np.where(same, -1, before), np.where(same, -1, then)
    _, first, kind = np.unique(np.concatenate([before, then], axis=1), axis=0, return_index=True, return_inverse=True)
    kind, count = np.asarray(kind).reshape(-1), np.bincount(np.asarray(kind).reshape(-1))
    at, table = np.nonzero(~same[first])
    signs = np.concatenate([-np.ones(len(at)), np.ones(len(at))])
    lines = np.concatenate([before[first][at, table], then[first][at, table]])
    shape = (int(offset[-1]), len(first))
    effect = sparse.csr_array((signs, (lines, np.concatenate([at, at]))), shape=shape)
    counts = np.concatenate(search.counts)
    low, high = np.concatenate(layout.low) - counts, np.concatenate(layout.high) - counts
    cells = len(counts)
    short = sparse.eye_array(cells, format="csr")
    solved = optimize.milp(
        np.concatenate([np.full(len(first), CHEAP), np.ones(2 * cells)]),
        constraints=optimize.LinearConstraint(sparse.hstack([effect, short, -short]), low, high),
        integrality=np.repeat([1, 0], [len(first), 2 * cells]),
        bounds=optimize.Bounds(0, np.concatenate([np.minimum(count, MOST_ALIKE), np.full(2 * cells, np.inf)])),
        options={"time_limit": SECONDS, "mip_rel_gap": GAP},
    )
    return None if solved.x is None else _distinct(rows, kind, np.rint(solved.x[: len(first)]).astype(np.int64))


def _distinct(rows: np.ndarray, kind: np.ndarray, many: np.ndarray) -> np.ndarray | None:
    """So many candidates of each kind, no row twice; None where a kind has too few rows that are free."""
    used: set[int] = set()
    out = []
    for one in np.flatnonzero(many):
        free = [i for i in np.flatnonzero(kind == one).tolist() if int(rows[i]) not in used]
        taken: dict[int, int] = {}
        for i in free:
            taken.setdefault(int(rows[i]), i)
        if len(taken) < many[one]:
            return None
        chosen = list(taken.items())[: int(many[one])]
        used |= {r for r, _ in chosen}
        out += [i for _, i in chosen]
    return np.array(out, dtype=np.int64)
