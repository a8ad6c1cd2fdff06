"""One file for the world: everything a release consists of, checked part by part, and nothing that is not released.

Only the files named here go in: the steward's report, job folders and logs lie elsewhere and cannot.
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError, reading
from synth.files import whole_files
from synth.jobs.looks import signature
from synth.languages import as_said, with_said
from synth.release import folder as folders
from synth.release.card import papers, verify
from synth.release.card.card import TOTALS, Card
from synth.release.folder import StoredRelease
from synth.release.leaving import AS_STORED, content, may_leave, named, untouched
from synth.report import card_page, chosen_release, index_page, pdf, publish, publishable
from synth.report.documents import pack
from synth.report.words import written
from synth.schema.table import Schema

STAMP = (1980, 1, 1, 0, 0, 0)  # the same files make the same zip, whenever it is made


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """A bundle: its file, its SHA-256, the names of its parts, those of papers that nobody has finished, the card."""

    path: str
    sha256: str
    parts: tuple[str, ...]
    unfinished: tuple[str, ...]
    card: Card = field(repr=False)

    @property
    def epsilon(self) -> float:
        """Of the release with all that its choice rests on."""
        return float(self.card["epsilon"])

    @property
    def delta(self) -> float:
        """As ``epsilon``."""
        return float(self.card["delta"])

    @property
    def how(self) -> str:
        """The way it was chosen, a key of ``card.CHOICES``."""
        return str(self.card["selection"]["how"])

    def plain(self) -> dict[str, Any]:
        """All but the card, with its guarantee and verdict, as JSON data; ``counted``: other lines in the sum."""
        return {
            "path": self.path,
            "sha256": self.sha256,
            "parts": list(self.parts),
            "unfinished": list(self.unfinished),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "own_epsilon": float(self.card.own["epsilon"]),
            "choice": self.how,
            "counted": len(self.card.charges),
            "verdict": self.card["verdict"],
        }


def bundle(
    release: str | Path,
    out: str | Path,
    *,
    facts: Mapping[str, Any] | str | Path | None = None,
    how: str | None = None,
    candidates: Sequence[str | Path] = (),
    paid: str | Path | None = None,
    ledger: str | Path | None = None,
    unfinished: bool | Collection[str] = False,
    as_pdf: bool = False,
    language: str | None = None,
) -> Bundled:
    """Packs what may be handed over into one zip file, of one table or of several; refuses what must not leave.

    The same release, chosen in the same way, makes the same bytes. ``out``: the file. ``facts``: what only the steward
    knows (``papers.FIELDS``), or a file of it; papers that it does not complete are left out, unless asked for
    ``unfinished`` ones, all or those of these files; ``as_pdf`` adds report, card and papers as one PDF. ``how``: in
    which way the release was chosen, among which other ``candidates``, by which ``paid`` counts; ``ledger``: the one
    that paid; ``language``: of its pages and papers, ``de`` or ``en``; records and data are English.

    Errors: InputError for a release that was made with seeded noise, was chosen in a way that no epsilon covers, or has
    a part that is missing, damaged or breaks a key; UsageError for ``out``, and for a choice that must be stated.

    **Guarantee**: that of the release, and of whatever was looked at to choose it: every part derives from releases,
    public facts and what the steward states.

    Privacy: released answers only.
    """
    folder, out = Path(release), Path(out)
    folder = folder.parent if folder.suffix == ".json" else folder
    if not folder.exists():
        raise InputError("{}: no such folder; name the folder that a run wrote", folder)
    if out.suffix != ".zip":
        raise UsageError("`out={}`: name a .zip file", out)
    if paid is not None and folders.is_related(folder):
        raise UsageError("`paid=`: counts that decide are of single tables; leave it out")
    given = papers.load(facts) if isinstance(facts, str | Path) else papers.checked(facts or {})
    with written(language), reading(folder, "release"):
        settled = partial(chosen_release.settle, folder, how, candidates=candidates, paid=paid, ledger=ledger)
        stored = may_leave(folder, settled=settled)
        if (signed := signature(folder)) is not None:
            if given and given != papers.checked(signed["papers"]):
                raise UsageError("`facts=`: a reviewer signed other answers; leave it out, and his are packed")
            given = papers.checked(signed["papers"])
        card = stored.card
        card["deployment"] = papers.checked({**card.get("deployment", {}), **given})
        parts, documents = _parts(folder, stored, unfinished=unfinished)
        if as_pdf:
            parts[pdf.NAME] = pdf.of_bundle(parts)
        lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(parts.items())]
        parts["MANIFEST.sha256"] = "".join(lines).encode()  # as ``sha256sum`` writes them
        zip_file(out, parts)
    return Bundled(
        path=str(out),
        sha256=hashlib.sha256(out.read_bytes()).hexdigest(),
        parts=tuple(sorted(parts)),
        unfinished=tuple(p.file for p in documents if p.waiting),
        card=card,
    )


def _parts(
    folder: Path, stored: StoredRelease, *, unfinished: bool | Collection[str]
) -> tuple[dict[str, bytes], list[pack.Paper]]:
    """Everything that leaves, by name, all from the release and the card, which is completed; and all papers."""
    card, schema = stored.card, stored.schema
    verify.check(card)
    card["registry"] = pack.registry(card)
    result = publish.gather(folder)
    card["verdict"] = publishable.verdict(result, card).plain()
    parts = {name: untouched(folder, name) for name in AS_STORED}
    parts |= {name: content(folder, name, card) for name in named(schema, card)}
    if card.charges:  # whoever draws or fits again must find the same claim
        parts |= {name: carrying(parts[name], card) for name in ("release.json", "model.json")}
    documents = pack.papers(stored, card)
    wanted = {p.file for p in documents} if unfinished is True else set(unfinished or ())
    leaving = [p for p in documents if p.file in wanted or not p.waiting]
    plain = publish.plainly(result, card)
    made = {
        **card_page.files(card),
        "index.html": index_page.render(result, schema, card, leaving),
        "README.md": index_page.readme(card, schema, leaving),
        **({} if schema.tree is not None else {"reproduce.py": index_page.REPRODUCE}),
        "report.html": publish.publishable_page(result, folder, card=card),
        "report.json": json.dumps(with_said(plain), indent=1, ensure_ascii=False) + "\n",
    }
    parts |= {n: t.encode() for n, t in made.items()}
    full = {n: s for n, s in schema.written.items() if card.row_counts[n]}
    parts |= {f"{n}.parquet": _parquet(parts[f"{n}.csv"], s) for n, s in full.items()}
    parts |= pack.records(stored, card, parts)
    return parts | {p.file: p.page.encode() for p in leaving}, documents


def carrying(content: bytes, card: Mapping[str, Any]) -> bytes:
    """A stored release or model whose card states the choice, and with it the sum, as the bundle's does."""
    plain = json.loads(content)
    plain["card"] = with_said(as_said(plain["card"]) | {name: card[name] for name in (*TOTALS, "meaning", "selection")})
    return (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode()


def _parquet(table: bytes, schema: Schema) -> bytes:
    """A table with typed values, of the very bytes that leave as CSV: the file may be another by now."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "synthetic.csv").write_bytes(table)
        texts = folders.read_texts(Path(name) / "synthetic.csv", schema)
        folders.write_table(Path(name) / "synthetic.parquet", texts, schema)
        return (Path(name) / "synthetic.parquet").read_bytes()


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
        raise UsageError("`out={}`: {}; choose another place", out, error) from None
