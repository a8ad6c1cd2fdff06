"""Membership by shadow runs: methods under their guarantee beside tables that leak.

    python benchmarks/shadows.py [--method mixture] [--epsilon 1] [--delta 1e-6] [--runs 200] [--json FILE]

What `synth report --shadow-runs` adds to the steward's report of a release by that method. The rows are made up. Prints
Markdown; JSON goes to benchmarks/results/shadows.json.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from flagship import ROOT
from markdown_tables import table

from synth.evaluate.risks import shadows

RESULTS = ROOT / "benchmarks" / "results" / "shadows.json"


def markdown(rows: list[dict[str, Any]]) -> str:
    """A line for each kind of table."""
    heads = (
        "tables made by",
        "the attacker has",
        "runs of each",
        "right guesses",
        "at most, by the guarantee",
        "epsilon at 0.01 at least",
        "claimed",
    )
    return table(
        heads,
        [
            [
                r["made"],
                r["seen"],
                f"{r['runs']:,}",
                f"{r['right']:.3f} ({r['interval'][0]:.3f} to {r['interval'][1]:.3f})",
                f"{r['allowed']:.3f}",
                f"{r['epsilon_at_least']:.2f}",
                f"{r['epsilon_claimed']:.2f}",
            ]
            for r in rows
        ],
    )


def main() -> None:
    """Attacks, prints and keeps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", default="mixture")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found = shadows.measure(
        asked.method,
        epsilon=asked.epsilon,
        delta=asked.delta,
        relation="add_remove",
        draws=asked.runs,
        rng=np.random.default_rng(0),
    )
    rows = [s.plain() for s in found]
    asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
