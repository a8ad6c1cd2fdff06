"""A card is a stranger's: whatever figures its mechanisms have, its check is done within seconds and 2 GiB."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from synth.errors import SynthError
from synth.privacy.accounting.events import KINDS
from synth.release.card.verify import check

CARD = Path(__file__).parents[1] / "stored/before_requests/made/card.json"
SECONDS, MEMORY = 8, 2 << 30
ONE = {"mechanism": "x", "name": "a", "sensitivity": 1.0, "sigma": 1.0, "count": 1}
OF_SCALE = {k: v for k, v in ONE.items() if k != "sigma"} | {"scale": 1.0}
OF_KIND = {
    "slices": {"dim": 9, "num_slices": 9, "directions": "gaussian"},
    "subsampled_gaussian": {"rate": 0.01},
    "sampled, replaced": {"rate": 0.01},
}
FIGURES = (1e-9, 0.05, 30.0, 1e3)
COUNTS = (30_000, 10**9)


def mechanisms() -> Iterator[list[dict]]:
    """One mechanism, or two, of every kind, with one figure at a time that may ask for much."""
    for kind in KINDS:
        own = ONE | {"kind": kind} | OF_KIND.get(kind, {})
        figures = {"sensitivity": FIGURES, "sigma": FIGURES, "count": COUNTS}
        figures |= {n: COUNTS for n in ("dim", "num_slices") if n in own}
        figures |= {"rate": (1e-300, 1e-12, 1.0)} if "rate" in own else {}
        for name, values in figures.items():
            for value in values:
                yield [own | {name: value}]
    for name, values in (("scale", FIGURES), ("sensitivity", FIGURES), ("count", COUNTS)):
        for value in values:
            yield [OF_SCALE | {name: value}]
            yield [OF_SCALE, ONE | {name.replace("scale", "sigma"): value}]


def main() -> None:
    card = json.loads(CARD.read_text())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for made in mechanisms():
        begun = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(begun) + SECONDS + 1, resource.RLIM_INFINITY))
        print(json.dumps(made), end=" ", flush=True)
        try:
            check({**card, "mechanisms": made})
            said = "taken"
        except SynthError as error:
            said = "memory" if "memory" in str(error) else "refused"
        print(said, "in time" if time.process_time() - begun < SECONDS else "late", flush=True)


def test_no_figure_of_a_card_takes_long_or_much_to_check():
    """One of 3.7 kB took 2.5 GB."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert len(lines) == len(list(mechanisms()))
    assert not [line for line in lines if not line.endswith(("taken in time", "refused in time"))]


if __name__ == "__main__":
    main()
