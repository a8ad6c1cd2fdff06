"""NIST's whole report (SDNist) on releases of its own national excerpt: its figures, and its pages to look at.

    python benchmarks/sdnist_report.py [--data FOLDER] [--methods mixture,independent] [--epsilon 1]

The package ``sdnist`` runs in the environment that k_marginal.py makes, and downloads NIST's excerpts with their
dictionary; where it cannot, ``--data`` names a folder with the dictionary from the package's repository: config.json,
data_dictionary.json, mappings.json and national/national2019.json (the rows are those of ../shared). Each report lies
in build/sdnist-report/METHOD/report.html.
"""

import shutil
from functools import partial
from json import loads
from pathlib import Path
from typing import Any

from k_marginal import SDNIST
from markdown_tables import filled
from public_tables import call, prepared, public, ran
from runner import ROOT, Row, environment, grid, measured, start

RUN = """
import sys
from pathlib import Path
from sdnist.load import TestDatasetName
from sdnist.report.__main__ import run
made, out, data, fetched = sys.argv[1:]
run(synthetic_filepath=Path(made), output_directory=Path(out), dataset_name=TestDatasetName.national2019,
    data_root=Path(data), download=fetched == "download", show_report=False)
"""


def data_root(given: str, place: Path) -> tuple[Path, str]:
    """Where the package finds its data: a copy of the folder given, with the rows; or a place to download them to."""
    root = place / "diverse_communities_data_excerpts"
    if not given:
        return root, "download"
    shutil.copytree(given, root)
    public("acs_nist_national_2019.csv.gz").to_csv(root / "national" / "national2019.csv", index=False)
    return root, "there"


def reported(report: Path) -> dict[str, Any]:
    """The figures of a report that are single numbers."""
    parsed = loads(report.read_text())
    rows = parsed["data_description"]["deid"]["records"]
    wrong = {
        i["Inconsistency Group"]: i["Number of Records Inconsistent"] for i in parsed["inconsistencies"]["summary"]
    }
    return {
        "k_marginal": parsed["k_marginal"]["k_marginal_synopsys"]["k_marginal_score"],
        "as_a_sample_of": parsed["k_marginal"]["k_marginal_synopsys"]["sub_sampling_equivalent"],
        "propensity_mse": parsed["propensity mean square error"]["pmse_score"],
        "inconsistent": {group.lower(): number / rows for group, number in wrong.items()},
        "unique_matches": parsed["unique_exact_matches"]["records matched in target data"],
    }


def markdown(rows: list[Row]) -> str:
    """A line a method."""
    groups = list(rows[0]["inconsistent"])
    heads = ("method", "epsilon", "k-marginal", "as a sample of the real rows of", "propensity MSE")
    heads = (*heads, *(f"inconsistent, {g}" for g in groups), "unique rows matched")
    cells = "{method}|{epsilon:g}|{k_marginal}|{as_a_sample_of} %|{propensity_mse:.4f}"
    shares = "".join(f"|{{inconsistent[{g}]:.1%}}" for g in groups)
    return filled(rows, "|".join(heads), cells + shares + "|{unique_matches}")


def one(folder: Path, cell: Row, *, python: str, source: str) -> Row:
    """The report on one run."""
    run = ran(folder, cell | {"table": "nist24"})
    if "failed" in run:
        return run
    shutil.rmtree(folder / "data", ignore_errors=True)
    data, fetched = data_root(source, folder / "data")
    out = ROOT / "build" / "sdnist-report" / cell["method"]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    call(python, "-c", RUN, folder / "out" / "synthetic.csv", out, data, fetched)
    return reported(out / "report.json")


def main(given) -> None:
    how = {"python": given.python or environment(*SDNIST), "source": given.data}
    cells = grid(method=given.methods, epsilon=[given.epsilon])
    print(markdown(measured(given, cells, partial(one, **how), prepare=lambda _: prepared("nist24"))))


if __name__ == "__main__":
    usual = {"data": "", "methods": "mixture,independent", "epsilon": 1.0, "python": ""}
    start(main, public=True, json="sdnist_report", **usual)
