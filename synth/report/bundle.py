"""One file for the world: everything a release consists of, checked part by part, and nothing that is not released.

Only the files named here go in: the steward's report, job folders and logs lie elsewhere and cannot.
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import InputError, UsageError, reading
from synth.evaluate.read_sample import Seeded
from synth.release import dialect_copy
from synth.release import folder as bundle
from synth.release.card import verify
from synth.release.card.choice import TOTALS, own
from synth.release.card.statements import UNCOVERED, complete, deployment, registry, uncovered
from synth.release.folder import StoredRelease
from synth.report import bundle_texts, card_page, chosen_release, index_page, publish, publishable
from synth.report.documents import pack
from synth.schema import codec, whole_files
from synth.schema import table as schemas
from synth.sources.formats import files
from synth.sources.formats.cell_formats import PLAIN, Reading

ASIDE = {"selection", "deployment", "registry", *complete({})}  # what a card may add after the release was stored
AS_STORED = ("synthetic.csv", "schema.json", "release.json", "release.safetensors", "model.json", "model.safetensors")
SEEDED = "SEEDED"  # how the names of noise sources begin that are for tests
STAMP = (1980, 1, 1, 0, 0, 0)  # the same files make the same zip, whenever it is made


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """A bundle: its file, its SHA-256, the names of its parts, and the card in it."""

    path: str
    sha256: str
    parts: tuple[str, ...]
    card: dict[str, Any] = field(repr=False)

    def plain(self) -> dict[str, Any]:
        """All but the card, with its guarantee, as JSON data."""
        told = {"epsilon": self.epsilon, "delta": self.delta, "own_epsilon": self.own_epsilon}
        return {
            "path": self.path,
            "sha256": self.sha256,
            "parts": list(self.parts),
            **told,
            "choice": self.how,
            "counted": self.counted,
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
) -> Bundled:
    """Writes one zip of a release's folder. The same release, chosen in the same way, makes the same bytes.

    ``facts``: what only the steward knows (``statements.DEPLOYMENT``). ``how``, ``candidates``, ``paid`` and
    ``ledger``: how the release was chosen among candidates, as of ``chosen_release.settle``. Errors: InputError for a
    release that was made with seeded noise, was chosen in a way that no epsilon covers, or has a missing or damaged
    part; UsageError for ``out``, and for a choice that must be stated.

    **Guarantee**: that of the release: every part derives from releases, public facts and what the steward states.

    Privacy: released answers only.
    """
    folder, out = Path(release), Path(out)
    if out.suffix != ".zip":
        raise UsageError(f"--out {out}: name a .zip file")
    with reading(folder, "release"):
        stored = _checked(folder)
        card = complete(chosen_release.settle(folder, how, candidates=candidates, paid=paid, ledger=ledger))
        return _packed(folder, out, stored, card, facts=facts or {})


def _packed(
    folder: Path, out: Path, stored: StoredRelease, card: dict[str, Any], *, facts: Mapping[str, Any]
) -> Bundled:
    card["deployment"] = deployment({**card.get("deployment", {}), **facts})
    if uncovered(card):
        raise InputError(
            f"{UNCOVERED}: this release was chosen by its comparison with the real rows, which no epsilon "
            "covers; release all candidates, or one that was chosen otherwise"
        )
    verify.check(card)
    card["registry"] = registry(card)
    stored_parts = (*AS_STORED, dialect_copy.NAME) if dialect_copy.DIGEST in card else AS_STORED
    parts = {name: (folder / name).read_bytes() for name in stored_parts}
    if (card.get("selection") or {}).get("charges"):  # whoever draws or fits again must find the same claim
        parts |= {name: carrying(parts[name], card) for name in ("release.json", "model.json")}
    parts |= _made(folder, stored, card)
    parts |= pack.parts(stored, card, parts)
    parts["MANIFEST.sha256"] = manifest(parts)
    zip_file(out, parts)
    return Bundled(
        path=str(out), sha256=hashlib.sha256(out.read_bytes()).hexdigest(), parts=tuple(sorted(parts)), card=card
    )


def carrying(content: bytes, card: Mapping[str, Any]) -> bytes:
    """A stored release or model whose card states the choice, and with it the sum, as the bundle's does."""
    plain = json.loads(content)
    plain["card"] |= {name: card[name] for name in (*TOTALS, "meaning", "selection")}
    return (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode()


def _checked(folder: Path) -> StoredRelease:
    """The release, every part read and held against the others. Errors: InputError."""
    for name in (*AS_STORED, "card.json"):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: {name} is missing; make the release again or use another copy")
    stored, model, card = bundle.load_release(folder), bundle.load_model(folder), verify.load(folder)
    if any(seeded(c) for c in (stored.card, model.card, card)):
        raise InputError(
            "this release was made with seeded noise, which protects nothing; run it again without a "
            "seeded noise source"
        )
    verify.check(own(card))
    for what, other in (("release.json", stored.card), ("model.json", model.card)):
        if claims(card) != claims(other):
            raise InputError(f"{folder}: card.json and {what} make different claims; use another copy")
    schema = schemas.load(folder / "schema.json")
    text = schema.to_json()
    if hashlib.sha256(text.encode()).hexdigest() != card["schema_sha256"]:
        raise InputError(f"{folder}: schema.json is not the schema that the card names; use another copy")
    if stored.setting.schema.to_json() != text or model.schema.to_json() != text:
        raise InputError(f"{folder}: the schemas of release and model differ from schema.json; use another copy")
    told = card.get("synthetic_sha256")
    if told is not None and hashlib.sha256((folder / "synthetic.csv").read_bytes()).hexdigest() != told:
        raise InputError(f"{folder}: synthetic.csv is not the table that the card names; use another copy")
    rows = int(card["rows"]["synthetic"])
    found = _check_table(folder, stored, rows=rows)
    if dialect_copy.DIGEST in card:
        _check_twin(folder, stored, found, told=str(card[dialect_copy.DIGEST]), rows=rows)
    return stored


def seeded(card: Mapping[str, Any]) -> bool:
    """Whether the noise was not the system's; a word changed in a card does not make it so."""
    return card.get("exportable") is not True or str(card.get("noise_source", SEEDED)).startswith(SEEDED)


def claims(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says of its release, without what may be added later."""
    return json.loads(json.dumps({k: v for k, v in own(card).items() if k not in ASIDE}))


def _check_twin(folder: Path, stored: StoredRelease, found: Mapping[str, np.ndarray], *, told: str, rows: int) -> None:
    """The table in the schema's dialect is there, is the one that the card names, and holds the same rows."""
    if not (folder / dialect_copy.NAME).is_file():
        raise InputError(f"{folder}: {dialect_copy.NAME} is missing; make the release again or use another copy")
    if dialect_copy.digest(folder) != told:
        raise InputError(f"{folder}: {dialect_copy.NAME} is not the table that the card names; use another copy")
    reading = Reading.of(stored.setting.schema, delimited=True)
    again = _check_table(folder, stored, rows=rows, name=dialect_copy.NAME, reading=reading)
    if any(not np.array_equal(found[n], again[n]) for n in found):
        raise InputError(f"{folder}: {dialect_copy.NAME} holds other rows than synthetic.csv; use another copy")


def _check_table(
    folder: Path, stored: StoredRelease, *, rows: int, name: str = "synthetic.csv", reading: Reading = PLAIN
) -> Mapping[str, np.ndarray]:
    """The table's positions: every cell is one that the schema knows, and no column is there that it does not name."""
    place, schema = folder / name, stored.setting.schema
    if files.header(place, dialect=reading.dialect) != list(schema.columns):
        raise InputError(f"{place}: its columns are not the schema's; use another copy")
    table = files.read(place, columns=list(schema.columns), reading=reading)
    found = codec.encode(table, schema, Seeded(np.random.default_rng(0)))  # no privacy noise: the table is synthetic
    strange = sum(found.clamped.values()) + sum(found.unreadable.values())
    if table.num_rows != rows or strange:
        reason = f"{strange} cells that its schema does not know" if strange else f"{table.num_rows} rows, not {rows}"
        raise InputError(f"{place}: damaged ({reason}); make it again with `synth run --from-release`")
    return found.positions


def _made(folder: Path, stored: StoredRelease, card: Mapping[str, Any]) -> dict[str, bytes]:
    """The parts that are written anew, all from the release and the card."""
    found = publish.gather(folder)
    made = {
        "card.json": json.dumps(card, indent=2, ensure_ascii=False) + "\n",
        "card.md": card_page.render_markdown(card),
        "card.html": card_page.render_html(card),
        "report.html": publish.publishable_page(found, folder, card=card),
        "report.json": json.dumps(publishable.plain(found), indent=1, ensure_ascii=False) + "\n",
        "index.html": index_page.render(found, stored.setting.schema, card),
        "reproduce.py": bundle_texts.REPRODUCE,
        "README.md": bundle_texts.readme(card),
    }
    return {**{n: t.encode() for n, t in made.items()}, "synthetic.parquet": _parquet(folder, stored)}


def _parquet(folder: Path, stored: StoredRelease) -> bytes:
    schema = stored.setting.schema
    texts = bundle.read_texts(folder / "synthetic.csv", schema)
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
        raise UsageError(f"--out {out}: {error.strerror}; choose another place") from None
