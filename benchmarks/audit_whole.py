"""The audit of the whole way against planted faults: docs/audit.md. Nothing private is read: the tables are made up.

Every fault is put into a whole run by the replacement of one function (tests/planted/whole_faults.py). An audit tries
all standard canaries, whatever the fault; shown here is what comes of the one that was made for it, with the default
number of draws and that canary's share of the family's error. Sound runs go through all canaries; their share is such
that no row of their table is flagged with 99.9 %, all rows together. What is interrupted goes on where it was.
"""

import argparse
import json
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from docs_figures_audit import shown

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from synth.evaluate.audit import audit_whole, chosen, standard  # noqa: E402
from synth.evaluate.audit.whole_canaries import in_engine  # noqa: E402
from tests.engines import postgres  # noqa: E402
from tests.planted.whole_faults import CANARIES, FAULTS, WAYS  # noqa: E402

RELATIONS = ("add_remove", "replace_one")
SHARE = 1 - 1e-3 / len(standard())
ROWS = 30  # of the table of sound runs, at most
IN_POSTGRES = in_engine("postgres://localhost/").name
Row = dict[str, Any]


def faulty(name: str) -> Row:
    """One fault and its canary, with the default number of draws."""
    started, canary = time.perf_counter(), CANARIES[name]
    with FAULTS[name]():
        found = audit_whole(canaries=chosen([canary]), confidence=SHARE, **WAYS.get(name, {})).plain()
    seen = found["canaries"][0]
    return {
        "fault": name,
        "violated": seen["violated"],
        "draws": found["draws"],
        "canary": canary,
        "seen_by": seen["seen_by"],
        "moments": seen["moments"],
        "mu_claimed": seen["finding"]["claim"]["mu"],
        "seconds": round(time.perf_counter() - started, 1),
    }


def unspoilt(part: tuple[str, str]) -> Row:
    """One canary under one relation, with its share of the 1e-3 of the whole table. A database is started for it."""
    started, (relation, name) = time.perf_counter(), part
    with postgres() if name == IN_POSTGRES else nullcontext() as engine:
        canaries = [in_engine(engine.address)] if engine else chosen([name])
        found = audit_whole(relation=relation, canaries=canaries, confidence=1 - 1e-3 / ROWS).plain()["canaries"][0]
    return {"relation": relation, **found, "seconds": round(time.perf_counter() - started, 1)}


def sound_ones() -> list[str]:
    """The names of the canaries that sound runs go through here: PostgreSQL's where it is installed."""
    there = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin"))
    return [*(c.name for c in standard()), *([IN_POSTGRES] if there else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", default="faults,sound")
    parser.add_argument("--relations", default=",".join(RELATIONS))
    parser.add_argument("--fresh", action="store_true", help="forget what an interrupted call had measured")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "audit_whole.json")
    options = parser.parse_args()
    begun = options.json.with_suffix(".part")  # rows of a call that did not come to its end
    rows = {} if options.fresh or not begun.exists() else json.loads(begun.read_text())
    through = [(r, n) for r in options.relations.split(",") for n in sound_ones()]
    work = {"faults": (faulty, list(FAULTS), "whole"), "sound": (unspoilt, through, "whole-sound")}
    started = time.perf_counter()
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for part in options.parts.split(","):
            job, todo, table = work[part]
            for key in (str(t) for t in todo if str(t) in rows):
                print(shown(table, [rows[key]]).splitlines()[-1], "(measured before)")
            for task, row in zip(left := [t for t in todo if str(t) not in rows], pool.map(job, left), strict=True):  # type: ignore[arg-type]
                rows[str(task)] = row
                print(shown(table, [row]).splitlines()[-1], flush=True)
                begun.write_text(json.dumps(rows, indent=1) + "\n")
            print(f"\n{part}\n\n{shown(table, [rows[str(t)] for t in todo])}\n", flush=True)
    kept = json.loads(options.json.read_text()) if options.json.exists() else {}
    kept |= {part: [rows[str(t)] for t in work[part][1]] for part in options.parts.split(",")}
    options.json.write_text(json.dumps(kept, indent=1) + "\n")
    begun.unlink(missing_ok=True)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
