"""NIST's own k-marginal score of files; runs where the package `sdnist` is (benchmarks/k_marginal.py makes the place).

    python sdnist_score.py REAL.csv SYNTHETIC.csv [SYNTHETIC.csv ...]

Prints a JSON list, the score of each synthetic file: numbers binned and tables chosen and compared by sdnist's own
functions, on the columns that both files have. Only the step that needs NIST's data dictionary, which the package
downloads, is done here: codes are read as integers and ``N`` as -1, as its ``transform`` reads them.
"""

import json
import sys

import pandas as pd
import sdnist.report  # noqa: F401  (first: the package's modules import each other in a circle)
from sdnist.metrics.kmarginal import KMarginal
from sdnist.report.dataset.binning import add_bin_for_NA, percentile_rank_synthetic, percentile_rank_target

NUMBERS = ["AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP"]
BY = "PUMA"


def read(path: str) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False).replace("", "N")


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Codes as integers, a missing one as -1; areas as text."""
    out = rows.copy()
    for column in rows.columns.difference([*NUMBERS, BY]):
        out[column] = pd.to_numeric(rows[column].replace("N", "-1")).astype(int)
    return out


def whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Numbers as text of integers."""
    out = rows.copy()
    for column in rows.columns.intersection(NUMBERS):
        out[column] = rows[column].str.replace(r"\.0*$", "", regex=True)
    return out


def score(real: pd.DataFrame, made: pd.DataFrame) -> float:
    columns = sorted(set(real) & set(made))
    real, made = whole(real[columns]), whole(made[columns])
    first = add_bin_for_NA(percentile_rank_target(real, NUMBERS), real, NUMBERS)
    other = add_bin_for_NA(percentile_rank_synthetic(made, real, first, NUMBERS), made, NUMBERS)
    by = [BY] if BY in columns else []
    return float(KMarginal(plain(first), plain(other), by).compute_score())


def main() -> None:
    real = read(sys.argv[1])
    print(json.dumps([score(real, read(path)) for path in sys.argv[2:]]))


if __name__ == "__main__":
    main()
