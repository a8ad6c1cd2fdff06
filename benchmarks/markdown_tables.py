"""Results of benchmarks as Markdown tables: means over runs, or lines by a template."""

from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from types import MappingProxyType
from typing import Any

Row = Mapping[str, Any]
Columns = Mapping[str, int | tuple[str, int]]  # field -> digits after the point, with a heading where it is another


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    head = "| " + " | ".join(heads) + " |\n|" + "---|" * len(heads)
    return "\n".join([head, *("| " + " | ".join(cells) + " |" for cells in lines)])


def figure(value: float | None, digits: int) -> str:
    """A number with commas between thousands, or a dash."""
    return "-" if value is None else f"{value:,.{digits}f}"


class _Cells(Formatter):
    """Fields as str.format has them; nothing is a dash, and ``:yes`` says yes or no."""

    def get_field(self, name: str, args: Any, kwargs: Any) -> Any:
        try:
            return super().get_field(name, args, kwargs)
        except (KeyError, TypeError):
            return None, name

    def format_field(self, value: Any, spec: str) -> str:
        if value is None:
            return "-"
        return ("no", "yes")[bool(value)] if spec == "yes" else super().format_field(value, spec)


def filled(rows: Iterable[Row], heads: str, cells: str) -> str:
    """A line a row: headings and fields, as str.format has them, stand between bars."""
    return table(heads.split("|"), [[_Cells().vformat(c, (), r) for c in cells.split("|")] for r in rows])


def scores(digits: int, *names: str, seconds: int | None = 1) -> dict[str, int | tuple[str, int]]:
    """Columns of the yardstick's scores by their own names, with one digit more for errors of pairs; and seconds."""
    result: dict[str, int | tuple[str, int]] = {n: digits + ("pair" in n) for n in names}
    return result if seconds is None else result | {"seconds": seconds}


def means(
    rows: Iterable[Row],
    by: Sequence[str],
    columns: Columns,
    *,
    spread: bool = False,
    runs: str = "",
    order: Mapping[str, Sequence[Any] | None] = MappingProxyType({}),
) -> str:
    """A line a group of rows that are equal in ``by``, with means of ``columns``; failures with their reason below.

    ``spread``: with the largest difference from the mean, where runs are several. ``runs``: heading of a column that
    counts the group. ``order``: of which fields groups are in order, by a list (others first), or by their values.
    """
    groups: dict[tuple, list[Row]] = {}
    failed: dict[str, None] = {}
    for row in rows:
        key = tuple(row.get(k) for k in by)
        if "failed" in row:
            failed[f"- {', '.join(map(_key, key))}: {row['failed']}"] = None
        else:
            groups.setdefault(key, []).append(row)
    told = [f for f in columns if any(r.get(f) is not None for g in groups.values() for r in g)]
    shown = {f: (f, c) if isinstance(c, int) else c for f, c in columns.items() if f in told}
    heads = [*by, *([runs] if runs else []), *(title for title, _ in shown.values())]
    lines = [
        [
            *map(_key, key),
            *([str(len(groups[key]))] if runs else []),
            *(_mean(groups[key], field, digits, spread) for field, (_, digits) in shown.items()),
        ]
        for key in sorted(groups, key=lambda key: [_rank(key[by.index(n)], listed) for n, listed in order.items()])
    ]
    return "\n".join([table(heads, lines), *([""] if failed else []), *failed])


def across(rows: Iterable[Row], by: Sequence[str], over: str, column: str, digits: int) -> str:
    """A line a group of rows that are equal in ``by``, with the mean of ``column`` for each value of ``over``."""
    groups: dict[tuple, dict[Any, list[Row]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in by), {}).setdefault(row[over], []).append(row)
    values = sorted({v for g in groups.values() for v in g})
    lines = [
        [*map(_key, key), *(_mean(g.get(v, []), column, digits, False) for v in values)] for key, g in groups.items()
    ]
    return table([*by, *(f"{over} {_key(v)}" for v in values)], lines)


def part(made: str, heads: Sequence[str]) -> str:
    """A Markdown table's columns of these headings."""
    lines = [[c.strip() for c in line.strip("|").split("|")] for line in made.splitlines()]
    places = [i for i, head in enumerate(lines[0]) if head in heads]
    return table([lines[0][i] for i in places], [[r[i] for i in places] for r in lines[2:]])


def each(rows: Iterable[Row], field: str) -> list[Any]:
    """The values of a field, as they first occur."""
    return list(dict.fromkeys(r.get(field) for r in rows))


def _rank(value: Any, listed: Sequence[Any] | None) -> Any:
    return (0 if value is None else value) if listed is None else listed.index(value) if value in listed else -1


def _key(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _mean(rows: list[Row], field: str, digits: int, spread: bool) -> str:
    values = [float(r[field]) for r in rows if r.get(field) is not None]
    if not values:
        return "-"
    mean = sum(values) / len(values)
    shown = figure(mean, digits)
    return f"{shown} ± {figure(max(abs(v - mean) for v in values), digits)}" if spread and len(values) > 1 else shown
