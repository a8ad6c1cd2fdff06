"""Membership by shadow runs: methods under their guarantee beside tables that leak.

    python benchmarks/shadows.py [--method mixture] [--epsilon 1] [--delta 1e-6] [--runs 200]

What `synth report --shadow-runs` adds to the steward's report of a release by that method. The rows are made up.
"""

from functools import partial

import numpy as np
from markdown_tables import filled
from runner import start, write

from synth.evaluate import shadows

HEADS = (
    "tables made by|the attacker has|runs of each|right guesses|at most, by the guarantee"
    "|epsilon at 0.01 at least|claimed"
)
CELLS = (
    "{made}|{seen}|{runs:,}|{right:.3f} ({interval[0]:.3f} to {interval[1]:.3f})|{allowed:.3f}"
    "|{epsilon_at_least:.2f}|{epsilon_claimed:.2f}"
)
markdown = partial(filled, heads=HEADS, cells=CELLS)


def main(given) -> None:
    asked = {"epsilon": given.epsilon, "delta": given.delta, "relation": "add_remove", "draws": given.runs}
    result = shadows.measure(given.method, rng=np.random.default_rng(0), **asked)
    print(markdown(write(given.json, [s.plain() for s in result])))


if __name__ == "__main__":
    start(main, json="shadows", method="mixture", epsilon=1.0, delta=1e-6, runs=200)
