"""The files of a release of related tables: a CSV file a table, the schema, the card, the answers and the model."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from synth.errors import InputError, UsageError
from synth.generators.nested_mixture.model import NestedMixture
from synth.generators.product_mixture import check_state
from synth.questions import LinkedRelease, Release
from synth.questions.linked import placed
from synth.release import folder, store
from synth.schema import csv_injection, related, whole_files
from synth.schema.related import Related
from synth.sources.formats import files
from synth.sources.formats.text_table import Table

KIND = "related-model"


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """A model of related tables as read back."""

    card: dict[str, Any]
    model: NestedMixture


def check_out(out: Path | None, schema: Related) -> None:
    """Refuses a folder that cannot be written, before anything is spent. Errors: UsageError."""
    folder.check_out(out)
    if out is None:
        return
    for name in [*schema.tables, *(schema.public or {})]:
        if (taken := out / f"{name}.csv").exists() and not taken.is_file():
            raise UsageError(f"--out {out}: {taken.name} there cannot be written over; name another folder")


def write_tables(
    out: Path, tables: Mapping[str, Iterable[Mapping[str, pa.Array]]], schema: Related, *, raw_text: bool
) -> dict[str, str]:
    """A CSV file for each table; returns their paths."""
    out.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, blocks in tables.items():
        paths[name] = str(out / f"{name}.csv")
        folder.write_blocks(Path(paths[name]), blocks, schema.tables[name], raw_text=raw_text)
    return paths


def write(
    out: Path,
    *,
    tables: Mapping[str, Iterable[Mapping[str, pa.Array]]],
    model: NestedMixture,
    releases: Sequence[Release],
    mu: float,
    card: dict[str, Any],
    public: Mapping[str, Table],
    raw_text: bool = False,
) -> dict[str, str]:
    """Writes all files; the card gains each table's SHA-256. Returns their paths, tables under their own names.

    ``public``: tables that are copied as they are, for synthetic rows refer to them.
    """
    with whole_files.folder(out) as draft:
        paths = write_tables(draft, tables, model.schema, raw_text=raw_text)
        paths |= {n: _copied(draft, n, table, raw_text=raw_text) for n, table in public.items()}
        card["csv_text"] = csv_injection.RAW if raw_text else csv_injection.TOLD
        card["tables_sha256"] = {name: _digest(Path(path)) for name, path in paths.items()}
        schema = json.loads(model.schema.to_json())
        packed, arrays = store.pack(releases)
        state, weights = model.state()
        whole_files.write(draft / "schema.json", model.schema.to_json())
        whole_files.write(draft / "card.json", json.dumps(card, indent=2, ensure_ascii=False) + "\n")
        about = {"method": card["method"], "card": dict(card), "schema": schema}
        told = {"format": "facsimile-related-release/1", **about, "setting": {"mu": mu}, **packed}
        store.save(draft / "release.json", told, arrays)
        store.save(draft / "model.json", {"format": f"facsimile-{KIND}/1", **about, "model": state}, weights)
    own = {n: str(out / f"{n}.json") for n in ("schema", "card", "release", "model")}
    return {**own, **{f"table {n}": str(out / Path(p).name) for n, p in paths.items()}}


def _copied(out: Path, name: str, table: Table, *, raw_text: bool) -> str:
    """A public table as a CSV file; returns its path."""
    path = out / f"{name}.csv"
    columns: dict[str, Any] = {}
    for column in table.names:
        text = table.column(column)
        values = [str(v) for v in text.values]
        known = frozenset(values)
        columns[column] = pa.array(values if raw_text else [csv_injection.marked(v, known) for v in values]).take(
            pa.array(text.codes)
        )
    files.write(path, columns if raw_text else {csv_injection.marked(n, columns): c for n, c in columns.items()})
    return str(path)


def public_beside(path: str | Path, stored: StoredModel) -> dict[str, Path]:
    """By name the public tables that lie beside a stored model as they were released; one that is gone is left out.

    Errors: InputError for a file that was changed since. Privacy: public only.
    """
    place, found = Path(path), {}
    hashes = stored.card.get("tables_sha256", {})
    for name in stored.model.schema.public or {}:
        file = (place if place.is_dir() else place.parent) / f"{name}.csv"
        if name in hashes and file.is_file():
            if _digest(file) != hashes[name]:
                raise InputError(f"{file}: not the public table as it was released; put that back, or take it away")
            found[name] = file
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_related(path: str | Path) -> bool:
    """Whether a model file, or the folder that holds model.json, is of related tables; no file is refused here."""
    place = Path(path)
    place = place / "model.json" if place.is_dir() else place
    if not place.is_file():  # opening a pipe would wait for ever
        return False
    try:
        with place.open("rb") as file:
            return f'"facsimile-{KIND}/1"'.encode() in file.read(4096)
    except OSError:
        return False


@dataclass(frozen=True, kw_only=True)
class StoredRelease:
    """A release of related tables as read back."""

    card: dict[str, Any]
    schema: Related
    releases: list[LinkedRelease]


def load_release(path: str | Path) -> StoredRelease:
    """A stored release (release.json or its folder). Errors: InputError when it is missing or damaged."""
    place = Path(path)
    plain, arrays = store.load(place / "release.json" if place.is_dir() else place, kind="related-release")
    schema = related.parse(plain.get("schema"), name=f"{path}: schema")
    check_state.check_numbers(arrays, what="release")
    found = store.unpack(plain, arrays)
    try:
        for release in found:
            for bins in store.bins_of(release):
                table, column, _ = placed(bins.column)
                if schema.learnt(table).columns[column].cells != bins.cells:
                    raise InputError(f"the release is damaged: it does not fit {table}.{column} of its own schema")
        if not all(isinstance(r, LinkedRelease) for r in found):
            raise TypeError
        return StoredRelease(card=dict(plain["card"]), schema=schema, releases=found)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path}: the release is damaged; make it again or use another copy") from None


def load_model(path: str | Path) -> StoredModel:
    """A stored model (model.json or its folder). Errors: InputError when it is missing or damaged."""
    place = Path(path)
    plain, arrays = store.load(place / "model.json" if place.is_dir() else place, kind=KIND)
    schema = related.parse(plain.get("schema"), name=f"{path}: schema")
    try:
        return StoredModel(card=dict(plain["card"]), model=NestedMixture.from_state(schema, plain["model"], arrays))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path}: the model is damaged; make it again or use another copy") from None
