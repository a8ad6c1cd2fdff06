"""The steward's report of a release: against the real rows, without noise. For the steward alone, never released.

Of related tables what they say of each other, and a report of each table as alone. The publishable report is of another
kind and stands in ``report``; nothing that packs a release reads this module.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import EmptyTableError, SynthError, UsageError
from synth.evaluate import examination, shadows
from synth.evaluate.examination import Examination, Limits
from synth.evaluate.quality import ROWS, Quality
from synth.evaluate.read_sample import forest
from synth.evaluate.related_fidelity import Across, attacked, compare_related, plain
from synth.evaluate.risks import Risks
from synth.files import whole_files
from synth.languages import Texts, _, prose
from synth.pipeline import plan
from synth.pipeline.schema_approval import with_target
from synth.release import folder as bundle
from synth.release.card.card import Card
from synth.release.card.verify import load
from synth.report import first_page, html, svg_charts
from synth.report.html import commas, percent
from synth.report.publish import about, folder_of
from synth.report.related_picture import picture
from synth.report.steward import page as steward
from synth.schema.dataset import Dataset
from synth.sources.related_tables import places

Pages = dict[str, tuple[Path, str]]  # by name the places and words of files that are not written yet
PROPERTIES = Texts(  # as SDMetrics names them
    {
        "Column Shapes": "Column shapes",
        "Column Pair Trends": "Column pair trends",
        "Cardinality": "Cardinality, numbers of children",
        "Intertable Trends": "Intertable trends",
    }
)


def pages(
    release: str | Path, out: str | Path, *, real: str | Path, stage: Callable[[str], None] = lambda _: None, **how: Any
) -> Pages:
    """The report of a release and its JSON, by name with their places; all marked, and nothing written yet.

    ``real``: the real table; of related ones their folder, and there is a page across them and one for each table.
    ``how``: as of ``examine``; of related tables ``limits`` and the ``target``, TABLE.COLUMN, alone.
    Errors: InputError, UsageError when ``out`` is no .html file or lies within the release, whose files are for others.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    if not bundle.is_related(release):
        return alone(examine(release, real=real, stage=stage, **how), release, out)
    return _related(release, out, real=real, target=how.get("target"), limits=how.get("limits"))


def alone(result: Examination, release: str | Path, out: str | Path) -> Pages:
    """The page of what ``examine`` found, and its JSON. Errors: as of ``pages``."""
    page, card = _place(release, out), about(folder_of(release))
    reported = {"card": card.get("ledger_entry"), **examination.plain(result)}
    return _beside(page, steward.render(result, about=card), reported)


def _place(release: str | Path, out: str | Path) -> Path:
    """The marked page that is to be written."""
    page = steward.marked(Path(out))
    if folder_of(release).resolve() in page.resolve().parents:
        raise UsageError("`out={}`: lies in the release's folder, which is for others; choose another place", out)
    return page


def _beside(page: Path, text: str, reported: Mapping[str, Any]) -> Pages:
    figures = json.dumps(reported, indent=1, ensure_ascii=False) + "\n"
    return {"report": (page, text), "report_json": (page.with_suffix(".json"), figures)}


