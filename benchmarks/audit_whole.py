"""The audit of the whole way against planted faults: docs/audit.md. Nothing private is read: the tables are made up.

Every fault is put into a whole run by the replacement of one function (tests/planted/whole_faults.py). An audit tries
all standard canaries, whatever the fault; shown here is what comes of the one that was made for it, with the default
number of draws and that canary's share of the family's error. Sound runs go through all canaries; their share is such
that no row of their table is flagged with 99.9 %, all rows together. What is interrupted goes on where it was.
"""

import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

from docs_figures_audit import shown
from runner import Row, read, start, write

from synth.evaluate.audit.whole import audit_whole
from synth.evaluate.audit.whole_canaries import chosen, in_engine, standard
from tests.engines import postgres
from tests.planted.whole_faults import CANARIES, FAULTS, WAYS

RELATIONS = ("add_remove", "replace_one")
SHARE = 1 - 1e-3 / len(standard())
ROWS = 36  # of the table of sound runs, at most
IN_POSTGRES = in_engine("postgres://localhost/").name


def faulty(name: str) -> Row:
    """One fault and its canary, with the default number of draws."""
    started, canary = time.perf_counter(), CANARIES[name]
    with FAULTS[name]():
        result = audit_whole(canaries=chosen([canary]), confidence=SHARE, **WAYS.get(name, {})).plain()
    seen = result["canaries"][0]
    about = {"fault": name, "violated": seen["violated"], "draws": result["draws"], "canary": canary}
    claim = {"moments": seen["moments"], "mu_claimed": seen["finding"]["claim"]["mu"]}
    return about | {"seen_by": seen["seen_by"]} | claim | {"seconds": round(time.perf_counter() - started, 1)}


def unspoilt(part: tuple[str, str]) -> Row:
    """One canary under one relation, with its share of the 1e-3 of the whole table. A database is started for it."""
    started, (relation, name) = time.perf_counter(), part
    with postgres() if name == IN_POSTGRES else nullcontext() as engine:
        canaries = [in_engine(engine.address)] if engine else chosen([name])
        method = "mixture" if any(c.prior for c in canaries) else "independent"  # one that takes a prior
        result = audit_whole(method, relation=relation, canaries=canaries, confidence=1 - 1e-3 / ROWS)
    return {"relation": relation, **result.plain()["canaries"][0], "seconds": round(time.perf_counter() - started, 1)}


def main(given) -> None:
    begun = given.json.with_suffix(".part")  # rows of a call that did not come to its end
    rows = {} if given.fresh else read(begun, {})
    postgres = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin"))
    sound = [*(c.name for c in standard()), *([IN_POSTGRES] if postgres else [])]
    through = [(r, n) for r in given.relations for n in sound]
    work = {"faults": (faulty, list(FAULTS), "whole"), "sound": (unspoilt, through, "whole-sound")}
    began = time.perf_counter()
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for part in given.parts:
            job, todo, table = work[part]
            for key in (str(t) for t in todo if str(t) in rows):
                print(shown(table, [rows[key]]).splitlines()[-1], "(measured before)")
            for task, row in zip(left := [t for t in todo if str(t) not in rows], pool.map(job, left), strict=True):
                rows[str(task)] = row
                print(shown(table, [row]).splitlines()[-1], flush=True)
                write(begun, rows)
            print(f"\n{part}\n\n{shown(table, [rows[str(t)] for t in todo])}\n", flush=True)
    result = {part: [rows[str(t)] for t in work[part][1]] for part in given.parts}
    write(given.json, read(given.json, {}) | result)
    begun.unlink(missing_ok=True)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    start(main, json="audit_whole", workers=2, parts="faults,sound", relations=",".join(RELATIONS))
