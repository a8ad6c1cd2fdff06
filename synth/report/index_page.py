"""What recipients of a bundle read first, its page and its README: what it is and holds, how to cite and analyse it."""

from collections.abc import Sequence

from synth.evaluate.verdict import CARE, HEADINGS, LEVELS, NOT, Verdict
from synth.languages import Texts, _, prose
from synth.release import dialect_copy
from synth.release.card import limits, papers
from synth.release.card.card import Card
from synth.report import html, words
from synth.report.documents.facts import name_of
from synth.report.documents.pack import Paper
from synth.report.publishable import Publishable, verdict
from synth.report.related_picture import picture
from synth.schema.table import Column, Schema, Tables

KINDS = Texts(
    {
        "categorical": "one of a list",
        "ordinal": "one of an ordered list",
        "boolean": "two values",
        "integer": "whole number",
        "float": "number",
        "datetime": "date or time",
        "identifier": "counter, made up",
        "omitted": "left out",
    }
)
TIMES = 10  # a group as large as so many times the noise of a count is told to a tenth
BY_DRAWS = ("mixture",)  # methods of whose releases several tables can be drawn that differ as the noise leaves open


def render(
    publishable: Publishable,
    schema: Tables,
    card: Card,
    documents: Sequence[Paper] = (),
) -> str:
    """The page. ``publishable``: the publishable report. ``documents``: that lie beside it.

    **Guarantee**: that of the release: it rests on releases, public facts and the card alone.

    Privacy: released answers only.
    """
    rows = card.row_counts
    written = schema.downwards if schema.several else list(schema.written)
    return html.render(
        "index.html",
        title=name_of(card, several=schema.several),
        mark=None,
        about=card,
        schema=schema,
        made_up=limits.MADE_UP,
        limits=limits.sentences(card),
        uses=uses(publishable, schema, card),
        curators=papers.curators(card.get("deployment", {})),
        draws=not schema.keys and card.get("method") in BY_DRAWS,
        documents=documents,
        files=[(name, what.replace("`", "")) for name, what in parts(card, schema, documents)],
        columns=[(t, *columns(schema.written[t])) for t in written],
        picture=picture(schema) if schema.several else "",
        extent=", ".join(_("{table} of {n} rows").format(table=t, n=html.commas(rows[t])) for t in written),
        tables=[_line(schema, t, rows[t]) for t in schema.downwards] if schema.several else [],
    )


def _line(schema: Tables, table: str, rows: int) -> tuple[str, ...]:
    key, below = schema.key_above(table), schema.keys_below(table)
    own = (table, f"{table}.csv", html.commas(rows), ", ".join(below[0].referred) if below else "")
    if key is None:
        return (*own, "", "")
    above = _("{table}, by {columns}").format(table=key.parent, columns=", ".join(key.columns))
    return (*own, above, str(key.most_children))


def columns(schema: Schema) -> tuple[list[str], list[tuple[str, ...]]]:
    """A head, and each column with its kind and values, and its meaning where any column has one."""
    described = any(c.description for c in schema.columns.values())
    return [_("column"), _("kind"), _("values"), *([_("meaning")] if described else [])], [
        (n, KINDS.get(c.type, c.type), values(c), *([c.description or ""] if described else []))
        for n, c in schema.columns.items()
    ]


def uses(publishable: Publishable, schema: Tables, card: Card) -> list[tuple[str, list[str]]]:
    """What the tables are good for, usable with care for, and not for, as far as what was released can tell."""
    noise, several = max(publishable.noise, default=0.0), bool(schema.keys)
    small = _(
        "groups of fewer than about {n} rows of {of}: the standard deviation of the noise in a count is up to {most} "
        "rows"
    ).format(n=html.commas(TIMES * noise), of=schema.root if several else _("the source"), most=html.commas(noise))
    care = [
        *([small] if publishable.noise else []),
        _("results that matter: confirm them on the real tables, through whoever holds them")
        if several
        else _("results that matter: confirm them on the real table, through whoever holds it"),
    ]
    said = verdict(publishable, card)
    never = [
        _("anything about a single person: no row is anybody's record"),
        _("linking with other tables row by row: keys are made up")
        if several
        else _("linking with other tables row by row"),
        _("rare cases, extremes and outliers, which noise hides on purpose"),
    ]
    more = {CARE: [*([prose(said.unsure)] if said.unsure else []), *care], NOT: never}
    lines = [(str(HEADINGS[n][0]), [u.sentence for u in said.at(n)] + more.get(n, [])) for n in LEVELS]
    return [(title, each) for title, each in lines if each]


def values(column: Column) -> str:
    """What a cell may hold, shortly."""
    if column.is_numeric:
        low, high = column.min, column.max
        return "" if low is None else words.between(low, high)
    names = list(column.labels or column.categories or ())
    if len(names) <= 6:
        return ", ".join(names)
    return _("{first} and {n} more").format(first=", ".join(names[:5]), n=len(names) - 5)


