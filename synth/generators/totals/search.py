"""The search for rows that agree with all tables of totals: fewer and fewer units off, until none is.

What is off is the sum, over all cells of all tables, of the squared number of rows beyond what the cell may have. A
change gives one column of a row another value; an exchange swaps one or two columns between two rows, and so keeps
what tables say of these columns alone. Thousands of random changes or exchanges are weighed at a time, those that
bring rows nearer are made; where none does any more, some that leave it as it is, and later a few that do not.

Privacy: released answers and public facts only: rows here are synthetic ones.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from synth.generators.totals.layout import Layout

Propose = Callable[[int, np.ndarray], np.ndarray]  # column and rows (m,): atoms (m,) that a model gives them
Broken = Callable[[np.ndarray, np.ndarray], np.ndarray]  # rows (m,), their atoms (m, V): which break a rule

TOGETHER = 20_000  # changes weighed at a time
TRIES = 3  # values weighed for a row where rows are many
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)  # of the changes that help, made together if that helps most
PAIRED = 0.1  # part of the exchanges that swap two columns
NEAR, SOON = 6, 20  # squared rows off, at which so many sweeps without any gain leave the rest to a program (finish.py)
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
