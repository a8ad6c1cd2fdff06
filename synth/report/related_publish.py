"""The publishable report of related tables: released weighted tables beside the synthetic ones'; free.

Made from releases, public facts and the synthetic tables alone. Nothing here can be handed a real row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from synth.evaluate.rating import Uses
from synth.evaluate.read_sample import forest
from synth.languages import _, prose
from synth.mechanisms import linked
from synth.pipeline.uses import tables_of
from synth.questions.linked import placed
from synth.release import folder as folders
from synth.report import first_page, html, publishable, released_verdict, words
from synth.report.html import commas, figure
from synth.report.noisy_tables import NoisyTable, agreement
from synth.report.publishable import SHOWN, ComparedTable
from synth.report.related_picture import picture
from synth.schema import related_uses
from synth.schema.dataset import ONE, Dataset

VIEWS = {
    "siblings": "two of one parent",
    "steps": "from one event to the next",
    "far": "half a history later",
    "first": "first events",
    "last": "last events",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishableTables:
    """The report as data, in roots of the source. ``singles``: by table and column; ``pairs``: by what they are about.

    **Guarantee**: that of the release (post-processing).
    """

    schema: Dataset
    card: Mapping[str, Any]
    roots: float
    singles: Mapping[str, Mapping[str, ComparedTable]] = field(repr=False)
    pairs: Mapping[str, Mapping[str, ComparedTable]] = field(repr=False)


def gather(release: str | Path) -> PublishableTables:
    """The report of a release's folder, as data. Errors: InputError for an unusable release.

    Privacy: released answers only.
    """
    folder = Path(release)
    stored, model = folders.load_release(folder, tree=True), folders.load_model(folder, tree=True).model
    made, schema, roots = forest(folder, stored.schema, synthetic=True), stored.schema, max(model.total, 1.0)
    scale = roots / max(len(made[schema.root].parent), 1)
    singles: dict[str, dict[str, ComparedTable]] = {t: {} for t in schema.downwards}
    pairs: dict[str, dict[str, ComparedTable]] = {}
    for answer in stored.releases:
        exact = linked.exact(answer.question, made)
        for marginal, values, cells in zip(answer.question.marginals, answer.values, exact, strict=True):
            table = NoisyTable(bins=marginal.bins, values=values.astype(float), sigma=marginal.sigma)
            shown = _shown(table, cells.reshape(values.shape) / linked.UNIT * scale)
            about, names = _about(answer.question, table)
            if len(names) == 1 and answer.question.view == "rows" and table.whole:
                singles[answer.question.table].setdefault(placed(table.columns[0])[1], shown)
            elif len(names) == 2 or answer.question.view == "first":
                pairs.setdefault(about, {})[" and ".join(names)] = shown
    return PublishableTables(schema=schema, card=stored.card, roots=roots, singles=singles, pairs=pairs)


def _shown(table: NoisyTable, made: np.ndarray) -> ComparedTable:
    whole = max(float(made.sum()), 1.0)
    return ComparedTable(table=table, synthetic=made, fit=agreement(table, made, rows=whole))


def _about(question: Any, table: NoisyTable) -> tuple[str, list[str]]:
    """What a table is about, and its columns in words."""
    owners = [placed(c) for c in table.columns]
    names = [f"{t}.{c}" + (" (of the other)" if other else "") for t, c, other in owners]
    above = sorted({t for t, _, _ in owners} - {question.table})
    if question.view in VIEWS:
        return f"{question.table}: {VIEWS[question.view]}", names
    return f"{question.table} with {', '.join(above)}" if above else f"within {question.table}", names


def verdict(tables: PublishableTables) -> Uses:
    """What the tables are good for as far as what was released can tell.

    Privacy: released answers only.
    """
    singles = {t: s.values() for t, s in tables.singles.items() if s}
    across = {_use(about): shown.values() for about, shown in tables.pairs.items()}
    return released_verdict.of_tables(singles, across, _named(tables), rows=tables.roots)


def _named(tables: PublishableTables) -> dict[str, tuple[list[ComparedTable], int]]:
    """By named use its released tables of one and two columns, and how many it needs."""
    known = {frozenset((f"{t}.{n}",)): shown for t, own in tables.singles.items() for n, shown in own.items()}
    known |= {
        frozenset(f"{t}.{c}" for t, c, _ in map(placed, s.table.columns)): s
        for own in tables.pairs.values()
        for s in own.values()
        if not any(other for _, _, other in map(placed, s.table.columns)) and len(s.table.columns) == 2
    }
    out = {}
    for use, needed in tables_of(tables.schema):
        asked = related_uses.pairs(needed)
        out[use] = [known[frozenset(p)] for p in asked if frozenset(p) in known], len(asked)
    return out


def _use(about: str) -> str:
    """What tables are good for that are about this: each of ``_about``'s forms as a sentence of its own."""
    table, between, view = about.partition(": ")
    if between:
        return (
            f"single columns, {table}: {view}"
            if view in (VIEWS["first"], VIEWS["last"])
            else f"tables of two columns, {table}: {view}"
        )
    if about.startswith("within "):
        return f"tables of two columns, within {about.removeprefix('within ')}"
    table, _with, others = about.partition(" with ")
    return f"tables of two columns, {table} with {others}"