def readme(card: Card, schema: Tables, documents: Sequence[Paper] = ()) -> str:
    """What the bundle is and holds, as Markdown.

    Privacy: released answers only.
    """
    return html.render(
        "readme.md",
        card=card,
        schema=schema,
        name=name_of(card, several=schema.several),
        unit=words.unit(card),
        made_up=limits.MADE_UP,
        verdict=Verdict.read(card.get("verdict", ())).uses,
        files=parts(card, schema, documents),
    )


def parts(card: Card, schema: Tables, documents: Sequence[Paper]) -> list[tuple[str, str]]:
    """Each file of a bundle, and what it is."""
    papers_are = _("papers for a data-protection officer, a repository, an analyst and the people in the data")
    if any(p.waiting for p in documents):
        papers_are = _(
            "papers for a data-protection officer, a repository, an analyst and the people in the data; what is still "
            "to be written is marked"
        )
    if schema.several:
        rows, public = card.row_counts, _("a public table, as it is")
        tables = [(f"{n}.csv, {n}.parquet", _belongs(schema, n, rows[n])) for n in schema.tables]
        tables += [(f"{n}.csv", public) for n in schema.public or {} if n in card["tables_sha256"]]
        facts, columns_file = [("schema.json", _("the public facts of tables, columns and keys"))], "csv-metadata.json"
    else:
        tables = [*described("synthetic.csv"), *described(*[dialect_copy.NAME] * (dialect_copy.DIGEST in card))]
        facts, columns_file = described("schema.json"), "synthetic.csv-metadata.json"
    return [
        *tables,
        *described("index.html"),
        *facts,
        *described("card.html", "report.html", "release.json", "model.json"),
        *described(*["reproduce.py"] * (not schema.keys)),
        *([("documents/", papers_are)] if documents else []),
        (
            f"croissant.json, ro-crate-metadata.json, dcat.jsonld, {columns_file}, CITATION.cff",
            _("records for catalogues (Croissant, RO-Crate, DCAT-AP, CSVW) and for citing"),
        ),
        *described("MANIFEST.sha256"),
    ]


def _belongs(schema: Tables, table: str, rows: int) -> str:
    key, many = schema.key_above(table), html.commas(rows)
    if key is None:
        return _("{n} synthetic rows").format(n=many)
    return _("{n} synthetic rows, each of one row of {parent} ({columns})").format(
        n=many, parent=key.parent, columns=", ".join(key.columns)
    )


def described(*named: str) -> list[tuple[str, str]]:
    """Files of any bundle, a stored release or model with its tensors, and what they are."""
    pairs = {n: f"{n}, {n.replace('.json', '.safetensors')}" for n in ("release.json", "model.json")}
    return [(pairs.get(n, n), PARTS[n]) for n in named]


PARTS = Texts(
    {
        "synthetic.csv": "the table, safe to open in a spreadsheet: text that it would take for a formula (it begins "
        "with = + - or @ and is no number) has an apostrophe before it, unless the card says `raw`; "
        "`synthetic.parquet` is the same without apostrophes, with typed numbers and dates",
        dialect_copy.NAME: "the same table in the encoding, with the separators, decimal marks and dates of the "
        "private one, as `schema.json` states them; protected alike",
        "index.html": "begin here: what this is, what it is good for, how to analyse and to cite it",
        "schema.json": "the public facts of every column",
        "card.html": "the release card: what is guaranteed and how; also `card.md`, and `card.json` for programs",
        "report.html": "the released noisy counts, with intervals, beside the synthetic ones; also `report.json`",
        "release.json": "everything that was released about the private rows",
        "model.json": "the model, from which more rows can be drawn",
        "reproduce.py": "makes model and table again from the release",
        "MANIFEST.sha256": "checksums; `sha256sum -c MANIFEST.sha256` verifies them",
    }
)

REPRODUCE = '''"""Makes the model and the table again from the release beside this script. Needs no private row.

With the seed in the card the table comes out the same, cell by cell, on a like machine with the same versions;
without one it is another sample of the same model.
"""

import json
import sys
from pathlib import Path

import synth

here = Path(__file__).resolve().parent
card = json.loads((here / "card.json").read_text(encoding="utf-8"))
out = Path(sys.argv[1]) if len(sys.argv) > 1 else here / "again"
result = synth.Release(here).refit(num_rows=card["rows"]["synthetic"], seed=card.get("seed"), out=out,
                     raw_text=str(card.get("csv_text", "")).startswith("raw"))
same = (out / "synthetic.csv").read_bytes() == (here / "synthetic.csv").read_bytes()
print(f"{result.num_rows} rows: {out / 'synthetic.csv'}", "(the same table)" if same else "(another sample)")
'''
