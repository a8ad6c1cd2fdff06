"""One file for the world, of related tables: every part checked against the others, keys and bounds too.

Only the files named here go in: the steward's reports, job folders and logs lie elsewhere and cannot.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import InputError, UsageError, reading
from synth.evaluate.read_sample import Seeded
from synth.release import folder as single
from synth.release import related_folder
from synth.release.card import verify
from synth.release.card.choice import own
from synth.release.card.statements import UNCOVERED, complete, deployment, registry, uncovered
from synth.report import bundle, card_page, chosen_release, related_index, related_publish
from synth.report.documents import pack
from synth.schema import codec, related
from synth.schema.related import Related
from synth.sources.formats import files
from synth.sources.formats.text_table import Table

STORED = ("schema.json", "release.json", "release.safetensors", "model.json", "model.safetensors")


def make(
    release: str | Path,
    out: str | Path,
    *,
    facts: Mapping[str, Any] | None = None,
    how: str | None = None,
    candidates: Sequence[str | Path] = (),
    paid: str | Path | None = None,
    ledger: str | Path | None = None,
) -> bundle.Bundled:
    """Writes one zip of a release of related tables, as ``bundle.make`` does of a single table's.

    Errors: InputError for a release with seeded noise, or a part that is missing, damaged, or breaks a key; UsageError.

    **Guarantee**: that of the release: every part derives from releases, public facts and what the steward states.

    Privacy: released answers only.
    """
    folder, place = Path(release), Path(out)
    folder = folder.parent if folder.suffix == ".json" else folder
    if place.suffix != ".zip":
        raise UsageError(f"--out {out}: name a .zip file")
    if paid is not None:
        raise UsageError("--paid: counts that decide are of single tables; leave it out")
    with reading(folder, "release"):
        schema = checked(folder)
        card = complete(chosen_release.settle(folder, how, candidates=candidates, ledger=ledger))
        card["deployment"] = deployment({**card.get("deployment", {}), **(facts or {})})
        if uncovered(card):
            raise InputError(
                f"{UNCOVERED}: this release was chosen by its comparison with the real rows, which no "
                "epsilon covers; release all candidates, or one that was chosen otherwise"
            )
        verify.check(card)
        card["registry"] = registry(card)
        parts = _parts(folder, schema, card)
        parts["MANIFEST.sha256"] = bundle.manifest(parts)
        bundle.zip_file(place, parts)
    return bundle.Bundled(
        path=str(place), sha256=hashlib.sha256(place.read_bytes()).hexdigest(), parts=tuple(sorted(parts)), card=card
    )


def checked(folder: Path) -> Related:
    """The release's schema, every part read and held against the others. Errors: InputError.

    Privacy: released answers only.
    """
    for name in (*STORED, "card.json"):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: {name} is missing; make the release again or use another copy")
    card, schema = verify.load(folder), related.load(folder / "schema.json")
    stored, model = related_folder.load_release(folder), related_folder.load_model(folder)
    if any(bundle.seeded(c) for c in (stored.card, model.card, card)):
        raise InputError(
            "this release was made with seeded noise, which protects nothing; run it again without a "
            "seeded noise source"
        )
    verify.check(own(card))
    if any(bundle.claims(card) != bundle.claims(other) for other in (stored.card, model.card)):
        raise InputError(f"{folder}: card, release and model make different claims; use another copy")
    text = schema.to_json()
    if hashlib.sha256(text.encode()).hexdigest() != card["schema_sha256"] or any(
        s.to_json() != text for s in (stored.schema, model.model.schema)
    ):
        raise InputError(f"{folder}: schema.json is not the schema of card, release and model; use another copy")
    told = card["tables_sha256"]
    for name in [*schema.tables, *(n for n in schema.public or {} if n in told)]:
        path = folder / f"{name}.csv"
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != told.get(name):
            raise InputError(f"{path}: is not the table that the card names; use another copy")
    tables = {name: _table(folder, schema, name, rows=int(card["rows"]["tables"][name])) for name in schema.tables}
    for problem in broken(schema, tables):
        raise InputError(f"{folder}: {problem}; use another copy")
    return schema


def _table(folder: Path, schema: Related, name: str, *, rows: int) -> Table | None:
    """A table whose every cell its schema knows; None where it has no row."""
    path, own_schema = folder / f"{name}.csv", schema.tables[name]
    if files.header(path) != list(own_schema.columns):
        raise InputError(f"{path}: its columns are not the schema's; use another copy")
    if not rows:
        return None
    table = files.read(path, columns=list(own_schema.columns))
    found = codec.encode(table, own_schema, Seeded(np.random.default_rng(0)))  # no privacy noise: it is synthetic
    strange = sum(found.clamped.values()) + sum(found.unreadable.values())
    if table.num_rows != rows or strange:
        raise InputError(
            f"{path}: damaged ({table.num_rows} rows of {rows}, {strange} cells that its schema does not "
            "know); use another copy"
        )
    return table


def broken(schema: Related, tables: Mapping[str, Table | None]) -> Iterator[str]:
    """A sentence for each key that the tables break: it finds no parent, stands twice above, or has too many rows.

    Privacy: released answers only.
    """
    for key in schema.keys:
        child, parent = tables[key.child], tables[key.parent]
        if child is None:
            continue
        below = _keys(child, key.columns)
        above = below[:0] if parent is None else _keys(parent, key.referred)
        if above.has_duplicates:
            yield f"{key.parent}: a key stands twice"
        if not below.isin(above).all():
            yield f"{key.child}: a row's key is not one of {key.parent}"
        most = int(below.value_counts().iloc[0])
        if most > key.most_children:
            yield f"{key.child}: a row of {key.parent} has {most} rows, more than {key.most_children}"


def _keys(table: Table, columns: Sequence[str]) -> pd.Index:
    """The key of each row, (rows,)."""
    texts = [np.asarray(table.column(c).values, dtype=object)[table.column(c).codes] for c in columns]
    return pd.Index(texts[0]) if len(texts) == 1 else pd.MultiIndex.from_arrays(texts)


def _parts(folder: Path, schema: Related, card: Mapping[str, Any]) -> dict[str, bytes]:
    """All parts, those written anew from the release and the card."""
    parts = {name: (folder / name).read_bytes() for name in STORED}
    if (card.get("selection") or {}).get("charges"):  # whoever draws again must find the same claim
        parts |= {name: bundle.carrying(parts[name], card) for name in ("release.json", "model.json")}
    tables = [*schema.tables, *(n for n in schema.public or {} if n in card["tables_sha256"])]
    parts |= {f"{name}.csv": (folder / f"{name}.csv").read_bytes() for name in tables}
    parts |= {
        f"{name}.parquet": _parquet(folder, schema, name) for name in schema.tables if card["rows"]["tables"][name]
    }
    found = related_publish.gather(folder)
    made = {
        "card.json": json.dumps(card, indent=2, ensure_ascii=False) + "\n",
        "card.md": card_page.render_markdown(card),
        "card.html": card_page.render_html(card),
        "report.html": related_publish.page(found, card=card),
        "report.json": json.dumps(related_publish.plain(found), indent=1, ensure_ascii=False) + "\n",
        "index.html": related_index.render(found, card),
        "README.md": related_index.readme(card, schema),
    }
    parts |= {n: t.encode() for n, t in made.items()}
    return parts | pack.parts(related_folder.load_release(folder), card, parts)


def _parquet(folder: Path, schema: Related, name: str) -> bytes:
    facts = schema.tables[name]
    table = files.read(folder / f"{name}.csv", columns=list(facts.columns))
    texts = {n: single.unmarked(table.column(n), single.known_texts(facts.columns[n])) for n in facts.columns}
    with tempfile.TemporaryDirectory() as place:
        single.write_table(Path(place) / "table.parquet", texts, facts)
        return (Path(place) / "table.parquet").read_bytes()
