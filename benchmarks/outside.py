"""Other projects' synthesizers, each in an environment of its own, on ACSIncome Colorado beside ours.

    python benchmarks/outside.py [--methods "dpmm mst,smartnoise-synth dpctgan"] [--epsilons 1] [--seeds 1]
    python benchmarks/outside.py --methods "dp-merf codes,dp-merf one-hot" --from CHECKOUT --seeds 3

Makes an environment for each package (build/PACKAGE; torch kept at this project's version), fits its method to the
training rows, every column named as categorical with what occurs as its values, and scores the table with score.py. A
package that cannot be installed, or a fit that takes too long, is kept with its reason. ``--python``: an environment
that has the package already. dp-merf: the published code of DP-MERF (`ParkLabML/DP-MERF`, code_tab), as it treats Adult
(`codes`), or with a column for each category (`one-hot`); CHECKOUT is its folder. Its epsilon is 1 in the code.
"""

import json
import time
from pathlib import Path

from markdown_tables import means
from peers import SCORES
from public_tables import numeric, prepared, scored, texts
from runner import ROOT, Row, answer_of, environment, grid, measured, start

ALL = (
    *("smartnoise-synth mst", "smartnoise-synth aim", "smartnoise-synth dpctgan", "smartnoise-synth patectgan"),
    *("dpmm mst", "dpmm aim"),
)
BESIDE = {  # packages beside torch, where the name alone does not say
    "smartnoise-synth": ("smartnoise-synth", "packaging"),  # which it uses, and does not ask for
    "dp-merf": ("numpy<1.24", "pandas<2.1", "scikit-learn<1.3", "xgboost<2", "autodp", "seaborn", "future"),
}
INSIDE = {
    "smartnoise-synth": """
import sys, pandas as pd
from snsynth import Synthesizer
kind, epsilon, source, out = sys.argv[1:5]
rows = pd.read_csv(source, dtype=str, keep_default_na=False)
made = Synthesizer.create(kind, epsilon=float(epsilon), delta=1e-5)
made.fit_sample(rows, categorical_columns=list(rows.columns), preprocessor_eps=0.0).to_csv(out, index=False)
print("{}")
""",
    "dpmm": """
import sys, pandas as pd
from dpmm import pipelines
kind, epsilon, source, out = sys.argv[1:5]
rows = pd.read_csv(source, dtype=str, keep_default_na=False).astype("category")
made = getattr(pipelines, kind.upper() + "Pipeline")(epsilon=float(epsilon), delta=1e-5)
made.fit(rows, {c: {"categories": sorted(rows[c].unique())} for c in rows})
made.generate(len(rows)).to_csv(out, index=False)
print("{}")
""",
    "dp-merf": """
import json, os, runpy, sys, types
import autodp.rdp_acct  # first, or its modules wait for each other
import numpy as np, pandas as pd, sklearn.linear_model
kind, epsilon, source, out, checkout, numbers = sys.argv[1:7]
if float(epsilon) != 1:
    sys.exit("its epsilon is 1 in the code")
rows = pd.read_csv(source, dtype=str, keep_default_na=False)
numbers = [c for c in rows if c in json.loads(numbers)]
target, values = rows.columns[-1], {c: sorted(rows[c].unique()) for c in rows if c not in numbers}
parts = {c: rows[c].astype(float) for c in numbers}
for c in values:
    if kind == "codes" or c == target:
        parts[c] = rows[c].map(values[c].index)
    else:
        parts |= {(c, v): (rows[c] == v).astype(float) for v in values[c]}
parts[target] = parts.pop(target)  # last
data = np.column_stack(list(parts.values())).astype(float)
taken = list(range(len(numbers), data.shape[1]))
sys.modules["sdgym"] = types.SimpleNamespace(load_dataset=lambda name: (data, taken, []))

def kept(self, made, label):  # what its classifier would have learnt from is the table
    frame, result = dict(zip(parts, np.asarray(made).T)), {}
    for c in rows:
        if c in numbers:
            result[c] = np.rint(frame[c]).astype(int)
        elif c == target:
            result[c] = np.array(values[c])[np.asarray(label).astype(int).ravel()]
        elif kind == "codes":
            result[c] = np.array(values[c])[np.clip(frame[c], 0, len(values[c]) - 1).astype(int)]
        else:
            scores = np.column_stack([frame[c, v] for v in values[c]])
            result[c] = np.array(values[c])[(scores + np.random.random(scores.shape) / 2).argmax(1)]
    pd.DataFrame(result).to_csv(out, index=False)
    print("\\n{}", flush=True)
    os._exit(0)

sklearn.linear_model.LogisticRegression.fit = kept
os.chdir(os.path.join(checkout, "code_tab"))
sys.path.insert(0, os.getcwd())
settings = "--dataset adult --private 1 --repeat 1 --classifiers 0"  # all else by its defaults
sys.argv = ["single_generator_priv_all.py", *settings.split()]
runpy.run_path(sys.argv[0], run_name="__main__")
""",
}


def main(given) -> None:
    torch = next(x for x in (ROOT / "requirements.txt").read_text().split() if x.startswith("torch=="))
    checkout = getattr(given, "from")

    def one(folder: Path, cell: Row) -> Row:
        package, kind = cell["method"].split()
        try:
            python = given.python or environment(package, *BESIDE.get(package, (package,)), torch)
        except SystemExit as why:
            return {"failed": str(why).strip().splitlines()[-1][:200]}
        out, began = folder / "made.csv", time.perf_counter()
        words = [kind, cell["epsilon"], folder / "train.csv", out, checkout, json.dumps(sorted(numeric(folder)))]
        result = answer_of([python, "-c", INSIDE[package], *words], most=given.most_seconds)
        if "failed" in result:
            return result
        return {"seconds": time.perf_counter() - began, "num_rows": len(texts(out))} | scored(folder, out)

    ways = {"epsilon": given.epsilons, "method": given.methods, "seed": range(given.seeds)}
    rows = measured(given, grid(table=["acs"], **ways), one, prepare=prepared)
    print(means(rows, ("method", "epsilon"), dict.fromkeys(SCORES, 4) | {"seconds": 0}, runs="runs"))


if __name__ == "__main__":
    usual = {"methods": ",".join(ALL), "epsilons": [1.0], "seeds": 1, "python": "", "most_seconds": 1200.0}
    start(main, public=True, json="outside", **{"from": Path}, **usual)
