"""The auditor's tables of docs/audit.md: planted faults, bare mechanisms, methods, capacity.

    python benchmarks/audit.py [--parts planted,mechanisms,methods,capacity] [--methods mixture,...] [--draws 100000]

Each part's figures replace those of the same part in the JSON file. Nothing private is read: the tables are made up.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from docs_figures_audit import shown
from runner import grid, read, start, write

from synth.evaluate.audit.methods import audit
from synth.generators import GENERATORS
from tests.planted.bare_mechanisms import BARE, bare

FAMILY = 1e-3  # chance that any of all sound parts is called a violation
PLANTED = 0.95
# (epsilon, draws of outputs, draws of tables): 800 draws at 5.1 show half the noise; slow methods get fewer, and fewer
# steps, which changes nothing of what is asked
USUAL = ((5.1, 800, 80),)
LEARNT = "dp_ctgan,dp_vae,pate_gan,dp_flow,dp_diffusion,dp_sinkhorn,private_set,gs_wgan,datalens,g_pate"
FEW = {
    "independent": ((1.0, 6_000, 0), (5.1, 3_000, 400)),
    "mwem": ((5.1, 200, 80),),
    **dict.fromkeys(LEARNT.split(","), ((5.1, 100, 0),)),
    **dict.fromkeys(("aim", "mst"), ((5.1, 60, 0),)),
}
QUICK: dict[str, dict[str, Any]] = {
    "slice_wasserstein": {"steps": 2, "batch": 32},
    **{n: {"steps": 3, "frequencies": 100, "ensembles": 1} for n in ("pearl", "dp_merf")},
    "dp_ntk": {"steps": 3, "features": 500},
    "dp_ctgan": {"steps": 4, "hidden": 8},
    "dp_vae": {"steps": 4, "hidden": 8, "latent": 2},
    "dp_flow": {"steps": 4, "hidden": 8, "knots": 3},
    "dp_diffusion": {"steps": 4, "hidden": 8, "copies": 2},
    "dp_sinkhorn": {"steps": 4, "rows": 8},
    "private_set": {"steps": 4, "hidden": 8, "rows": 8},
    "private_evolution": {"rounds": 2, "candidates": 50},
    **{n: {"rounds": 2, "features": 16} for n in ("gs_wgan", "datalens", "g_pate")},
    "pate_gan": {"rounds": 2, "features": 16, "hidden": 8, "asked": 8},
    "aim": {"rounds": 2, "bins": 4},
    "mst": {"bins": 4},
    "mwem": {"rounds": 1},
}


def planted() -> Iterator[dict[str, Any]]:
    """Each fault, and the sound run that it replaces."""
    from tests.planted.suspects import findings, listed

    for name in listed():
        faulty = findings(name, faulty=True, confidence=PLANTED)
        sound = findings(name, faulty=False, confidence=1 - FAMILY / len(listed()))
        yield {"fault": name, **{n: f.plain() | {"curve": []} for n, f in (("faulty", faulty), ("sound", sound))}}


def mechanisms(draws: int) -> Iterator[dict[str, Any]]:
    """Estimated against claimed mu; with half the noise a violation."""
    for cell in grid(name=BARE, epsilon=[1.0, 5.1]):
        whole = bare(**cell, draws=draws, confidence=1 - FAMILY / (2 * len(BARE)))
        half = bare(**cell, draws=draws // 5, scale=0.5)
        result = {n: getattr(whole, n) for n in ("mu", "epsilon_claimed", "epsilon_implied")}
        result |= {"violated": whole.finding.violated, "half_noise_violated": half.finding.violated}
        about = {"mechanism": cell["name"], "epsilon": cell["epsilon"], "draws": draws}
        yield about | {"mu_claimed": whole.claimed} | result


def methods(names: list[str]) -> Iterator[dict[str, Any]]:
    """Every registered method through its releases and its final tables."""
    share = 1 - FAMILY / sum(2 * len(FEW.get(n, USUAL)) for n in GENERATORS)
    for name in names:
        for epsilon, draws, tables in reversed(FEW.get(name, USUAL)):
            how = {"draws": draws, "table_draws": tables, "confidence": share, "options": QUICK.get(name)}
            plain = audit(name, epsilon=epsilon, **how).plain()
            for part in ("outputs", "tables"):
                if plain[part]:
                    plain[part]["curve"] = []
            yield plain


def capacity() -> Iterator[dict[str, Any]]:
    """Laplace and Gaussian noise against attackers of growing capacity."""
    from synth.capacity.views import capacity_audit

    for name in ("laplace", "gaussian"):
        for epsilon in (0.5, 1.0, 2.0):
            yield capacity_audit(name, epsilon=epsilon, draws=400_000).plain()


def merged(held: list[dict], rows: list[dict]) -> list[dict]:
    """The methods' figures; methods that were not asked for, or not yet, keep those they had."""
    done = {(r["method"], r["epsilon"]) for r in rows}
    before = [r for r in held if (r["method"], r["epsilon"]) not in done]
    return sorted(before + rows, key=lambda r: (list(GENERATORS).index(r["method"]), r["epsilon"]))


def main(given) -> None:
    made = {"planted": planted, "mechanisms": partial(mechanisms, given.draws)}
    made |= {"methods": partial(methods, given.methods), "capacity": capacity}
    for part in given.parts:
        began, rows = time.perf_counter(), []
        held = read(given.json, {})
        before = held.get(part, {}).get("rows", [])
        for row in made[part]():
            rows.append(row)
            print(shown(part, [row]).splitlines()[-1], flush=True)
            whole = merged(before, rows) if part == "methods" else rows
            held[part] = {"seconds": round(time.perf_counter() - began, 1), "rows": whole}
            write(given.json, held)
        print(f"\n{part}\n\n{shown(part, held[part]['rows'])}\n", flush=True)


if __name__ == "__main__":
    parts = "planted,mechanisms,methods,capacity"
    start(main, json="audit", parts=parts, methods=",".join(GENERATORS), draws=100_000)
