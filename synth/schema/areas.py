"""Areas as a tree: columns of which each area lies within one of another column, as districts lie within regions.

A column says ``within`` which other its areas lie; no row is asked. The column below is read and counted, all above it
follow from it: a row keeps its lowest area, and what stands in its cells above is never looked at. So no row can
contradict the tree, and counts of a level are the sums of those below.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.errors import InputError
from synth.languages import Said, joined
from synth.schema.column import CATEGORICAL, Column, WithinColumn, canonical, repeated
from synth.schema.constraints import Constraint, Within, columns_of, derived

MOST_LEVELS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """The areas of ``column`` in the tree: ``of`` (cells,) the position there of each position of the lowest column."""

    column: str
    of: np.ndarray
    cells: int


def above(columns: Mapping[str, Column]) -> list[str]:
    """The columns in which others lie: they follow from these, and are not read.

    Privacy: public only.
    """
    return list(dict.fromkeys(c.within.column for c in columns.values() if c.within is not None))


def lowest(columns: Mapping[str, Column], name: str) -> str:
    """The column at the foot of the tree in which ``name`` stands; itself where it stands in none.

    Privacy: public only.
    """
    below = {c.within.column: n for n, c in columns.items() if c.within is not None}
    for _ in range(MOST_LEVELS):  # a circle is a fault of the schema, which ``problems`` says
        name = below.get(name, name)
    return name


def trees(columns: Mapping[str, Column]) -> dict[str, list[Level]]:
    """By lowest column the levels above it, from its own parent up.

    Privacy: public only.

    >>> two = {"region": Column(type="categorical", categories=("1", "2")),
    ...        "town": Column(type="categorical", categories=("11", "12", "21"), within={"column": "region"})}
    >>> [(n, [(level.column, level.of.tolist()) for level in up]) for n, up in trees(two).items()]
    [('town', [('region', [0, 0, 1])])]
    """
    inner = set(above(columns))
    out: dict[str, list[Level]] = {}
    for name, column in columns.items():
        if column.within is None or name in inner:
            continue
        at: WithinColumn | None = column.within
        of, here = np.arange(column.cells), column
        levels: list[Level] = []
        while at is not None:
            parent = columns[at.column]
            of = parents(here, parent)[of]
            levels.append(Level(column=at.column, of=of, cells=parent.cells))
            here, at = parent, parent.within
        out[name] = levels
    return out


def seen_from(columns: Mapping[str, Column], name: str) -> np.ndarray:
    """The position in ``name`` of each position of the lowest column of its tree, (cells,); its own if it has none.

    Privacy: public only.
    """
    own = lowest(columns, name)
    levels = trees(columns).get(own, ()) if own != name else ()
    return next((level.of for level in levels if level.column == name), np.arange(columns[name].cells))


def as_lowest(columns: Mapping[str, Column], name: str, positions: np.ndarray) -> tuple[str, np.ndarray]:
    """A condition on any level as one on the lowest: that column, and its positions that lie in these of ``name``.

    Privacy: public only.
    """
    return lowest(columns, name), np.flatnonzero(np.isin(seen_from(columns, name), positions))


def parents(child: Column, parent: Column) -> np.ndarray:
    """The parent's position of each position of a child that has no fault, (cells,); a missing area has none."""
    owners = _owners(child, parent)
    valid = [next(iter(owners[canonical(c)])) for c in child.categories or ()]
    return np.array(valid + [parent.size] * (child.cells - child.size), dtype=np.int64)


def _owners(child: Column, parent: Column) -> dict[str, list[int]]:
    """By the text of each area the positions of those that it is said to lie in."""
    assert child.within is not None
    upper = {canonical(c): i for i, c in enumerate(parent.categories or ())}
    areas = [canonical(c) for c in child.categories or ()]
    if child.within.areas is None:
        longest = max(map(len, upper), default=0)
        return {a: [upper[a[:n]] for n in range(1, min(longest, len(a)) + 1) if a[:n] in upper] for a in areas}
    owners: dict[str, list[int]] = {a: [] for a in areas}
    for name, inside in child.within.areas.items():
        for area in dict.fromkeys(map(canonical, inside)):
            owners.setdefault(area, []).append(upper[canonical(name)])
    return owners


def rules(columns: Mapping[str, Column]) -> list[Within]:
    """The rules by which columns follow, each after that of the column below it."""
    out = []
    for name, levels in trees(columns).items():
        for level in levels:
            out.append(Within(kind="within", child=name, parent=level.column))
            name = level.column
    return out


def problems(columns: Mapping[str, Column], constraints: tuple[Constraint, ...], target: str | None) -> Iterator[str]:
    """A sentence for each rule that columns within others break: column, rule, remedy.

    Privacy: public only.
    """
    faulty = False
    for name, column in columns.items():
        if column.within is None:
            continue
        for problem in _own_problems(name, column, columns):
            faulty = True
            yield Said("column {}: within {!r}: {}", name, column.within.column, problem)
    if faulty or not (inner := set(above(columns))):
        return
    for name in inner:
        if len(inside := [n for n, c in columns.items() if c.within is not None and c.within.column == name]) > 1:
            yield Said(
                "column {}: {} all lie within it, and could tell of two of its areas in one row; declare one of "
                'them, and say that the others lie within that: "within"',
                name,
                ", ".join(inside),
            )
    for number, rule in enumerate(constraints, start=1):
        for name in (n for n in columns_of(rule) if n in inner):
            yield Said(
                "constraint {} ({}): {} follows from {}, which lies within it; name {} and its areas, as a|b, instead",
                number,
                rule.kind,
                name,
                lowest(columns, name),
                lowest(columns, name),
            )
    if target in inner:
        yield Said(
            "target {!r} follows from {}, which lies within it; choose that one",
            target,
            lowest(columns, str(target)),
        )
    for name in (n for n in derived(constraints) if columns[n].within is not None):
        yield Said("column {}: a constraint gives it, and so nothing can follow from it; take out one of both", name)


