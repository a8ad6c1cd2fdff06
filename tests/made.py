"""What tests would spell out again and again: schemas by their columns, and a run with the usual options.

a_schema(id=ID, age=number(0, 90), income=number(0, 1e5, decimals=2, nullable=True), sex=codes("f", "m"))
facts_of(id=ID, day=dated("2020-01-01", "2020-12-31")) | {"unit": "id", "max_rows": 3}
ran(table, facts_of(age=number(0, 90)), method="independent", out=tmp_path / "out")
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import synth

ID = {"type": "identifier"}
USUAL = {"epsilon": 1.0, "delta": 1e-5, "dataset": "d"}


def number(low: float, high: float, **more: Any) -> dict[str, Any]:
    """A column of whole numbers, or of decimals where ``decimals`` or ``resolution`` is given."""
    kind = "float" if {"decimals", "resolution"} & more.keys() else "integer"
    return {"type": kind, "min": low, "max": high, **more}


def codes(*categories: str, **more: Any) -> dict[str, Any]:
    """A column of listed categories; ``type="ordinal"`` where they have an order."""
    return {"type": "categorical", "categories": [*categories], **more}


def binary(*categories: str, **more: Any) -> dict[str, Any]:
    return codes(*categories, type="boolean", **more)


def dated(first: str, last: str, **more: Any) -> dict[str, Any]:
    return {"type": "datetime", "min": first, "max": last, **more}


def facts_of(**columns: dict[str, Any]) -> dict[str, Any]:
    """A schema as its file has it; what is no column is joined with ``|``."""
    return {"columns": columns}


def a_schema(**columns: dict[str, Any]) -> synth.Schema:
    return synth.Schema.parse(facts_of(**columns))


def a_key(child: str, parent: str, columns: Any, most_children: int, **more: Any) -> dict[str, Any]:
    """The key of related tables that leads from child to parent; its columns in a line or a list."""
    given = {"child": child, "parent": parent, "columns": columns, "most_children": most_children, **more}
    return {k: v.split() if "columns" in k and isinstance(v, str) else v for k, v in given.items()}


def several(*keys: dict[str, Any], **tables: Any) -> dict[str, Any]:
    """Related tables as their schema's file has them; what is no table and no key is joined with ``|``."""
    return {"tables": tables, "keys": [*keys]}


def ran(table: Any, of: Any, *, at: Path | None = None, **options: Any) -> synth.Result:
    """A run with the usual options where no others are given; ``at``: its release and its ledger are there."""
    if isinstance(of, Path):
        of = synth.Schema.load(of)
    elif isinstance(of, dict):
        of = synth.app_api.parse_related(of) if "tables" in of else synth.Schema.parse(of)
    where = {"out": at / "out", "ledger": at / "ledger.sqlite"} if at else {}
    return synth.run(table, schema=of, **(USUAL | where | options))


def curator(rows: Any, *, epsilon: float = 1.0, relation: str = "add_remove", **more: Any) -> Any:
    """The door to these rows (or to what a function reads), with a grant of epsilon and a delta of 1e-5."""
    from synth.pipeline.budget import mechanisms
    from synth.privacy.accounting.gaussian import calibrate
    from synth.privacy.curator import Curator, Grant
    from synth.privacy.noise import SystemNoise
    from synth.privacy.relation import Adjacency, Relation

    adjacency = Adjacency(relation=Relation(relation))
    grant = Grant(epsilon=epsilon, delta=1e-5, adjacency=adjacency, mu=calibrate(epsilon, 1e-5))
    usual = {"grant": grant, "commit": lambda: None, "mechanisms": mechanisms(), "noise": SystemNoise()}
    return Curator(read=rows if callable(rows) else lambda: rows, **(usual | more))


def python(*words: Any, **more: Any) -> subprocess.CompletedProcess[str]:
    """A Python process of its own with these arguments; its output is held unless it goes elsewhere."""
    usual = {"text": True, "check": False} | ({} if "stdout" in more else {"capture_output": True})
    return subprocess.run([sys.executable, *map(str, words)], **(usual | more))
