"""SynthEval's own scores of a table; runs where the package is (benchmarks/outside_judges.py makes the place).

    python syntheval_score.py PLACE.json

PLACE.json names the files (real, held, made), the target and the columns of codes. Prints a JSON object: the value of
each metric that the preset ``fast_eval`` computes.
"""

import json
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pandas as pd
from syntheval import SynthEval


def main() -> None:
    warnings.simplefilter("ignore")
    parsed = json.loads(Path(sys.argv[1]).read_text())
    codes = parsed["codes"]
    tables = [
        pd.read_csv(parsed[n], dtype=dict.fromkeys(codes, str), keep_default_na=False) for n in ("real", "held", "made")
    ]
    with redirect_stdout(StringIO()):
        judge = SynthEval(tables[0], holdout_dataframe=tables[1], cat_cols=codes, verbose=False)
        result = judge.evaluate(tables[2], parsed["target"], presets_file="fast_eval")
    print(json.dumps({r["metric"]: float(r["val"]) for r in result.to_dict("records")}))


if __name__ == "__main__":
    main()
