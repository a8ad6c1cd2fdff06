"""The steward's report: how groups of people are served, and whether rows were copied."""

from collections.abc import Iterable
from itertools import groupby

from synth.evaluate.detection import QUANTILES
from synth.evaluate.examination import Examination
from synth.evaluate.subgroups import Subgroup
from synth.report.html import card, figure, grid, note, percent, table, text


def groups(found: Examination) -> Iterable[str]:
    """A table for each column that divides people into groups, the smallest group first."""
    if not found.subgroups:
        yield text("No column of few categories divides the rows into groups.")
        return
    yield text("Noise is the same for every group, so small groups lose most. For each group: its share of both "
               "tables, and how far the other columns' distributions within it are apart, beside what chance alone "
               "would bring in groups of this size.")  # fmt: skip
    lost = [s for s in found.subgroups if s.synthetic_share == 0]
    if lost:
        names = ", ".join(f"{s.column} {s.group} ({s.real_rows:,} rows)" for s in lost[:20])
        yield text(f"Groups without a single synthetic row: {names}{' and more' if len(lost) > 20 else ''}.")
    yield grid((_column(name, list(m)) for name, m in groupby(found.subgroups, key=lambda s: s.column)), wide=True)


def _column(name: str, members: list[Subgroup]) -> str:
    rows = [[s.group, f"{s.real_rows:,}", percent(s.real_share), percent(s.synthetic_share), percent(s.distance),
             percent(s.by_chance)] for s in members]  # fmt: skip
    return card(name, table(["group", "rows", "real", "synthetic", "distance", "by chance"], rows))


def nearness(found: Examination) -> Iterable[str]:
    """Copies and nearest records, with what they do not prove."""
    near = found.nearness
    yield text(
        "These figures find gross memorisation only. They are no proof of privacy; that is the guarantee's task."
    )
    rows = [["synthetic rows equal to a real row", percent(near.copies, 2)],
            ["real rows equal to another real row", percent(near.copies_floor, 2)]]  # fmt: skip
    if near.nearer_train is not None:
        rows += [
            [f"synthetic rows equal to one of {near.references:,} real rows", percent(near.copies_train, 2)],
            [f"synthetic rows equal to one of {near.references:,} held-out rows", percent(near.copies_test, 2)],
            ["synthetic rows nearer to a real row than to a held-out one (50 % by chance, give or take "
             f"{percent(near.nearer_error)})", percent(near.nearer_train)],
        ]  # fmt: skip
    yield table(["share", "of rows"], rows)
    if near.nearer_train is None:
        yield note("With held-out rows (--test) the report also tells whether synthetic rows lie nearer to rows that "
                   "the generator saw than to rows that it did not.")  # fmt: skip
    head = ["distance to the nearest record", *(f"{100 * q:g} % below" for q in QUANTILES)]
    yield table(head, [[name, *(figure(v) for v in told)] for name, told in near.distances.items()])
    yield note("Distance of two rows: the mean over columns of 1 for unlike categories and of the difference of ranks.")
