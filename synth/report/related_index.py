"""The first page and the README of a bundle of related tables: what they are, good for, how to join and cite them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.release import markdown
from synth.release.card import limits
from synth.report import html, index_page, related_publish, released_verdict
from synth.report.bundle_texts import CITED, about, good_for
from synth.report.documents.pack import Paper
from synth.report.related_picture import picture
from synth.report.related_publish import PublishableTables
from synth.schema.dataset import Dataset

MEANS = ("distance", "from_noise")
STARTS = "opens in a spreadsheet; a .parquet file of each for programs"


def render(publishable: PublishableTables, card: Mapping[str, Any], documents: Sequence[Paper] = ()) -> str:
    """The page. ``publishable``: the publishable report. ``documents``: that lie beside it.

    **Guarantee**: that of the release: it rests on releases, public facts and the card alone.

    Privacy: released answers only.
    """
    schema, named = publishable.schema, name_of(card)
    rows = card["rows"]["tables"]
    root = schema.root
    return html.render(
        "related_index.html",
        title=named,
        mark=None,
        about=card,
        made_up=limits.MADE_UP,
        picture=picture(schema),
        extent=", ".join(f"{t} of {rows[t]:,} rows" for t in schema.downwards),
        limits=limits.sentences(card),
        uses=uses(publishable),
        cite=index_page.cite(named, card),
        joined=joined(schema),
        columns=list(_columns(schema)),
        tables=[_line(schema, t, rows[t]) for t in schema.downwards],
        documents=index_page.listed(documents),
        files=files(card, schema, documents),
        starts=[
            ("The tables", f"{root}.csv", f"and {', '.join(f'{t}.csv' for t in schema.downwards[1:])}; {STARTS}"),
            ("What was measured", "report.html", "the released noisy counts beside these tables, with intervals"),
            (
                "What is guaranteed",
                "card.html",
                f"epsilon {card['epsilon']:g}, delta {card['delta']:g}, and all that they rest on",
            ),
        ],
    )


def name_of(card: Mapping[str, Any]) -> str:
    """What the steward calls the tables."""
    return str(card.get("deployment", {}).get("name") or f"Synthetic tables {card.get('dataset') or ''}".strip())


def _line(schema: Dataset, table: str, rows: int) -> tuple[str, ...]:
    key, below = schema.key_above(table), schema.keys_below(table)
    own = ", ".join(below[0].referred) if below else ""
    above = ("", "") if key is None else (f"{key.parent}, by {', '.join(key.columns)}", str(key.most_children))
    return (table, f"{table}.csv", f"{rows:,}", own, *above)


def _columns(schema: Dataset) -> Iterator[tuple[str, list[str], list[tuple[str, ...]]]]:
    for table in schema.downwards:
        own = schema.tables[table]
        reported = ["meaning"] if any(c.description for c in own.columns.values()) else []
        yield table, ["column", "kind", "values", *reported], index_page.columns(own)


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
        *released_verdict.small_groups(noise, publishable.schema.root),
        "results that matter: confirm them on the real tables, through whoever holds them",
    ]
    return index_page.sorted_out(
        related_publish.verdict(publishable), care, linking="linking with other tables row by row: keys are made up"
    )


def files(card: Mapping[str, Any], schema: Dataset, documents: Sequence[Paper] = ()) -> list[tuple[str, str]]:
    """What each file of a bundle is."""
    rows = card["rows"]["tables"]
    results = [(f"{n}.csv, {n}.parquet", f"{rows[n]:,} synthetic rows{_belongs(schema, n)}") for n in schema.tables]
    results += [(f"{n}.csv", "a public table, as it is") for n in schema.public or {} if n in card["tables_sha256"]]
    return [
        *results,
        ("index.html", "begin here: what this is, what it is good for, how to analyse and to cite it"),
        ("schema.json", "the public facts of tables, columns and keys"),
        ("card.html", "the release card: what is guaranteed and how; also card.md, and card.json for programs"),
        ("report.html", "the released noisy counts beside the synthetic tables; also report.json"),
        ("release.json, release.safetensors", "everything that was released about the private tables"),
        ("model.json, model.safetensors", "the model, from which more rows can be drawn"),
        *([("documents/", about(documents))] if documents else []),
        ("croissant.json, ro-crate-metadata.json, dcat.jsonld, csv-metadata.json, CITATION.cff", CITED),
        ("MANIFEST.sha256", "checksums; sha256sum -c MANIFEST.sha256 verifies them"),
    ]


def _belongs(schema: Dataset, table: str) -> str:
    key = schema.key_above(table)
    return "" if key is None else f", each of one row of {key.parent} ({', '.join(key.columns)})"


def readme(card: Mapping[str, Any], schema: Dataset, documents: Sequence[Paper] = ()) -> str:
    """What the bundle is and holds, as Markdown.

    Privacy: released answers only.
    """
    lines = [f"| `{name}` | {markdown.text(what)} |" for name, what in files(card, schema, documents)]
    return (
        f"# {markdown.text(name_of(card))}\n\nSynthetic tables that belong together. They are no copies: no row "
        "was taken from a private table; each was drawn from a model of noisy answers. Made from private tables with "
        f"differential privacy, epsilon {card['epsilon']:g} and delta {card['delta']:g}; the unit "
        f"is {markdown.text(card['unit_in_words'])}.\n\n{good_for(card)}| file | |\n|---|---|\n"
        + "\n".join(lines)
        + "\n\n"
        "To draw more: install the library in the version that the card names, then\n\n"
        "    synth sample . --num-roots 1000 --out more\n    synth card check card.json\n"
    )
