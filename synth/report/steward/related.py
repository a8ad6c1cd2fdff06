"""The steward's report of related tables: what they say of each other, and a report of each table as alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synth.errors import EmptyTableError, UsageError
from synth.evaluate import examination
from synth.evaluate.examination import Limits
from synth.evaluate.related_fidelity import Across, compare_related, forest
from synth.evaluate.related_fidelity import plain as told_plainly
from synth.release import related_folder
from synth.report import html, svg_charts
from synth.report.html import figure, percent
from synth.report.related_picture import picture
from synth.report.steward import page as steward
from synth.report.steward.write import private_text
from synth.schema.related import Related
from synth.sources.related_tables import places


def write(
    release: str | Path, out: str | Path, *, real: str | Path, target: str | None = None, limits: Limits | None = None
) -> dict[str, str]:
    """Writes the page across tables, a page for each table, and JSON, all marked and readable by their owner alone.

    ``real``: the folder of real tables. ``target``: TABLE.COLUMN to be predicted within its table. Errors: InputError,
    UsageError when ``out`` is no .html file or lies within the release, whose files are for others.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    page, folder = steward.marked(Path(out)), Path(release)
    folder = folder.parent if folder.suffix == ".json" else folder
    if folder.resolve() in page.resolve().parents:
        raise UsageError(f"--out {out}: lies in the release's folder, which is for others; choose another place")
    stored = related_folder.load_release(folder)
    schema = stored.schema
    _check_target(schema, target)
    found = compare_related(forest(real, schema), forest(folder, schema), schema)
    paths: dict[str, str] = {}
    for table, place in places(real, schema).items():
        own = target.partition(".")[2] if target is not None and target.partition(".")[0] == table else None
        if (path := _alone(place, table, page, folder, stored, own, limits)) is not None:
            paths[f"report of {table}"] = str(path)
    words = render(found, schema, about=stored.card, pages=[(n.removeprefix("report of "), Path(p).name)
                                                            for n, p in paths.items()])  # fmt: skip
    private_text(page, words)
    private_text(page.with_suffix(".json"), json.dumps(told_plainly(found), indent=1, ensure_ascii=False) + "\n")
    return {"report": str(page), "report_json": str(page.with_suffix(".json")), **paths}


def _check_target(schema: Related, target: str | None) -> None:
    table, _, column = (target or "").partition(".")
    if target is not None and (table not in schema.tables or column not in schema.tables[table].measured()):
        raise UsageError(f"--target {target}: write TABLE.COLUMN, a measured column")


def _alone(
    place: Any, table: str, page: Path, folder: Path, stored: related_folder.StoredRelease, target: str | None,
    limits: Limits | None,
) -> Path | None:  # fmt: skip
    """A table's own report, None where one side has no row: all rows of the real file, as a run on it alone."""
    at = page.with_name(f"{page.stem.removesuffix('.' + steward.IN_NAME)}.{table}.{steward.IN_NAME}.html")
    try:
        found = examination.examine(place.path, folder / f"{table}.csv", stored.schema.tables[table], target=target,
                                    limits=limits)  # fmt: skip
    except EmptyTableError:
        return None
    private_text(at, steward.render(found, about={**stored.card, "dataset": f"{stored.card.get('dataset')}, {table}"}))
    return at


def render(found: Across, schema: Related, *, about: dict[str, Any], pages: Sequence[tuple[str, str]]) -> str:
    """The page across tables."""
    return html.render(
        "related_steward.html", title="Steward's report across tables", mark=steward.MARK, small=steward.SMALL_MARK,
        about=about, picture=picture(schema), pages=pages,
        tables=[[t, f"{r:,}", f"{s:,}"] for t, (r, s) in found.rows.items()],
        numbers=[_numbers(n) for n in found.numbers],
        groups=[(title, *found.mean(title), _lines(pairs)) for title, pairs in found.pairs.items()],
    )  # fmt: skip


def _numbers(n: Any) -> tuple[str, float, Any, list[tuple[str, str, str]]]:
    title, labels = f"{n.child} of one row of {n.parent}", [str(i) for i in range(len(n.real))]
    draw = svg_charts.paired_bars if len(labels) <= 12 else svg_charts.overlaid_bins
    chart = draw(labels, n.real, n.synthetic, words=f"{title}: distance {percent(n.distance)}")
    rows = [(i, percent(r), percent(s)) for i, r, s in zip(labels, n.real, n.synthetic, strict=True)]
    return title, n.distance, chart, rows


def _lines(pairs: Sequence[Any]) -> list[list[str]]:
    """A line for each pair, the farthest first."""
    return [[p.first, p.second, percent(p.distance), figure(p.ratio, 2)]
            for p in sorted(pairs, key=lambda p: -p.distance)]  # fmt: skip
