"""Rows made of totals alone: that they exist is what shows, before anything is spent, that totals can be met.

They need nothing private, and the same seed makes them again: where rows of a model cannot be brought to agree, these
stand in for their counted columns.

Privacy: public only.
"""

import numpy as np

from synth.generators.totals.finish import brought
from synth.generators.totals.layout import Layout
from synth.generators.totals.search import Search

SEED = 0


def witness(layout: Layout) -> tuple[np.ndarray, Search]:
    """Atoms (n, V) of as many rows as the totals state, brought as near to all tables as the search can."""
    rng = np.random.default_rng(SEED)
    search = Search(layout, _start(layout, rng), rng)
    brought(search, rng)
    return search.atoms, search


def _start(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Table by table, the largest first: rows get the columns that they lack as it has them, given the others."""
    n = layout.totals.num_rows
    atoms = np.zeros((n, len(layout.columns)), dtype=np.int32)
    known: set[int] = set()
    at = {c: i for i, c in enumerate(layout.columns)}
    for table in sorted(layout.totals.tables, key=lambda t: -t.low.size):
        names = [at[c] for c in table.columns]
        held, new = [i for i, v in enumerate(names) if v in known], [i for i, v in enumerate(names) if v not in known]
        if not new:
            continue
        wanted = np.where(table.counts >= 0, table.counts, 0).astype(float)
        lack = max(n - wanted.sum(), 0.0)
        wanted += np.where(table.counts < 0, lack / max((table.counts < 0).sum(), 1), 0.0)
        lines = wanted.transpose(held + new).reshape(int(np.prod([table.parts[i].size for i in held], dtype=int)), -1)
        context = np.zeros(n, dtype=np.int64)
        for i in held:
            part = table.parts[i]
            context = context * part.size + part.of(layout.atoms[names[i]].example())[atoms[:, names[i]]]
        order = np.lexsort((rng.random(n), context))
        sizes = np.bincount(context, minlength=len(lines))
        cells = np.concatenate(
            [np.repeat(np.arange(lines.shape[1]), _apportioned(r, int(s))) for r, s in zip(lines, sizes, strict=True)]
        )
        drawn = np.empty(n, dtype=np.int64)
        drawn[order] = cells
        split = np.unravel_index(drawn, [table.parts[i].size for i in new])
        for i, parts in zip(new, split, strict=True):
            atoms[:, names[i]] = _within(table.parts[i].of(layout.atoms[names[i]].example()), parts, rng)
            known.add(names[i])
    return atoms


def _apportioned(wanted: np.ndarray, size: int) -> np.ndarray:
    """Whole numbers that sum to ``size``, in proportion; the largest remainders are rounded up."""
    whole = wanted.sum()
    share = wanted * (size / whole) if whole > 0 else np.full(len(wanted), size / len(wanted))
    out = np.floor(share + 1e-9).astype(np.int64)
    out[np.argsort(out - share, kind="stable")[: max(size - int(out.sum()), 0)]] += 1
    while (over := int(out.sum()) - size) > 0:
        out[np.argsort(-out)[:over]] -= 1
    return out


def _within(part_of: np.ndarray, parts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An atom of each part, all as likely."""
    order = np.argsort(part_of, kind="stable")
    counts = np.bincount(part_of, minlength=int(part_of.max()) + 1)
    first = np.cumsum(counts) - counts
    return order[first[parts] + (rng.random(len(parts)) * counts[parts]).astype(np.int64)]