def _titled(about: str) -> str:
    """As ``_about`` has it, in the language that is spoken."""
    table, between, view = about.partition(": ")
    if between:
        return f"{table}: {prose(view)}"
    if about.startswith("within "):
        return _("within {table}").format(table=about.removeprefix("within "))
    table, _with, others = about.partition(" with ")
    return _("{table} with {others}").format(table=table, others=others)


def page(tables: PublishableTables, *, card: Mapping[str, Any]) -> str:
    """The report as one HTML page. ``card``: with how the release was chosen."""
    singles = []
    for table, columns in tables.singles.items():
        facts = tables.schema.as_asked(table).columns
        ordered = sorted(columns.items(), key=lambda item: -item[1].fit.distance)
        charts = [
            publishable.column_chart(n, s, facts[n], s.advice("columns", tables.roots)) for n, s in ordered[:SHOWN]
        ]
        singles.append(
            (table, charts, [[n, *publishable.fit_in_words(s), s.advice("columns", tables.roots)] for n, s in ordered])
        )
    said = verdict(tables)
    return html.render(
        "related_publishable.html",
        title=_("Publishable report"),
        mark=None,
        about=card,
        interval=publishable.interval(),
        roots=commas(tables.roots),
        picture=picture(tables.schema),
        singles=singles,
        head=publishable.head,
        tables=[[t, commas(n)] for t, n in rows_of(card).items()],
        groups=[(_titled(about), _lines(shown, tables.roots)) for about, shown in tables.pairs.items()],
        uses=words.lines(said),
        first=first_page.answers(card, said),
    )


def rows_of(card: Mapping[str, Any]) -> dict[str, int]:
    """Synthetic rows by table that is written."""
    return dict(card["rows"].get("tables", {ONE: card["rows"]["synthetic"]}))


def _lines(result: Mapping[str, ComparedTable], roots: float) -> list[list[str]]:
    """A line for each pair, that which is furthest above its noise first."""
    ordered = sorted(result.items(), key=lambda item: item[1].fit.from_noise - item[1].fit.distance)
    return [
        [
            words.names(names),
            commas(s.table.values.size),
            _("{n} roots").format(n=figure(s.table.sigma, 1)),
            *publishable.fit_in_words(s),
            s.advice("across", roots),
        ]
        for names, s in ordered
    ]


def plain(tables: PublishableTables) -> dict[str, Any]:
    """The report as JSON data; as private as the release."""

    def one(s: ComparedTable) -> dict[str, Any]:
        return {**vars(s.fit), "sigma": s.table.sigma, "cells": int(s.table.values.size)}

    return {
        "publishable": "made from releases only",
        "verdict": verdict(tables).plain(),
        "roots": tables.roots,
        "one_way": {
            t: {
                n: {**one(s), "released": s.table.values.tolist(), "synthetic": s.synthetic.tolist()}
                for n, s in shown.items()
            }
            for t, shown in tables.singles.items()
        },
        "two_way": {
            about: [{"columns": n, **one(s)} for n, s in shown.items()] for about, shown in tables.pairs.items()
        },
    }
