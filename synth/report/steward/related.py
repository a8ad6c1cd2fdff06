"""The steward's report of related tables: what they say of each other, and a report of each table as alone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.errors import EmptyTableError, UsageError
from synth.evaluate import examination
from synth.evaluate.examination import Limits
from synth.evaluate.quality import ROWS, RelatedQuality
from synth.evaluate.read_sample import forest
from synth.evaluate.related_fidelity import Across, attacked, compare_related, plain
from synth.evaluate.risks import Risks
from synth.evaluate.verdict import names
from synth.languages import Texts, _, prose
from synth.pipeline.schema_approval import with_target
from synth.release import folder as folders
from synth.release.card.verify import load
from synth.report import first_page, html, svg_charts
from synth.report.html import commas, percent
from synth.report.related_picture import picture
from synth.report.steward import page as steward
from synth.report.steward.risks import lines_of
from synth.report.steward.write import place_of
from synth.schema.dataset import Dataset
from synth.sources.related_tables import places

PROPERTIES = Texts(  # as SDMetrics names them
    {
        "Column Shapes": "Column shapes",
        "Column Pair Trends": "Column pair trends",
        "Cardinality": "Cardinality, numbers of children",
        "Intertable Trends": "Intertable trends",
    }
)


def examine(
    release: str | Path, out: str | Path, *, real: str | Path, target: str | None = None, limits: Limits | None = None
) -> dict[str, tuple[Path, str]]:
    """The page across tables, a page for each table, and JSON, by name with their places; all marked, nothing written.

    ``real``: the folder of real tables, or the one table. ``target``: TABLE.COLUMN to be predicted within its table.
    Errors: InputError, UsageError when ``out`` is no .html file or lies within the release, whose files are for others.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    page, folder = place_of(release, out)
    stored = folders.load_release(folder, tree=True)
    schema, card = stored.schema, stored.card
    _check_target(schema, target)
    both = forest(real, schema), forest(folder, schema, synthetic=True)
    comparison = compare_related(*both, schema, scored=True)
    risks = attacked(*both, schema, limits=limits or Limits()) if schema.several else {}
    alone, verdicts = dict[str, tuple[Path, str]](), dict[str, Any]()
    there: Any = places(real, schema)
    for table, place in there.items():
        owner, _dot, column = (target or "").rpartition(".") if schema.several else (table, "", target)
        facts, made = schema.written[table], folder / f"{table}.csv"
        try:
            result = examination.examine(
                place.path, made, facts, target=(owner == table and column) or None, limits=limits
            )
        except EmptyTableError:  # one side has no row
            continue
        verdicts[table] = result.verdict.plain()
        text = steward.render(result, about={**card, "dataset": f"{card.get('dataset')}, {table}"})
        named = f"{page.name.removesuffix(f'.{steward.IN_NAME}.html')}.{table}.html"
        alone[table] = steward.marked(page.with_name(named)), text
    linked = [(table, path.name) for table, (path, _text) in alone.items()]
    whole = render(comparison, schema, about={**card, **load(folder)}, pages=linked, risks=risks)
    reported = {**plain(comparison), "tables": verdicts, "risks": {child: one.plain() for child, one in risks.items()}}
    return {
        "report": (page, whole),
        "report_json": (page.with_suffix(".json"), json.dumps(reported, indent=1, ensure_ascii=False) + "\n"),
        **{f"report of {table}": one for table, one in alone.items()},
    }


def _check_target(schema: Dataset, target: str | None) -> None:
    if not schema.several:
        with_target(schema.stated, target)
        return
    table, _dot, column = (target or "").partition(".")
    if target is not None and (table not in schema.tables or column not in schema.tables[table].measured()):
        raise UsageError(f"`target={target}`: write TABLE.COLUMN, a measured column")


def render(
    across: Across,
    schema: Dataset,
    *,
    about: dict[str, Any],
    pages: Sequence[tuple[str, str]],
    risks: Mapping[str, Risks],
) -> str:
    """The page across tables. ``risks``: by attacks on each table's rows with those above."""
    return html.render(
        "related_steward.html",
        title=_("Steward's report across tables"),
        mark=_(steward.MARK),
        small=_(steward.SMALL_MARK),
        about=about,
        picture=picture(schema),
        pages=pages,
        first=first_page.answers(about, across.verdict),
        uses=across.verdict.lines,
        tables=[[t, commas(r), commas(s)] for t, (r, s) in across.rows.items()],
        numbers=[_numbers(n) for n in across.numbers],
        quality=across.quality,
        most=ROWS,
        properties=[] if across.quality is None else [(PROPERTIES[n], s) for n, s in across.quality.properties.items()],
        scored=scored(across.quality),
        risks=[(child, *lines_of(one.findings)) for child, one in risks.items()],
        groups=[(prose(title), *across.mean(title), _lines(pairs)) for title, pairs in across.pairs.items()],
    )


def scored(quality: RelatedQuality | None) -> list[list[str]]:
    """SDMetrics' scores: a line for each table, and one for each relation. Privacy: as private as the rows."""
    if quality is None:
        return []
    across = {_("{child} of {parent}").format(child=c, parent=p): s for (c, p), s in quality.relations.items()}
    lines = [*quality.tables.items(), *across.items()]
    return [[name, *("-" if score is None else percent(score) for score in both)] for name, both in lines]


def _numbers(n: Any) -> tuple[str, float, float, Any, list[tuple[str, str, str]]]:
    title = _("{child} of one row of {parent}").format(child=n.child, parent=n.parent)
    labels = [str(i) for i in range(len(n.real))]
    draw = svg_charts.paired_bars if len(labels) <= 12 else svg_charts.overlaid_bins
    chart = draw(
        labels,
        n.real,
        n.synthetic,
        words=_("{title}: distance {distance}").format(title=title, distance=percent(n.distance)),
    )
    rows = [(i, percent(r), percent(s)) for i, r, s in zip(labels, n.real, n.synthetic, strict=True)]
    return title, n.distance, n.by_chance, chart, rows


def _lines(pairs: Sequence[Any]) -> list[list[str]]:
    """A line for each pair, the farthest first."""
    return [
        [names(p.first), names(p.second), percent(p.distance), percent(p.by_chance), percent(p.independent)]
        for p in sorted(pairs, key=lambda p: -p.distance)
    ]
