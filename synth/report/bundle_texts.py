"""Texts that lie in a bundle: what its files are, and a script that makes the table again."""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.release import dialect_copy, markdown
from synth.release.card.limits import MADE_UP
from synth.report.documents.pack import Paper


def readme(card: Mapping[str, Any], documents: Sequence[Paper] = ()) -> str:
    """What the bundle is and holds, as Markdown."""
    named = card.get("deployment", {}).get("name") or f"Synthetic table {card.get('dataset') or ''}"
    name = markdown.text(named)
    alone = "keys" not in card  # else persons keep their rows, and answers are fitted by the run alone
    again = (
        "    python reproduce.py\n    synth sample . --num-rows 1000\n"
        if alone
        else "    synth sample . --num-roots 500\n"
    )
    files_of = "\n".join(f"| `{n}` | {what} |" for n, what in parts(card, documents))
    return (
        f"# {name}\n\nA synthetic table of {card['rows']['synthetic']:,} rows. It is no copy: {MADE_UP}. It was "
        f"made from a private table with differential privacy, epsilon {card['epsilon']:g} and delta {card['delta']:g} "
        f"({markdown.text(card['relation_in_words'])}): "
        f"{markdown.text(card['meaning'])}.\n\n{good_for(card)}| file | |\n|---|---|\n{files_of}\n\n"
        f"To draw more: install the library in the version that the card names, then\n\n{again}    synth card check "
        "card.json\n"
    )


def good_for(card: Mapping[str, Any]) -> str:
    """The verdict as a list, from what was released alone."""
    lines = [f"- {u['level']} {markdown.text(u['sentence'])}" for u in card.get("verdict", ())]
    return "From what was released alone, it is\n\n" + "\n".join(lines) + "\n\n" if lines else ""


def parts(card: Mapping[str, Any], documents: Sequence[Paper]) -> list[tuple[str, str]]:
    """Each file of a bundle of one table, and what it is."""
    twin = [TWIN] if dialect_copy.DIGEST in card else []
    papers = [("documents/", about(documents))] if documents else []
    alone = [p for p in PARTS[1:-2] if p[0] != "reproduce.py" or "keys" not in card]
    return [PARTS[0], *twin, *alone, *papers, *PARTS[-2:]]


def about(documents: Sequence[Paper]) -> str:
    """What the documents are."""
    purpose = "papers for a data-protection officer, a repository, an analyst and the people in the data"
    return f"{purpose}; what is still to be written is marked" if any(p.waiting for p in documents) else purpose


CITED = "records for catalogues (Croissant, RO-Crate, DCAT-AP, CSVW) and for citing"
PARTS = (
    (
        "synthetic.csv",
        "the table, safe to open in a spreadsheet: text that it would take for a formula (it begins with "
        "= + - or @ and is no number) has an apostrophe before it, unless the card says `raw`; `synthetic.parquet` is "
        "the same without apostrophes, with typed numbers and dates",
    ),
    ("index.html", "begin here: what this is, what it is good for, how to analyse and to cite it"),
    ("schema.json", "the public facts of every column"),
    ("card.html", "the release card: what is guaranteed and how; also `card.md`, and `card.json` for programs"),
    ("report.html", "the released noisy counts, with intervals, beside the synthetic table; also `report.json`"),
    ("release.json, release.safetensors", "everything that was released about the private table"),
    ("model.json, model.safetensors", "the model, from which more rows can be drawn"),
    ("reproduce.py", "makes model and table again from the release"),
    (
        "croissant.json, ro-crate-metadata.json, dcat.jsonld, synthetic.csv-metadata.json, CITATION.cff",
        CITED,
    ),
    ("MANIFEST.sha256", "checksums; `sha256sum -c MANIFEST.sha256` verifies them"),
)

TWIN = (
    dialect_copy.NAME,
    "the same table in the encoding, with the separators, decimal marks and dates of the private one, as "
    "`schema.json` states them; protected alike",
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
