"""One file for the world: everything a release consists of, checked part by part, and nothing that is not released.

Only the files named here go in: the steward's report, job folders and logs lie elsewhere and cannot.
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import InputError, UsageError, reading
from synth.evaluate.read_sample import Seeded
from synth.files import whole_files
from synth.release import dialect_copy
from synth.release import folder as bundle
from synth.release.card import papers, verify
from synth.release.card.choice import TOTALS, own
from synth.release.card.statements import UNCOVERED, complete, registry, uncovered
from synth.release.folder import StoredRelease
from synth.report import (
    bundle_texts,
    card_page,
    chosen_release,
    index_page,
    pdf,
    publish,
    related_index,
    related_publish,
)
from synth.report.documents import pack
from synth.schema import codec
from synth.schema.dataset import ONE, Dataset, load_any
from synth.schema.table import Schema
from synth.schema.tree import Tables
from synth.sources.formats import files
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.text_table import Table

ASIDE = {"selection", "deployment", "registry", "verdict", *complete({})}  # what a card may add after it was stored
AS_STORED = ("schema.json", "release.json", "release.safetensors", "model.json", "model.safetensors")
SEEDED = "SEEDED"  # how the names of noise sources begin that are for tests
STAMP = (1980, 1, 1, 0, 0, 0)  # the same files make the same zip, whenever it is made


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """A bundle: its file, its SHA-256, the names of its parts, those of papers that nobody has finished, the card."""

    path: str
    sha256: str
    parts: tuple[str, ...]
    unfinished: tuple[str, ...]
    card: dict[str, Any] = field(repr=False)

    def plain(self) -> dict[str, Any]:
        """All but the card, with its guarantee, as JSON data."""
        reported = {"epsilon": self.epsilon, "delta": self.delta, "own_epsilon": self.own_epsilon}
        return {
            "path": self.path,
            "sha256": self.sha256,
            "parts": list(self.parts),
            "unfinished": list(self.unfinished),
            **reported,
            "choice": self.how,
            "counted": self.counted,
            "verdict": self.card["verdict"],
        }

    @property
    def epsilon(self) -> float:
        """Of the release with all that its choice rests on."""
        return float(self.card["epsilon"])

    @property
    def delta(self) -> float:
        """As ``epsilon``."""
        return float(self.card["delta"])

    @property
    def own_epsilon(self) -> float:
        """Of its run alone."""
        return float(own(self.card)["epsilon"])

    @property
    def how(self) -> str:
        """The way it was chosen, a key of ``statements.CHOICES``."""
        return str(self.card["selection"]["how"])

    @property
    def chosen(self) -> str:
        """As ``how``, in words."""
        return str(self.card["selection"]["in_words"])

    @property
    def counted(self) -> int:
        """How many other lines of the ledger are in the sum."""
        return len(self.card["selection"].get("charges") or [])


def make(
    release: str | Path,
    out: str | Path,
    *,
    facts: Mapping[str, Any] | None = None,
    how: str | None = None,
    candidates: Sequence[str | Path] = (),
    paid: str | Path | None = None,
    ledger: str | Path | None = None,
    unfinished: bool = False,
    as_pdf: bool = False,
) -> Bundled:
    """Writes one zip of a release's folder. The same release, chosen in the same way, makes the same bytes.

    ``facts``: what only the steward knows (``papers.FIELDS``); papers that it does not complete stay out, unless they
    are asked for ``unfinished``; ``as_pdf`` adds report, card and papers as one PDF. ``how``, ``candidates``,
    ``paid`` and ``ledger``: how the release was chosen among candidates, as of ``chosen_release.settle``.

    Errors: InputError for a release that was made with seeded noise, was chosen in a way that no epsilon covers, or has
    a part that is missing, damaged or breaks a key; UsageError for ``out``, and for a choice that must be stated.

    **Guarantee**: that of the release: every part derives from releases, public facts and what the steward states.

    Privacy: released answers only.
    """
    folder, out = Path(release), Path(out)
    folder = folder.parent if folder.suffix == ".json" else folder
    if not folder.exists():
        raise InputError(f"{folder}: no such folder; name the folder that a run wrote")
    if out.suffix != ".zip":
        raise UsageError(f"`out={out}`: name a .zip file")
    if paid is not None and bundle.is_related(folder):
        raise UsageError("`paid=`: counts that decide are of single tables; leave it out")
    with reading(folder, "release"):
        stored = checked(folder)
        card = complete(chosen_release.settle(folder, how, candidates=candidates, paid=paid, ledger=ledger))
        return _packed(folder, out, stored, card, facts=facts or {}, unfinished=unfinished, as_pdf=as_pdf)


def _packed(
    folder: Path,
    out: Path,
    stored: StoredRelease,
    card: dict[str, Any],
    *,
    facts: Mapping[str, Any],
    unfinished: bool,
    as_pdf: bool,
) -> Bundled:
    card["deployment"] = papers.checked({**card.get("deployment", {}), **facts})
    if uncovered(card):
        raise InputError(
            f"{UNCOVERED}: this release was chosen by its comparison with the real rows, which no epsilon "
            "covers; release all candidates, or one that was chosen otherwise"
        )
    verify.check(card)
    card["registry"] = registry(card)
    result = related_publish.gather(folder) if stored.schema.tree is not None else publish.gather(folder)
    card["verdict"] = publish.judged(result, card).plain()
    twin = [dialect_copy.NAME] if dialect_copy.DIGEST in card else []
    parts = {name: (folder / name).read_bytes() for name in (*AS_STORED, *_tables(stored.schema, card), *twin)}
    if (card.get("selection") or {}).get("charges"):  # whoever draws or fits again must find the same claim
        parts |= {name: carrying(parts[name], card) for name in ("release.json", "model.json")}
    documents = pack.papers(stored, card)
    leaving = [p for p in documents if unfinished or not p.waiting]
    parts |= _made(folder, stored, card, result, leaving)
    parts |= pack.records(stored, card, parts)
    parts |= {p.file: pack.page(p.document).encode() for p in leaving}
    if as_pdf:
        parts[pdf.NAME] = pdf.of_bundle(parts)
    parts["MANIFEST.sha256"] = manifest(parts)
    zip_file(out, parts)
    return Bundled(
        path=str(out),
        sha256=hashlib.sha256(out.read_bytes()).hexdigest(),
        parts=tuple(sorted(parts)),
        unfinished=tuple(p.file for p in documents if p.waiting),
        card=card,
    )


def carrying(content: bytes, card: Mapping[str, Any]) -> bytes:
    """A stored release or model whose card states the choice, and with it the sum, as the bundle's does."""
    plain = json.loads(content)
    plain["card"] |= {name: card[name] for name in (*TOTALS, "meaning", "selection")}
    return (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode()


def checked(folder: Path) -> StoredRelease:
    """The release, every part read and held against the others, keys and bounds too. Errors: InputError.

    Privacy: released answers only.
    """
    single = [] if bundle.is_related(folder) and not bundle.is_one_table(folder) else [f"{ONE}.csv"]
    for name in (*single, *AS_STORED, "card.json"):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: {name} is missing; make the release again or use another copy")
    stored, model = bundle.load_release(folder, tree=None), bundle.load_model(folder, tree=None)
    card = verify.load(folder)
    if any(seeded(c) for c in (stored.card, model.card, card)):
        raise InputError(
            "this release was made with seeded noise, which protects nothing; run it again without a "
            "seeded noise source"
        )
    verify.check(own(card))
    for what, other in (("release.json", stored.card), ("model.json", model.card)):
        if claims(card) != claims(other):
            raise InputError(f"{folder}: card.json and {what} make different claims; use another copy")
    text = load_any(folder / "schema.json").to_json()
    if hashlib.sha256(text.encode()).hexdigest() != card["schema_sha256"]:
        raise InputError(f"{folder}: schema.json is not the schema that the card names; use another copy")
    if stored.schema.to_json() != text or model.schema.to_json() != text:
        raise InputError(f"{folder}: the schemas of release and model differ from schema.json; use another copy")
    for name, reported in _tables(stored.schema, card).items():
        file = folder / name
        if reported is not None and not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == reported):
            raise InputError(f"{folder}: {name} is not the table that the card names; use another copy")
    made = stored.schema.written
    rows = card["rows"].get("tables", {ONE: card["rows"]["synthetic"]})
    tables = {name: _read(folder / f"{name}.csv", schema, rows=int(rows[name])) for name, schema in made.items()}
    for problem in broken(stored.schema, tables):
        raise InputError(f"{folder}: {problem}; use another copy")
    if dialect_copy.DIGEST in card:
        _check_twin(folder, made[ONE], tables[ONE], message=str(card[dialect_copy.DIGEST]), rows=int(rows[ONE]))
    return stored


