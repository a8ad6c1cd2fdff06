"""What a card says of areas that lie within others: a public tree that every row of the table keeps."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.files.regular_files import is_file
from synth.release import folder
from synth.schema import areas
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Schema, load

GIVEN = (
    "declared in the schema: a row's area above is that of its lowest area, whatever the private cells above say; the "
    "guarantee holds whichever tree is declared"
)


def on_card(schema: Schema | Dataset) -> dict[str, Any]:
    """The declared trees, a level each; nothing where there are none.

    Privacy: public only.
    """
    tables = schema.stated.tables
    levels = [_level(t, s, rule.child, rule.parent) for t, s in tables.items() for rule in areas.rules(s.columns)]
    return {"areas": levels} if levels else {}


def _level(table: str, schema: Schema, child: str, parent: str) -> dict[str, Any]:
    columns = schema.columns
    pairs = areas.parents(columns[child], columns[parent]).tolist()
    named = {
        a: (columns[parent].categories or ())[p] for a, p in zip(columns[child].categories or (), pairs, strict=False)
    }
    alone = {} if table == ONE else {"table": table}
    return {
        **alone,
        "column": child,
        "within": parent,
        "areas": columns[child].size,
        "areas_above": columns[parent].size,
        "sha256": hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest(),
    }


def invariants(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each level of a tree."""
    return [
        {
            "what": f"each of {one['areas']:,} areas of {one['column']} lies within one of {one['areas_above']:,} of "
            f"{one['within']} (SHA-256 {one['sha256']})",
            "of": [one["column"], one["within"]],
            "vouched": GIVEN,
        }
        for one in card.get("areas") or ()
    ]


def problems_beside(card: Mapping[str, Any], place: Path) -> Iterator[str]:
    """A sentence for each level that a row of the synthetic table beside the card breaks.

    ``place``: the release's folder; nothing is said where the table or its schema is not there.

    Privacy: released answers only.
    """
    table, schema = place / "synthetic.csv", place / "schema.json"
    if not card.get("areas") or not (is_file(table) and is_file(schema)):
        return
    facts = load(schema)
    if on_card(facts) != {"areas": card["areas"]}:
        yield "the tree of areas that it names is not that of the schema beside it"
        return
    rows = folder.read_positions(table, facts, {n for one in card["areas"] for n in (one["column"], one["within"])})
    for rule in areas.rules(facts.columns):
        known = rows[rule.child] >= 0
        own = {n: p[known] for n, p in rows.items()}
        if off := int((~known).sum() + areas.compiled(rule, facts.columns).broken(own).sum()):
            yield f"{off:,} rows of the table beside it have an area of {rule.child} outside its own of {rule.parent}"
