"""Results of benchmarks as Markdown tables, means over runs or cells as they are, and as JSON."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Columns = Mapping[str, tuple[str, int]]  # field -> heading, digits after the point


def tell(found: Any, into: Path | None) -> None:
    """Prints figures as JSON, and keeps them in a file if one is named."""
    text = json.dumps(found, indent=1)
    print(text)
    if into:
        into.write_text(text + "\n", encoding="utf-8")


def stored(path: Path, *, fresh: bool = False) -> list[dict]:
    """Lines of earlier runs; none where there is no file, or all is to be measured anew."""
    return json.loads(path.read_text()) if path.exists() and not fresh else []


def store(path: Path, rows: list[dict]) -> None:
    """Lines of runs, for those who come later."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    head = "| " + " | ".join(heads) + " |\n|" + "---|" * len(heads)
    return "\n".join([head, *("| " + " | ".join(cells) + " |" for cells in lines)])


def figure(value: float | None, digits: int) -> str:
    """A number with commas between thousands, or a dash."""
    return "-" if value is None else f"{value:,.{digits}f}"


def scores(digits: int, *names: str, seconds: int | None = 1) -> dict[str, tuple[str, int]]:
    """Columns of the yardstick's scores by their own names, with one digit more for errors of pairs; and seconds."""
    found = {n: (n, digits + ("pair" in n)) for n in names}
    return found if seconds is None else found | {"seconds": ("seconds", seconds)}


def means(
    rows: Iterable[Row],
    by: Sequence[str],
    columns: Columns,
    *,
    spread: bool = False,
    runs: str = "",
    order: Callable[[tuple], Any] | None = None,
) -> str:
    """A line a group of rows that are equal in ``by``, with means of ``columns``.

    ``spread``: with the largest difference from the mean, where runs are several. ``runs``: heading of a column that
    counts the group.
    """
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(k) for k in by), []).append(row)
    keys = sorted(groups, key=order) if order else list(groups)
    heads = [*by, *([runs] if runs else []), *(title for title, _ in columns.values())]
    lines = [
        [
            *(_key(k) for k in key),
            *([str(len(groups[key]))] if runs else []),
            *(_mean(groups[key], field, digits, spread) for field, (_, digits) in columns.items()),
        ]
        for key in keys
    ]
    return table(heads, lines)


def _key(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _mean(rows: list[Row], field: str, digits: int, spread: bool) -> str:
    values = [float(r[field]) for r in rows if r.get(field) is not None]
    if not values:
        return "-"
    mean = sum(values) / len(values)
    told = figure(mean, digits)
    return f"{told} ± {figure(max(abs(v - mean) for v in values), digits)}" if spread and len(values) > 1 else told