def _tables(schema: Schema | Dataset, card: Mapping[str, Any]) -> dict[str, str | None]:
    """The files of synthetic tables, and of public ones that went with them, with the SHA-256 that the card names."""
    reported = card.get("tables_sha256", {ONE: card.get("synthetic_sha256")})
    public = [n for n in schema.public or {} if n in reported]
    return {f"{n}.csv": reported.get(n, "none") for n in (*schema.written, *public)}


def seeded(card: Mapping[str, Any]) -> bool:
    """Whether the noise was not the system's; a word changed in a card does not make it so."""
    return card.get("exportable") is not True or str(card.get("noise_source", SEEDED)).startswith(SEEDED)


def claims(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says of its release, without what may be added later."""
    return json.loads(json.dumps({k: v for k, v in own(card).items() if k not in ASIDE}))


def _check_twin(folder: Path, schema: Schema, table: Table | None, *, message: str, rows: int) -> None:
    """The table in the schema's dialect is there, is the one that the card names, and holds the same rows."""
    if not (folder / dialect_copy.NAME).is_file():
        raise InputError(f"{folder}: {dialect_copy.NAME} is missing; make the release again or use another copy")
    if dialect_copy.digest(folder) != message:
        raise InputError(f"{folder}: {dialect_copy.NAME} is not the table that the card names; use another copy")
    again = _read(folder / dialect_copy.NAME, schema, rows=rows, reading=Reading.of(schema, delimited=True))
    both = [{} if t is None else _encoded(t, schema).positions for t in (table, again)]
    if any(not np.array_equal(both[0][n], both[1][n]) for n in both[0]):
        raise InputError(f"{folder}: {dialect_copy.NAME} holds other rows than synthetic.csv; use another copy")


def _read(place: Path, schema: Schema, *, rows: int, reading: Reading = PLAIN) -> Table | None:
    """A table: every cell is one that the schema knows, and no column is there that it does not name.

    None where it has no row.
    """
    if files.header(place, dialect=reading.dialect) != list(schema.columns):
        raise InputError(f"{place}: its columns are not the schema's; use another copy")
    if not rows:
        return None
    table = files.read(place, columns=list(schema.columns), reading=reading)
    result = _encoded(table, schema)
    strange = sum(result.clamped.values()) + sum(result.unreadable.values())
    if table.num_rows != rows or strange:
        reason = f"{strange} cells that its schema does not know" if strange else f"{table.num_rows} rows, not {rows}"
        remedy = "make it again with `synth.Release.refit`" if place.name.startswith(ONE) else "use another copy"
        raise InputError(f"{place}: damaged ({reason}); {remedy}")
    return table


def _encoded(table: Table, schema: Schema) -> codec.Encoded:
    return codec.encode(table, schema, Seeded(np.random.default_rng(0)))  # no privacy noise: the table is synthetic


def broken(schema: Tables, tables: Mapping[str, Table | None]) -> Iterator[str]:
    """A sentence for each key that the tables break: it finds no parent, stands twice above, or has too many rows.

    Privacy: released answers only.
    """
    if schema.one_table:
        yield from _broken_persons(schema, tables[ONE])
    for key in schema.keys if schema.several else ():
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


def _broken_persons(schema: Tables, table: Table | None) -> Iterator[str]:
    """A person has too many rows, or two values where one is a person's own."""
    key = schema.keys[0]
    if table is None:
        return
    person, named = _keys(table, key.columns), key.columns[0]
    if int(person.value_counts().iloc[0]) > key.most_children:
        yield f"a {named} has more than {key.most_children} rows"
    for name in schema.tables[schema.root].measured():
        if pd.MultiIndex.from_arrays([person, _keys(table, [name])]).unique().size > person.unique().size:
            yield f"a {named} has several values of {name}, of which it should have one"


def _keys(table: Table, columns: Sequence[str]) -> pd.Index:
    """The key of each row, (rows,)."""
    texts = [np.asarray(table.column(c).values, dtype=object)[table.column(c).codes] for c in columns]
    return pd.Index(texts[0]) if len(texts) == 1 else pd.MultiIndex.from_arrays(texts)


def _made(
    folder: Path, stored: StoredRelease, card: Mapping[str, Any], result: Any, documents: Sequence[pack.Paper]
) -> dict[str, bytes]:
    """The parts that are written anew, all from the release and the card."""
    made = {
        "card.json": json.dumps(card, indent=2, ensure_ascii=False) + "\n",
        "card.md": card_page.render_markdown(card),
        "card.html": card_page.render_html(card),
    }
    if stored.schema.one_table:
        report, plain = related_publish.page(result, card=card), related_publish.plain(result)
        said = related_index.uses(result)
        made["index.html"] = index_page.render(None, stored.schema.stated, card, documents, said=said)
        made["README.md"] = bundle_texts.readme(card, documents)
    elif stored.schema.several:
        report, plain = related_publish.page(result, card=card), related_publish.plain(result)
        made["index.html"] = related_index.render(result, card, documents)
        made["README.md"] = related_index.readme(card, stored.schema, documents)
    else:
        report, plain = publish.publishable_page(result, folder, card=card), publish.plainly(result, card)
        made["index.html"] = index_page.render(result, stored.schema, card, documents)
        made["README.md"] = bundle_texts.readme(card, documents)
        made["reproduce.py"] = bundle_texts.REPRODUCE
    made |= {"report.html": report, "report.json": json.dumps(plain, indent=1, ensure_ascii=False) + "\n"}
    rows = card["rows"].get("tables", {})
    full = {n: s for n, s in stored.schema.written.items() if rows.get(n, 1)}
    typed = {f"{n}.parquet": _parquet(folder / f"{n}.csv", s) for n, s in full.items()}
    return {**{n: t.encode() for n, t in made.items()}, **typed}


def _parquet(table: Path, schema: Schema) -> bytes:
    texts = bundle.read_texts(table, schema)
    with tempfile.TemporaryDirectory() as name:
        bundle.write_table(Path(name) / "synthetic.parquet", texts, schema)
        return (Path(name) / "synthetic.parquet").read_bytes()


def manifest(parts: Mapping[str, bytes]) -> bytes:
    """Checksums of all parts, as ``sha256sum`` writes them."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(parts.items())]
    return "".join(lines).encode()


def zip_file(out: Path, parts: Mapping[str, bytes]) -> None:
    """One zip with fixed times and rights, written whole or not at all."""
    try:
        with (
            whole_files.beside(out) as draft,
            zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file,
        ):
            for name, content in sorted(parts.items()):
                entry = zipfile.ZipInfo(name, STAMP)
                entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
                file.writestr(entry, content)
    except OSError as error:
        raise UsageError(f"`out={out}`: {error.strerror}; choose another place") from None
