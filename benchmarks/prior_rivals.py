"""Other projects' methods with a public table, on the splits of priors.py; run by a Python of their own.

    python benchmarks/priors_beside.py --pmw-pub CHECKOUT --jam CHECKOUT --python ENV/bin/python

start it as ENV/bin/python benchmarks/prior_rivals.py FOLDER --method pmw-pub|jam --repository CHECKOUT --prior fair

PMW-Pub (arXiv 2102.08598) is `terranceliu/pmw-pub`, JAM-PGM (its authors' and mbi's) `mechanisms/jam.py` of
`ryan112358/mbi`; the environment needs Python 3.12 or later:

    python3.12 -m venv ENV
    ENV/bin/pip install pandas scipy tqdm matplotlib networkx "jax[cpu]" ./mbi  # the checkout

Workload of both: all tables of three columns. Both guarantee replacement of a row at this epsilon and delta. JAM's
settings are its script's; PMW-Pub makes ``--rounds`` rounds, and rows are drawn by its averaged weights. FOLDER holds
domain.json, train.csv and the public tables; made.csv is written beside them. Prints its seconds as JSON.
"""

import argparse
import json
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd


def pmw_pub(given, sizes: dict, private: pd.DataFrame, public: pd.DataFrame) -> pd.DataFrame:
    """Public rows with new weights, drawn as many as the private ones are."""
    np.infty = np.inf  # a name that newer versions of NumPy lack
    from mbi import Dataset, Domain
    from mwem import generate
    from Util.cdp2adp import cdp_rho
    from Util.qm import QueryManager

    domain = Domain(list(sizes), list(sizes.values()))
    queries = QueryManager(domain, list(combinations(sizes, 3)))
    rows, known = (Dataset(frame, domain) for frame in (private, public))
    answers = queries.get_answer(rows)
    queries.setup_query_attr()
    queries.setup_xy(known)
    even = np.full(len(public), 1 / len(public))
    each = np.sqrt(2 * cdp_rho(given.epsilon, given.delta)) / np.sqrt(2 * given.rounds)
    np.random.seed(given.seed)
    weights = generate(known, answers, even, queries, len(private), given.rounds, each)[0]
    return public.iloc[np.random.default_rng(given.seed).choice(len(public), len(private), p=weights / weights.sum())]


def jam(given, sizes: dict, private: pd.DataFrame, public: pd.DataFrame) -> pd.DataFrame:
    """Rows drawn from its graphical model."""
    from jam import JAM, all_k_way
    from mbi import Dataset, Domain

    domain = Domain.fromdict(sizes)
    rows, known = (Dataset(frame.to_dict("list"), domain) for frame in (private, public))
    method = JAM(epsilon=given.epsilon, delta=given.delta, prng=np.random.default_rng(given.seed))
    return pd.DataFrame(method.run(rows, known, all_k_way(domain.attrs, 3))[1].to_dict())


METHODS = {"pmw-pub": (pmw_pub, ""), "jam": (jam, "mechanisms")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--prior", required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    work, inside = METHODS[given.method]
    sys.path.insert(0, str(given.repository / inside))
    sizes = json.loads((given.folder / "domain.json").read_text())
    private, public = (pd.read_csv(given.folder / f"{n}.csv")[list(sizes)] for n in ("train", given.prior))
    began = time.perf_counter()
    work(given, sizes, private, public).to_csv(given.folder / "made.csv", index=False)
    print(json.dumps({"seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
