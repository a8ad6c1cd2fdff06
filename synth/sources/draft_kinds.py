"""The kind of a drafted column, by the first rule that fits its texts; what tells of persons is not published."""

from collections.abc import Callable

import pandas as pd

from synth.errors import InputError, UsageError
from synth.schema import coarsening, literals, round_bounds
from synth.schema.column import Column, Risk
from synth.schema.table import UNCONFIRMED
from synth.sources import draft_risks
from synth.sources.draft_cells import Cells, Notes
from synth.sources.draft_risks import FEW, named_like_key

LIFE = 40  # years between the first and last of dates that are likely to be births


def kind_of(cells: Cells, *, kind: str | None, limit: int, notes: Notes) -> Column:
    """One column's facts: as named, or by the first rule that fits. ``kind``: the name's, if any; ``limit``: of texts.

    Errors: UsageError for a named date that is none; InputError for more texts than the limit.
    """
    if kind == "identifier":
        return _made(cells, "identifier")
    if not cells.values:
        notes.empty.append(cells.name)
        return Column(type="categorical", categories=tuple(cells.missing), source=UNCONFIRMED)
    if kind in ("categorical", "ordinal"):
        return _categories(cells, kind, limit=limit, notes=notes)
    if kind == "datetime":
        return _dates(cells) or _no_dates(cells)
    rules: list[Callable[[], Column | None]] = [
        lambda: _places(cells, limit, notes),
        lambda: _whole_dates(cells, notes),
        lambda: _integers(cells, notes),
        lambda: _floats(cells),
        lambda: _dates(cells),
        lambda: _unpublished(cells, notes),
    ]
    for rule in rules:
        column = rule()
        if column is not None:
            return column
    return _categories(cells, "boolean" if len(cells.values) == 2 else "categorical", limit=limit, notes=notes)


def _made(cells: Cells, kind: str, **facts: object) -> Column:
    """The column with its missing codes: an empty cell alone makes it nullable, other codes are listed."""
    codes = cells.missing
    missing = tuple(codes) if any(codes) else None
    return Column.model_validate(
        {
            "type": kind,
            **facts,
            "nullable": "" in codes or None,
            "missing": missing,
            "source": UNCONFIRMED,
        }
    )


def _places(cells: Cells, limit: int, notes: Notes) -> Column | None:
    """Post codes are no quantities, even where all are whole numbers."""
    if not draft_risks.named_like_place(cells.name) or literals.whole(cells.values) is None:
        return None
    return _categories(cells, "categorical", limit=limit, notes=notes)


def _whole_dates(cells: Cells, notes: Notes) -> Column | None:
    """Dates written as 20200131."""
    whole = len(cells.values) > FEW and literals.whole(cells.values) is not None
    return _other_dates(cells, notes) if whole and draft_risks.dated(cells.values) else None


def _other_dates(cells: Cells, notes: Notes) -> Column:
    notes.dates.append(cells.name)
    return _made(cells, "omitted", risk="dates")


def _keyed(cells: Cells, notes: Notes) -> Column:
    """A key becomes a counter: nothing of it is published."""
    if cells.seen.repeats:
        notes.keys.append(cells.name)
    return _made(cells, "identifier")


def _integers(cells: Cells, notes: Notes) -> Column | None:
    bounds = literals.whole(cells.values)
    if bounds is None:
        return None
    if draft_risks.key_of_numbers(cells.seen):
        return _keyed(cells, notes)
    if named_like_key(cells.name) or 1 < len(cells.values) <= FEW:
        notes.codes.append(cells.name)
    if max(-bounds[0], bounds[1]) >= literals.MAX_WHOLE:
        return None
    wide = round_bounds.widened(*bounds, whole=True, common=_common(cells, bounds), step=1)
    low, high = round_bounds.within(draft_risks.words(cells.name), bounds, wide)
    return _made(cells, "integer", min=low, max=high)


def _common(cells: Cells, bounds: tuple[int, int]) -> tuple[bool, bool]:
    """Whether many rows have the smallest and the largest of whole numbers."""
    numbers, counts = pd.to_numeric(pd.Series(cells.seen.values), errors="coerce").to_numpy(), cells.seen.counts
    low, high = (bool(counts[numbers == b].sum() >= round_bounds.COMMON) for b in bounds)
    return low, high


def _floats(cells: Cells) -> Column | None:
    grid = literals.decimal(cells.values)
    if grid is None:
        return None
    step = grid.resolution or 10.0**-grid.decimals
    wide = round_bounds.widened(grid.low, grid.high, whole=False, common=(False, False), step=step)
    low, high = round_bounds.within(draft_risks.words(cells.name), (grid.low, grid.high), wide)
    return _made(cells, "float", min=low, max=high, decimals=grid.decimals, resolution=grid.resolution)


def _dates(cells: Cells) -> Column | None:
    span = literals.dates(cells.values)
    if span is None:
        return None
    years = int(span.last[:4]) - int(span.first[:4])
    span = round_bounds.years(span, births=draft_risks.named_like_birth(cells.name) or years > LIFE)
    return _made(cells, "datetime", min=span.first, max=span.last, resolution=span.resolution)


def _no_dates(cells: Cells) -> Column:
    raise UsageError(f"`datetime_={cells.name}`: not all its cells are dates like 2020-01-31; convert them first")


def _unpublished(cells: Cells, notes: Notes) -> Column | None:
    """Text that must not be published: a counter where it is a key, else left out. None for lists of categories."""
    if literals.mostly_numbers(cells.values):
        notes.mixed.append(cells.name)
    seen = cells.seen
    risk = draft_risks.risk_of_text(seen)
    if risk == "dates":
        return _other_dates(cells, notes)
    if risk == "key" or (risk == "unique" and not seen.repeats):
        return _keyed(cells, notes)
    if risk in ("text", "unique"):
        notes.notes.append(cells.name)
        return _made(cells, "omitted", risk=risk)
    return None


def _categories(cells: Cells, kind: str, *, limit: int, notes: Notes) -> Column:
    if len(cells.values) > limit:
        raise InputError(
            f"column {cells.name}: more than {limit} distinct texts; name it with `identifier=` if it is a key, "
            "or raise `max_categories=`"
        )
    numbers = literals.sorted_numbers(cells.values)
    if kind == "ordinal" and numbers is None:
        notes.order.append(cells.name)
    risk: Risk | None = draft_risks.risk_of_text(cells.seen)
    if risk is not None:
        notes.lists[cells.name] = (len(cells.values), coarsening.offered(cells.values) if cells.seen.long else None)
    return _made(cells, kind, categories=numbers or cells.values, risk=risk)
