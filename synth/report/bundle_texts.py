"""Texts that lie in a bundle: what its files are, and a script that makes the table again."""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.languages import Texts, _, prose
from synth.release import dialect_copy, markdown
from synth.release.card.limits import MADE_UP
from synth.report.documents.pack import Paper
from synth.report.html import commas, number
from synth.report.words import level, stored


def readme(card: Mapping[str, Any], documents: Sequence[Paper] = ()) -> str:
    """What the bundle is and holds, as Markdown."""
    alone = "keys" not in card  # else persons keep their rows, and answers are fitted by the run alone
    again = "    python reproduce.py\n    synth sample . --num-rows 1000\n"
    commands = (again if alone else "    synth sample . --num-roots 500\n") + "    synth card check card.json\n"
    files_of = "\n".join(f"| `{n}` | {what} |" for n, what in parts(card, documents))
    what = _(
        "A synthetic table of {rows} rows. It is no copy: {made_up}. It was made from a private table with "
        "differential privacy, epsilon {epsilon} and delta {delta} ({relation}): {meaning}."
    ).format(
        rows=commas(card["rows"]["synthetic"]),
        made_up=prose(MADE_UP),
        epsilon=number(card["epsilon"]),
        delta=number(card["delta"]),
        relation=markdown.text(prose(card["relation_in_words"])),
        meaning=markdown.text(prose(card["meaning"])),
    )
    more = _(
        "To draw more rows, or to make the table again: install the library in the version that the card names, then"
    )
    return (
        f"# {markdown.text(name_of(card, several=False))}\n\n{what}\n\n{good_for(card)}| {_('file')} | |\n|---|---|\n"
        f"{files_of}\n\n{more}\n\n{commands}"
    )


def name_of(card: Mapping[str, Any], *, several: bool) -> str:
    """What the steward calls the table or tables."""
    kind = _("Synthetic tables") if several else _("Synthetic table")
    return str(card.get("deployment", {}).get("name") or f"{kind} {card.get('dataset') or ''}".strip())


def good_for(card: Mapping[str, Any]) -> str:
    """The verdict as a list, from what was released alone."""
    lines = [f"- {level(u['level'])} {markdown.text(stored(u))}" for u in card.get("verdict", ())]
    return _("From what was released alone:") + "\n\n" + "\n".join(lines) + "\n\n" if lines else ""


def parts(card: Mapping[str, Any], documents: Sequence[Paper]) -> list[tuple[str, str]]:
    """Each file of a bundle of one table, and what it is."""
    twin = [(dialect_copy.NAME, PARTS[dialect_copy.NAME])] if dialect_copy.DIGEST in card else []
    papers = [("documents/", about(documents))] if documents else []
    records = "croissant.json, ro-crate-metadata.json, dcat.jsonld, synthetic.csv-metadata.json, CITATION.cff"
    named = ["index.html", "schema.json", "card.html", "report.html", "release.json", "model.json"]
    named += [] if "keys" in card else ["reproduce.py"]
    return [*listed("synthetic.csv"), *twin, *listed(*named), *papers, (records, cited()), *listed("MANIFEST.sha256")]


def about(documents: Sequence[Paper]) -> str:
    """What the documents are."""
    if any(p.waiting for p in documents):
        return _(
            "papers for a data-protection officer, a repository, an analyst and the people in the data; what is still "
            "to be written is marked"
        )
    return _("papers for a data-protection officer, a repository, an analyst and the people in the data")


def cited() -> str:
    """What the records are."""
    return _("records for catalogues (Croissant, RO-Crate, DCAT-AP, CSVW) and for citing")


def listed(*named: str) -> list[tuple[str, str]]:
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