def _own_problems(name: str, column: Column, columns: Mapping[str, Column]) -> Iterator[str]:
    assert column.within is not None
    parent = columns.get(column.within.column)
    if parent is None:
        yield Said("no such column; name one of the schema, or take `within` out")
        return
    for one, called in ((column, name), (parent, column.within.column)):
        if one.type not in CATEGORICAL:
            yield Said(
                "{} is {}, and areas are categories; make it categorical, or take `within` out",
                called,
                one.type,
            )
            return
        if not one.categories:
            yield Said("{} has no categories yet, and a tree of areas is a public fact; list them", called)
            return
    chain: list[str] = [name]
    at: Column | None = column
    while at is not None and at.within is not None and len(chain) <= MOST_LEVELS:
        if at.within.column in chain:
            yield Said("it comes back to itself; say of one of the columns that it lies within no other")
            return
        chain.append(at.within.column)
        at = columns.get(chain[-1])
    if len(chain) > MOST_LEVELS:
        yield Said("more than {} levels; leave some out", MOST_LEVELS)
        return
    for fact in ("of", "role"):
        if getattr(column, fact) != getattr(parent, fact):
            yield Said('both need the same "{}", for the one follows from the other; state it of both or of none', fact)
    if column.missing_codes and not parent.missing_codes:
        yield Said(
            "an area that is missing lies in none, and {} is never missing; let it be (nullable), or list what is "
            "unknown as an area of {}",
            column.within.column,
            name,
        )
    yield from _area_problems(name, column, parent)


def _area_problems(name: str, column: Column, parent: Column) -> Iterator[str]:
    assert column.within is not None
    above_it, listed = column.within.column, column.within.areas
    areas, upper = [canonical(c) for c in column.categories or ()], [canonical(c) for c in parent.categories or ()]
    if listed is not None:
        if unknown := [a for a in listed if canonical(a) not in upper]:
            yield Said("{!r} is no category of {}; correct it, or add it there", unknown[0], above_it)
            return
        if twice := repeated(map(canonical, listed)):
            yield Said("{!r} of {} is listed twice; put its areas into one list", twice, above_it)
            return
        if strange := [a for inside in listed.values() for a in inside if canonical(a) not in areas]:
            yield Said("{!r} is no category of {}; correct it, or add it there", strange[0], name)
            return
    owners = _owners(column, parent)
    for area in (a for a in areas if len(owners[a]) != 1):
        named = joined(" and ", (repr(upper[i]) for i in owners[area]))
        if listed is None:
            form = f'"within": {{"column": "{above_it}", "areas": {{...}}}}'
            which = named or Said("no category")
            yield Said("{!r} begins with {} of {}; say which areas lie in which, as {}", area, which, above_it, form)
        elif named:
            yield Said("{!r} lies in {} of {}, and an area lies in one; keep it under one", area, named, above_it)
        else:
            yield Said("{!r} of {} lies in none of {}; list it under one", area, name, above_it)
        return
    owned = {i for o in owners.values() for i in o}
    if empty := [a for i, a in enumerate(upper) if i not in owned]:
        yield Said(
            "no area of {} lies within {!r}; list one, or take it out of the categories of {}",
            name,
            empty[0],
            above_it,
        )


def lines(schema: Any) -> dict[str, list[tuple[int, str]]]:
    """By lowest column of a ``schema`` its tree from the top down: how deep an area lies, and what it is called.

    Privacy: public only.
    """
    out = {}
    for name, levels in trees(schema.columns).items():
        lowest = schema.columns[name]
        path = [*((level.column, level.of) for level in reversed(levels)), (name, np.arange(lowest.cells))]
        texts = [schema.columns[n].labels or schema.columns[n].categories or () for n, _ in path]
        made: list[tuple[int, str]] = []
        before = [-1] * len(path)
        order = np.lexsort([of for _, of in reversed(path)])
        for at in order[order < lowest.size].tolist():
            places = [int(of[at]) for _, of in path]
            first = next((d for d, (a, b) in enumerate(zip(places, before, strict=True)) if a != b), len(path))
            made += [(depth, texts[depth][places[depth]]) for depth in range(first, len(path))]
            before = places
        out[name] = made
    return out


def lines_of(text: str) -> list[list[str]]:
    """The lines of a CSV's text that say something, separated by the mark that its first line has most often; none of
    what is no CSV."""
    mark = max(",;\t", key=text.split("\n", 1)[0].count)
    try:
        return [r for r in csv.reader(io.StringIO(text), delimiter=mark) if any(c.strip() for c in r)]
    except csv.Error:
        return []


def listed(text: str, *, name: str) -> dict[str, list[str]]:
    """By area those that lie in it, of a CSV's text with two columns, the smaller area first. Errors: InputError.

    Privacy: public only.

    >>> listed("town,region\\n11,1\\n12,1\\n21,2\\n", name="towns.csv")
    {'1': ['11', '12'], '2': ['21']}
    """
    rows = lines_of(text)
    if len(rows) < 2 or any(len(r) != 2 for r in rows):
        raise InputError("areas {}: not a CSV table of two columns, the smaller area first; save it as such", name)
    out: dict[str, list[str]] = {}
    for area, above_it in rows[1:]:
        out.setdefault(above_it.strip(), []).append(area.strip())
    return out
