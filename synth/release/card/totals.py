"""What a card says of published totals that the table agrees with, and whether it does."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.files.regular_files import is_file
from synth.release import folder
from synth.schema.table import load
from synth.schema.totals_checks import disagreements, stated

GIVEN = (
    "the guarantee holds given these counts, whatever they are: they were no answer of this release, and what they say "
    "of a person is said whatever epsilon is. Of two tables that both have them, epsilon bounds what is learnt of the "
    "difference as two steps apart where rows come and go, as one where a row is replaced"
)


def invariants(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each table of totals."""
    return [
        {
            "what": f"published totals: {one['cells']:,} counts of {one['rows']:,} rows{_rounded(one)} "
            f"(SHA-256 {one['sha256']})",
            "of": list(one["columns"]),
            "vouched": f"{one['published']}; {GIVEN}",
        }
        for one in card.get("totals") or ()
    ]


def _rounded(one: Mapping[str, Any]) -> str:
    return f", rounded to {one['rounded']}" if one["rounded"] > 1 else ""


def problems(card: Mapping[str, Any]) -> Iterator[str]:
    """A sentence where the card itself says that its table disagrees with totals."""
    off = max((int(one["cells_off"]) for one in card.get("totals") or ()), default=0)
    if off:
        yield f"its table disagrees with {off:,} cells of the published totals that it names"


def problems_beside(card: Mapping[str, Any], place: Path) -> Iterator[str]:
    """A sentence for each table of totals that the synthetic table beside the card disagrees with.

    ``place``: the release's folder; nothing is said where the table or its schema is not there.

    Privacy: released answers only.
    """
    table, schema = place / "synthetic.csv", place / "schema.json"
    if not card.get("totals") or not (is_file(table) and is_file(schema)):
        return
    facts = load(schema)
    totals = stated(facts, rules=False)
    if totals is None:
        yield "it names published totals, but the schema beside it has none"
        return
    rows = folder.read_positions(table, facts, totals.columns)
    if name := next((n for n, places in rows.items() if (places < 0).any()), None):
        yield f"the table beside it has values of {name} that the schema does not know"
        return
    if len(rows[totals.columns[0]]) != totals.num_rows:
        yield f"its totals count {totals.num_rows:,} rows, the table beside it has {len(rows[totals.columns[0]]):,}"
        return
    yield from disagreements(totals, rows)