def examine(
    release: str | Path,
    *,
    real: str | Path,
    test: str | Path | None = None,
    target: str | None = None,
    groups: Sequence[str] = (),
    limits: Limits | None = None,
    shadow_runs: int = 0,
    stage: Callable[[str], None] = lambda _: None,
) -> Examination:
    """Examines a release's synthetic table against the real one. ``release``: the folder that a run wrote.

    ``test``: held-out real rows. ``target``: column to be predicted, default the schema's. ``groups``: columns that
    divide people. ``shadow_runs``: so many runs of the release's method with and without a row, 0 for none.
    ``limits``: how many rows are used. ``stage``: is told of each stage as it begins. The same arguments give the same
    figures, except for the shadow runs, whose noise is secret.
    Errors: InputError for an unusable file or release, UsageError.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    folder = folder_of(release)
    stored = bundle.load_release(folder)
    attacked: tuple[shadows.Shadow, ...] = ()
    if shadow_runs:
        stage("shadow")
        attacked = membership(stored, draws=shadow_runs, seed=(limits or Limits()).seed)
    result = examination.examine(
        real,
        folder / "synthetic.csv",
        stored.setting.schema,
        test=test,
        target=target,
        groups=tuple(groups),
        forecast=forecast(folder),
        fit=stored.card.get("fit"),
        limits=limits,
        stage=stage,
    )
    return replace(result, shadows=attacked)


def membership(stored: bundle.StoredRelease, *, draws: int, seed: int = 0) -> tuple[shadows.Shadow, ...]:
    """Attacks on membership by runs of a release's method, settings and guarantee, on made-up rows. Errors: UsageError.

    Privacy: public only.
    """
    card = stored.card
    return shadows.measure(
        stored.method,
        epsilon=float(card["epsilon"]),
        delta=float(card["delta"]),
        relation=str(card["relation"]),
        max_rows=int(card.get("max_rows_of_a_unit") or 1),
        options=stored.options,
        draws=draws,
        rng=np.random.default_rng(seed),
    )


def forecast(release: str | Path) -> dict[str, float | None]:
    """The errors that ``synth plan`` forecasts for such a run, from public facts and the release; empty if none."""
    stored = bundle.load_release(release)
    try:
        rows = stored.setting.public_rows or max(1, round(bundle.load_model(release).model.total))
        reported = plan.plan(
            stored.setting.schema,
            rows=rows,
            epsilon=float(stored.card["epsilon"]),
            delta=float(stored.card["delta"]),
            method=stored.method,
            relation=str(stored.card["relation"]),
            options=stored.options,
        )
    except SynthError:
        return {}
    return {"one_way": reported.error_one_way or None, "two_way": reported.error_two_way}


def _related(
    release: str | Path, out: str | Path, *, real: str | Path, target: str | None, limits: Limits | None
) -> Pages:
    page, folder = _place(release, out), folder_of(release)
    stored = bundle.load_release(folder, tree=True)
    schema, card = stored.schema, stored.card
    owner, _dot, column = (target or "").rpartition(".")
    if not schema.several:
        with_target(schema.stated, target)
    elif target is not None and (owner not in schema.tables or column not in schema.tables[owner].measured()):
        raise UsageError("`target={}`: write TABLE.COLUMN, a measured column", target)
    both = forest(real, schema), forest(folder, schema, synthetic=True)
    comparison = compare_related(*both, schema, scored=True)
    risks = attacked(*both, schema, limits=limits or Limits()) if schema.several else {}
    single, verdicts, linked = Pages(), dict[str, Any](), list[tuple[str, str]]()
    there: Any = places(real, schema)
    for table, place in there.items():
        predicted = target if not schema.several else column if owner == table else None
        try:
            made, facts = folder / f"{table}.csv", schema.written[table]
            result = examination.examine(place.path, made, facts, target=predicted, limits=limits)
        except EmptyTableError:  # one side has no row
            continue
        verdicts[table] = result.verdict.plain()
        text = steward.render(result, about=Card({**card, "dataset": f"{card.get('dataset')}, {table}"}))
        own = steward.marked(page.with_name(f"{page.name.removesuffix(f'.{steward.IN_NAME}.html')}.{table}.html"))
        single[f"report of {table}"] = own, text
        linked.append((table, own.name))
    whole = render(comparison, schema, about=Card({**card, **load(folder)}), pages=linked, risks=risks)
    reported = {**plain(comparison), "tables": verdicts, "risks": {child: one.plain() for child, one in risks.items()}}
    return {**_beside(page, whole, reported), **single}


def render(
    across: Across,
    schema: Dataset,
    *,
    about: Card,
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
        risks=[(child, *steward.lines_of(one.findings)) for child, one in risks.items()],
        groups=[(prose(title), *across.mean(title), _lines(pairs)) for title, pairs in across.pairs.items()],
    )


def scored(quality: Quality | None) -> list[list[str]]:
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
        [prose(p.first), prose(p.second), percent(p.distance), percent(p.by_chance), percent(p.independent)]
        for p in sorted(pairs, key=lambda p: -p.distance)
    ]


def put(pages: Mapping[str, tuple[Path, str]]) -> dict[str, str]:
    """Writes files that their owner alone may read, each whole or not at all; their paths by name. Errors: UsageError.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    for path, words in pages.values():
        try:
            whole_files.write(path, words, private=True)
        except OSError as error:
            raise UsageError("{}: {}; choose another `out=`", path, error) from None
    return {name: str(path) for name, (path, _words) in pages.items()}
