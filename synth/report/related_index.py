"""The first page and the README of a bundle of related tables: what they are, good for, how to join and cite them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.languages import _, prose
from synth.release import markdown
from synth.release.card import limits
from synth.report import html, index_page, related_publish, released_verdict
from synth.report.bundle_texts import about, cited, good_for, listed, name_of
from synth.report.documents.pack import Paper
from synth.report.html import commas, number
from synth.report.related_picture import picture
from synth.report.related_publish import PublishableTables
from synth.schema.dataset import Dataset


def render(publishable: PublishableTables, card: Mapping[str, Any], documents: Sequence[Paper] = ()) -> str:
    """The page. ``publishable``: the publishable report. ``documents``: that lie beside it.

    **Guarantee**: that of the release: it rests on releases, public facts and the card alone.

    Privacy: released answers only.
    """
    schema, named = publishable.schema, name_of(card, several=True)
    rows = card["rows"]["tables"]
    root = schema.root
    return html.render(
        "related_index.html",
        title=named,
        mark=None,
        about=card,
        made_up=limits.MADE_UP,
        picture=picture(schema),
        extent=", ".join(_("{table} of {n} rows").format(table=t, n=commas(rows[t])) for t in schema.downwards),
        limits=[prose(line) for line in limits.sentences(card)],
        uses=uses(publishable),
        cite=index_page.cite(named, card),
        joined=joined(schema),
        columns=list(_columns(schema)),
        tables=[_line(schema, t, rows[t]) for t in schema.downwards],
        documents=index_page.listed(documents),
        files=files(card, schema, documents),
        starts=[
            (
                _("The tables"),
                f"{root}.csv",
                _("and {others}; opens in a spreadsheet; a .parquet file of each for programs").format(
                    others=", ".join(f"{t}.csv" for t in schema.downwards[1:])
                ),
            ),
            *index_page.starts(card),
        ],
    )


def _line(schema: Dataset, table: str, rows: int) -> tuple[str, ...]:
    key, below = schema.key_above(table), schema.keys_below(table)
    own = ", ".join(below[0].referred) if below else ""
    above = (
        ("", "")
        if key is None
        else (
            _("{table}, by {columns}").format(table=key.parent, columns=", ".join(key.columns)),
            str(key.most_children),
        )
    )
    return (table, f"{table}.csv", commas(rows), own, *above)


def _columns(schema: Dataset) -> Iterator[tuple[str, list[str], list[tuple[str, ...]]]]:
    for table in schema.downwards:
        own = schema.tables[table]
        yield table, index_page.head(own), index_page.columns(own)


def joined(schema: Dataset) -> str:
    """A few lines of Python that join every table to the one above it."""
    lines = ["import pandas as pd", ""]
    lines += [f"table_{i} = pd.read_parquet({f'{t}.parquet'!r})" for i, t in enumerate(schema.downwards)]
    for key in schema.keys:
        low, high = (f"table_{schema.downwards.index(t)}" for t in (key.child, key.parent))
        lines.append(
            f"{low} = {low}.merge({high}, left_on={list(key.columns)!r}, right_on={list(key.referred)!r}, "
            "suffixes=('', '_above'))"
        )
    return "\n".join(lines)


def uses(publishable: PublishableTables) -> list[tuple[str, list[str]]]:
    """The verdict by heading, with what holds of all synthetic tables."""
    noise = [s.table.sigma for shown in publishable.singles.values() for s in shown.values()]
    care = [
        *map(prose, released_verdict.small_groups(noise, publishable.schema.root)),
        _("results that matter: confirm them on the real tables, through whoever holds them"),
    ]
    return index_page.sorted_out(
        related_publish.verdict(publishable), care, linking=_("linking with other tables row by row: keys are made up")
    )


def files(card: Mapping[str, Any], schema: Dataset, documents: Sequence[Paper] = ()) -> list[tuple[str, str]]:
    """What each file of a bundle is."""
    rows = card["rows"]["tables"]
    results = [(f"{n}.csv, {n}.parquet", _belongs(schema, n, rows[n])) for n in schema.tables]
    public = _("a public table, as it is")
    results += [(f"{n}.csv", public) for n in schema.public or {} if n in card["tables_sha256"]]
    return [
        *results,
        *_plain("index.html"),
        ("schema.json", _("the public facts of tables, columns and keys")),
        *_plain("card.html", "report.html", "release.json", "model.json"),
        *([("documents/", about(documents))] if documents else []),
        ("croissant.json, ro-crate-metadata.json, dcat.jsonld, csv-metadata.json, CITATION.cff", cited()),
        *_plain("MANIFEST.sha256"),
    ]


def _plain(*names: str) -> list[tuple[str, str]]:
    return [(n, what.replace("`", "")) for n, what in listed(*names)]


def _belongs(schema: Dataset, table: str, rows: int) -> str:
    key, many = schema.key_above(table), commas(rows)
    if key is None:
        return _("{n} synthetic rows").format(n=many)
    return _("{n} synthetic rows, each of one row of {parent} ({columns})").format(
        n=many, parent=key.parent, columns=", ".join(key.columns)
    )


def readme(card: Mapping[str, Any], schema: Dataset, documents: Sequence[Paper] = ()) -> str:
    """What the bundle is and holds, as Markdown.

    Privacy: released answers only.
    """
    lines = [f"| `{name}` | {markdown.text(what)} |" for name, what in files(card, schema, documents)]
    what = _(
        "Synthetic tables that belong together. They are no copies: {made_up}. Made from private tables with "
        "differential privacy, epsilon {epsilon} and delta {delta}; the unit is {unit}."
    ).format(
        made_up=prose(limits.MADE_UP),
        epsilon=number(card["epsilon"]),
        delta=number(card["delta"]),
        unit=markdown.text(prose(card["unit_in_words"])),
    )
    more = _("To draw more: install the library in the version that the card names, then")
    return (
        f"# {markdown.text(name_of(card, several=True))}\n\n{what}\n\n{good_for(card)}| {_('file')} | |\n|---|---|\n"
        + "\n".join(lines)
        + f"\n\n{more}\n\n    synth sample . --num-roots 1000 --out more\n    synth card check card.json\n"
    )
