"""NIST's whole report (SDNist) on releases of its own national excerpt: its figures, and its pages to look at.

    python benchmarks/sdnist_report.py [--data FOLDER] [--methods mixture,independent] [--epsilon 1]
                                       [--python ENV/bin/python] [--json FILE]

Needs the public tables in ../shared. The package ``sdnist`` runs in the environment that k_marginal.py makes, and
downloads NIST's excerpts with their dictionary; where it cannot, ``--data`` names a folder with the dictionary from the
package's repository: config.json, data_dictionary.json, mappings.json and national/national2019.json (the rows are
those of ../shared). Each report lies in build/sdnist-report/METHOD/report.html. Prints Markdown, which
docs/evidence.md holds; JSON goes to benchmarks/results/sdnist_report.json.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import flagship
from beyond_pairs import DELTA, prepare
from cells import ran
from flagship import ROOT, need_tables
from k_marginal import environment
from markdown_tables import store, table

RESULTS = ROOT / "benchmarks" / "results" / "sdnist_report.json"
PLACE = ROOT / "build" / "sdnist-report"
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
    flagship.read("acs_nist_national_2019.csv.gz").to_csv(root / "national" / "national2019.csv", index=False)
    return root, "there"


def told(report: Path) -> dict[str, Any]:
    """The figures of a report that are single numbers."""
    found = json.loads(report.read_text())
    rows = found["data_description"]["deid"]["records"]
    wrong = {i["Inconsistency Group"]: i["Number of Records Inconsistent"] for i in found["inconsistencies"]["summary"]}
    return {
        "k_marginal": found["k_marginal"]["k_marginal_synopsys"]["k_marginal_score"],
        "as_a_sample_of": found["k_marginal"]["k_marginal_synopsys"]["sub_sampling_equivalent"],
        "propensity_mse": found["propensity mean square error"]["pmse_score"],
        "inconsistent": {group.lower(): number / rows for group, number in wrong.items()},
        "unique_matches": found["unique_exact_matches"]["records matched in target data"],
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """A line a method."""
    groups = list(rows[0]["inconsistent"])
    heads = (
        "method",
        "epsilon",
        "k-marginal",
        "as a sample of the real rows of",
        "propensity MSE",
        *(f"inconsistent, {g}" for g in groups),
        "unique rows matched",
    )
    return table(
        heads,
        [
            [
                r["method"],
                f"{r['epsilon']:g}",
                str(r["k_marginal"]),
                f"{r['as_a_sample_of']} %",
                f"{r['propensity_mse']:.4f}",
                *(f"{r['inconsistent'][g]:.1%}" for g in groups),
                str(r["unique_matches"]),
            ]
            for r in rows
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="")
    parser.add_argument("--methods", default="mixture,independent")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--python", default="")
    parser.add_argument("--json", default=str(RESULTS))
    given = parser.parse_args()
    need_tables()
    python, rows = given.python or environment(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare("nist24", folder)
        data, fetched = data_root(given.data, folder)
        for method in given.methods.split(","):
            cell = {"table": "nist24", "epsilon": given.epsilon, "method": method, "options": "", "seed": 0}
            run = ran(folder, cell, folder / "out", delta=DELTA["nist24"])
            if "failed" in run:
                sys.exit(f"{method}: {run['failed']}")
            out = PLACE / method
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            made = folder / "out" / "synthetic.csv"
            done = subprocess.run([python, "-c", RUN, made, out, data, fetched], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"sdnist: {done.stderr.strip().splitlines()[-1]}")
            rows.append({"method": method, "epsilon": given.epsilon, **told(out / "report.json")})
    store(Path(given.json), rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
