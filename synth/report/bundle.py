"""One file for the world: everything a release consists of, checked part by part, and nothing that is not released.

Only the files named here go in: the steward's report, job folders and logs lie elsewhere and cannot.
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError, reading
from synth.files import whole_files
from synth.jobs.looks import signature
from synth.release import folder as bundle
from synth.release.card import papers, verify
from synth.release.card.choice import TOTALS, own
from synth.release.folder import StoredRelease
from synth.release.leaving import AS_STORED, content, may_leave, named, untouched
from synth.report import card_page, chosen_release, index_page, pdf, publish, released_verdict
from synth.report.documents import pack
from synth.schema.table import Schema

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
        settled = partial(chosen_release.settle, folder, how, candidates=candidates, paid=paid, ledger=ledger)
        stored, facts = may_leave(folder, settled=settled), papers.checked(facts or {})
        if (signed := signature(folder)) is not None:
            if facts and facts != papers.checked(signed["papers"]):
                raise UsageError("`facts=`: a reviewer signed other answers; leave it out, and his are packed")
            facts = papers.checked(signed["papers"])
        return _packed(folder, out, stored, facts=facts, unfinished=unfinished, as_pdf=as_pdf)


def _packed(
    folder: Path,
    out: Path,
    stored: StoredRelease,
    *,
    facts: Mapping[str, Any],
    unfinished: bool,
    as_pdf: bool,
) -> Bundled:
    card = stored.card
    card["deployment"] = papers.checked({**card.get("deployment", {}), **facts})
    verify.check(card)
    card["registry"] = pack.registry(card)
    result = publish.gather(folder)
    card["verdict"] = released_verdict.verdict(result, card).plain()
    parts = {name: untouched(folder, name) for name in AS_STORED}
    parts |= {name: content(folder, name, card) for name in named(stored.schema, card)}
    if (card.get("selection") or {}).get("charges"):  # whoever draws or fits again must find the same claim
        parts |= {name: carrying(parts[name], card) for name in ("release.json", "model.json")}
    documents = pack.papers(stored, card)
    leaving = [p for p in documents if unfinished or not p.waiting]
    parts |= _made(folder, stored, card, result, leaving)
    parts |= _typed(parts, stored, card)
    parts |= pack.records(stored, card, parts)
    parts |= {p.file: p.page.encode() for p in leaving}
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


def _made(
    folder: Path, stored: StoredRelease, card: Mapping[str, Any], result: Any, documents: Sequence[pack.Paper]
) -> dict[str, bytes]:
    """The parts that are written anew, all from the release and the card."""
    made = {
        "card.json": json.dumps(card, indent=2, ensure_ascii=False) + "\n",
        "card.md": card_page.render_markdown(card),
        "card.html": card_page.render_html(card),
    }
    report, plain = publish.publishable_page(result, folder, card=card), publish.plainly(result, card)
    made["index.html"] = index_page.render(result, stored.schema, card, documents)
    made["README.md"] = index_page.readme(card, stored.schema, documents)
    made |= {"reproduce.py": index_page.REPRODUCE} if stored.schema.tree is None else {}
    made |= {"report.html": report, "report.json": json.dumps(plain, indent=1, ensure_ascii=False) + "\n"}
    return {n: t.encode() for n, t in made.items()}


def _typed(parts: Mapping[str, bytes], stored: StoredRelease, card: Mapping[str, Any]) -> dict[str, bytes]:
    """The tables with typed values, of the very bytes that leave as CSV: the files may be others by now."""
    rows = card["rows"].get("tables", {})
    full = {n: s for n, s in stored.schema.written.items() if rows.get(n, 1)}
    return {f"{n}.parquet": _parquet(parts[f"{n}.csv"], s) for n, s in full.items()}


def _parquet(table: bytes, schema: Schema) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "synthetic.csv").write_bytes(table)
        texts = bundle.read_texts(Path(name) / "synthetic.csv", schema)
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
