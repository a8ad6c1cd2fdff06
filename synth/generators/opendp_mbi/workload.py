"""What a table is for, as AIM's workload: tables of numbered columns, each with the weight of its error."""

from collections.abc import Sequence
from itertools import combinations
from math import prod

from synth.generators.workload import PAIR, Workload
from synth.questions import Bins

CELLS = 1 << 20  # of a named table on these bins; of a larger one only its pairs are candidates
Table = tuple[int, ...]


def weighted(workload: Workload, bins: Sequence[Bins]) -> tuple[tuple[Table, float], ...]:
    """All pairs of columns, weighted as uses need them, and named tables of three and more columns at ``PAIR`` times
    their weight; nothing where no use is named.

    Privacy: public only, or released answers only as the bins are.

    >>> from synth.generators.workload import NamedTable
    >>> bins = [Bins.each(n, 2) for n in "abc"]
    >>> weighted(Workload(tables=(NamedTable(columns=("c", "a"), weight=2.0),)), bins)
    (((0, 1), 1.0), ((0, 2), 15.0), ((1, 2), 1.0))
    """
    if not (workload.tables or workload.targets or workload.columns):
        return ()
    number = {b.column: i for i, b in enumerate(bins)}
    matter = {*workload.targets}
    made: dict[Table, float] = {}
    for a, b in combinations(number, 2):
        made[number[a], number[b]] = max(workload.pair_weight((a, b)), PAIR if matter & {a, b} else 1.0)
    for table in workload.tables:
        at = tuple(sorted(number[n] for n in table.columns if n in number))
        if len(at) > 2 and prod(bins[i].size for i in at) <= CELLS:
            made[at] = max(made.get(at, 0.0), PAIR * table.weight)
    return tuple(made.items())
