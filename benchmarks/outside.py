"""Other projects' synthesizers, each in an environment of its own, on ACSIncome Colorado beside ours.

    python benchmarks/outside.py [--packages smartnoise-synth,dpmm] [--epsilon 1] [--python ENV/bin/python]

Makes an environment for each package (build/PACKAGE; torch kept at this project's version), fits its MST and AIM to the
training rows, every column named as categorical with what occurs as its values, and scores the table with score.py. A
package that cannot be installed, or a fit that takes too long, is kept with its reason. ``--python``: an environment
that has the package already.
"""

import time
from pathlib import Path

from markdown_tables import means
from peers import SCORES
from public_tables import prepared, scored, texts
from runner import ROOT, Row, answer_of, environment, grid, measured, start

INSIDE = {
    "smartnoise-synth": """
import sys, pandas as pd
from snsynth import Synthesizer
kind, epsilon, source, out = sys.argv[1:]
rows = pd.read_csv(source, dtype=str, keep_default_na=False)
made = Synthesizer.create(kind, epsilon=float(epsilon), delta=1e-5)
made.fit_sample(rows, categorical_columns=list(rows.columns), preprocessor_eps=0.0).to_csv(out, index=False)
print("{}")
""",
    "dpmm": """
import sys, pandas as pd
from dpmm import pipelines
kind, epsilon, source, out = sys.argv[1:]
rows = pd.read_csv(source, dtype=str, keep_default_na=False).astype("category")
made = getattr(pipelines, kind.upper() + "Pipeline")(epsilon=float(epsilon), delta=1e-5)
made.fit(rows, {c: {"categories": sorted(rows[c].unique())} for c in rows})
made.generate(len(rows)).to_csv(out, index=False)
print("{}")
""",
}


def main(given) -> None:
    torch = next(x for x in (ROOT / "requirements.txt").read_text().split() if x.startswith("torch=="))

    def one(folder: Path, cell: Row) -> Row:
        package, kind = cell["method"].split()
        try:
            python, out = given.python or environment(package, package, torch), folder / "made.csv"
        except SystemExit as why:
            return {"failed": str(why).strip().splitlines()[-1][:200]}
        began, words = time.perf_counter(), [kind, cell["epsilon"], folder / "train.csv", out]
        result = answer_of([python, "-c", INSIDE[package], *words], most=given.most_seconds)
        if "failed" in result:
            return result
        return {"seconds": time.perf_counter() - began, "num_rows": len(texts(out))} | scored(folder, out)

    methods = [f"{package} {kind}" for package in given.packages for kind in given.kinds]
    rows = measured(given, grid(table=["acs"], epsilon=[given.epsilon], method=methods), one, prepare=prepared)
    print(means(rows, ("method", "epsilon"), dict.fromkeys(SCORES, 4) | {"seconds": 0}))


if __name__ == "__main__":
    usual = {"epsilon": 1.0, "python": "", "most_seconds": 1200.0}
    start(main, public=True, json="outside", packages="smartnoise-synth,dpmm", kinds="mst,aim", **usual)
