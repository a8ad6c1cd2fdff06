"""Digests of a whole run of every method of ours with test noise: what a change that should change nothing is held to.

    python -m tests.conformance.golden > before.txt     on the commit before the change
    python -m tests.conformance.golden | diff before.txt -

Bytes are compared on one machine: another processor or another torch may round otherwise.
"""

import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import synth
from synth.generators import GENERATORS
from synth.pipeline import run as pipeline
from synth.privacy.noise import SeededNoise
from tests.conformance.measuring import QUICK
from tests.conftest import SMALL, small_frame

OWN = sorted(set(GENERATORS) - {"aim", "mst"})  # these draw another library's noise, which takes no seed
# Methods of few columns cannot take all of the small schema.
FEW = ("age", "sex", "ill")
PARTS = ("synthetic.csv", "release.safetensors", "schema.json")


def digests(name: str, *, noise: int = 1) -> dict[str, str]:
    """SHA-256 of what one run released and drew; ``noise``: the seed of its noise."""
    few = GENERATORS[name].name in ("mwem", "small_db")
    columns = {n: c for n, c in SMALL["columns"].items() if not few or n in FEW}
    schema = synth.Schema.parse({**SMALL, "columns": columns})
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        pipeline.run(
            small_frame(300),
            schema=schema,
            epsilon=2.0,
            delta=1e-5,
            method=name,
            options=QUICK.get(name),
            dataset="golden",
            ledger=Path(folder) / "l.sqlite",
            out=out,
            num_rows=200,
            seed=1,
            device="cpu",
            noise=SeededNoise(noise),
        )
        return {p: sha256((out / p).read_bytes()).hexdigest()[:16] for p in PARTS}


if __name__ == "__main__":
    for method in sys.argv[1:] or OWN:
        print(method, *digests(method).values(), flush=True)
