"""The audit of the whole way against planted faults: docs/audit.md. Nothing private is read: the tables are made up.

Every fault is put into a whole run by the replacement of one function (tests/planted/whole_faults.py) and audited as
`synth audit --whole` audits, by the standard canaries in their order, until one contradicts the claim: the audit does
not know which fault is there. Sound runs go through all canaries.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from synth.auditing import audit_whole, standard  # noqa: E402
from tests.planted.whole_faults import FAULTS  # noqa: E402

RELATIONS = ("add_remove", "replace_one")
PLANTED = "| fault | contradicted | first by canary | seen by | canaries tried |"
SOUND = "| relation | canary | table | contradicted | noise / claimed | distance at least | claimed |"
Row = dict[str, Any]


def faulty(name: str) -> Row:
    """One fault, with the default number of draws and a family-wise 99.9 %."""
    started = time.perf_counter()
    with FAULTS[name]():
        found = audit_whole(first=True).plain()
    last = found["canaries"][-1]
    return {"fault": name, "violated": found["violated"], "tried": len(found["canaries"]), "draws": found["draws"],
            "canary": last["name"], "seen_by": last["seen_by"], "moments": last["moments"],
            "seconds": round(time.perf_counter() - started, 1)}  # fmt: skip


def unspoilt(part: tuple[str, str]) -> Row:
    """One canary under one relation, its share of the family's 1e-3 as in an audit of all."""
    relation, name = part
    canaries = standard()
    one = [c for c in canaries if c.name == name]
    found = audit_whole(relation=relation, canaries=one, confidence=1 - 1e-3 / len(canaries)).plain()["canaries"][0]
    return {"relation": relation, **found}


def planted(rows: list[Row]) -> str:
    """The planted faults as a Markdown table."""
    cells = [[r["fault"], "yes" if r["violated"] else "no", r["canary"] if r["violated"] else "-",
              _short(r["seen_by"]), f"{r['tried']} of {len(standard())}"] for r in rows]  # fmt: skip
    return _markdown(PLANTED, cells)


def sound(rows: list[Row]) -> str:
    """The sound runs as a Markdown table."""
    cells = []
    for r in rows:
        m = r["moments"] or {"noise_found": None, "mu": None}
        cells.append([r["relation"], r["name"], r["kind"], "yes" if r["violated"] else "no", _figure(m["noise_found"]),
                      _figure(m["mu"]), _figure(r["finding"]["claim"]["mu"])])  # fmt: skip
    return _markdown(SOUND, cells)


def _short(told: str) -> str:
    return told.replace("|", "/").replace("\n", " ")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _markdown(head: str, rows: list[list[str]]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *(f"| {' | '.join(r)} |" for r in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", default="faults,sound")
    parser.add_argument("--relations", default=",".join(RELATIONS))
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "audit_whole.json")
    options = parser.parse_args()
    kept = json.loads(options.json.read_text()) if options.json.exists() else {}
    work = {"faults": (faulty, list(FAULTS), planted),
            "sound": (unspoilt, [(r, c.name) for r in options.relations.split(",") for c in standard()],
                      sound)}  # fmt: skip
    started = time.perf_counter()
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for part in options.parts.split(","):
            job, todo, shown = work[part]
            kept[part] = []
            for row in pool.map(job, todo):  # type: ignore[arg-type]
                kept[part].append(row)
                print(shown([row]).splitlines()[-1], flush=True)
            options.json.write_text(json.dumps(kept, indent=1) + "\n")
            print(f"\n{part}\n\n{shown(kept[part])}\n", flush=True)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
