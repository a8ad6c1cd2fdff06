"""Digests of whole runs of every method of ours with test noise: what a change that should change nothing is held to.

    python -m tests.conformance.golden > before.txt     on the commit before the change
    python -m tests.conformance.golden | diff before.txt -

Bytes are compared on one machine: another processor or another torch may round otherwise.
"""

import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

import synth
from synth.generators import GENERATORS
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.pipeline import run as pipeline
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.privacy.noise import SeededNoise
from tests.conformance.measuring import QUICK
from tests.conftest import SMALL, small_frame
from tests.laws import related_trees

OWN = sorted(set(GENERATORS) - {"aim", "mst"})  # these draw another library's noise, which takes no seed
TREE = "tree"  # the method of related tables, quickly fitted
# Methods of few columns cannot take all of the small schema.
FEW = ("age", "sex", "ill")


def digests(name: str, *, noise: int = 1) -> dict[str, str]:
    """SHA-256 of what one run released and drew; ``noise``: the seed of its noise."""
    columns = {n: c for n, c in SMALL["columns"].items() if name not in ("mwem", "small_db") or n in FEW}
    schema = synth.Schema.parse({**SMALL, "columns": columns})
    trees = {name: pd.DataFrame(columns) for name, columns in related_trees.ROWS.items()}
    quick = Nested(options=TreeOptions(fits=2, roots=6, children=12, steps=20))
    request = RunRequest(
        epsilon=2.0,
        delta=1e-5,
        method="mixture" if name == TREE else name,
        options=QUICK.get(name),
        dataset="golden",
        num_rows=200,
        seed=1,
        device="cpu",
    )
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        pipeline.carry_out(
            request.changed(ledger=Path(folder) / "l.sqlite", out=out),
            related_trees.SCHEMA if name == TREE else schema,
            Context(
                rows=trees if name == TREE else small_frame(300),
                noise=SeededNoise(noise),
                questions=quick if name == TREE else None,
            ),
        )
        parts = [p for p in sorted(out.iterdir()) if p.suffix in (".csv", ".safetensors") or p.name == "schema.json"]
        return {p.name: sha256(p.read_bytes()).hexdigest()[:16] for p in parts}


if __name__ == "__main__":
    for method in sys.argv[1:] or [*OWN, TREE]:
        print(method, *digests(method).values(), flush=True)
