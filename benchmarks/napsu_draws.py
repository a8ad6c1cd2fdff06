"""NAPSU-MQ's own fit of tables of categories; runs where the package twinify is (benchmarks/napsu.py makes the place).

    python napsu_draws.py PLACE.json

PLACE.json names the files of rows (codes from 0), their columns' numbers of categories, epsilon, delta, the pairs to
be counted and how many tables to draw. Writes beside each file how often every cell occurs in each table (``.npy``).
The package sums its normaliser by eliminating variables, which takes minutes to compile. These tables have few cells,
so that it is summed over all of them here; the first file compares the two. One chain is run of the package's four.
"""

import json
import sys
from functools import partial
from pathlib import Path

import d3p.random
import jax
import numpy as np
import pandas as pd
import twinify.napsu_mq.maximum_entropy_inference as inference
from jax.scipy.special import logsumexp
from twinify.napsu_mq.markov_network import MarkovNetwork
from twinify.napsu_mq.napsu_mq import NapsuMQModel

FACTORS = MarkovNetwork.lambda0
CHAIN = partial(inference.run_numpyro_mcmc_normalised, disable_progressbar=True)


def cells(network):
    """Which queries (columns) hold in which cells of the joint table (rows)."""
    names = list(network.domain)
    grid = np.indices([len(network.domain[n]) for n in names]).reshape(len(names), -1).T
    out = np.zeros((len(grid), network.suff_stat_d))
    for clique, which in network.variable_associations.items():
        at = [names.index(v) for v in clique]
        for i in which:
            out[:, i] = (grid[:, at] == np.array(network.flat_queries.queries[i].value)).all(axis=1)
    return out


def normaliser(network, lambdas):
    """Log of the sum over all cells."""
    return logsumexp(cells(network) @ lambdas)


def drawn(rows, reported, seed):
    """How often each cell occurs in each of the tables; (tables, cells)."""
    codes = rows.apply(lambda c: pd.Categorical(c, categories=range(reported["columns"][c.name])))
    model = NapsuMQModel([])
    pairs = [tuple(p) for p in reported["pairs"]]
    result = model.fit(codes, d3p.random.PRNGKey(seed), reported["epsilon"], reported["delta"], query_sets=pairs)
    network = MarkovNetwork(result.dataframe_domain, result.queries)
    rng = np.random.default_rng(seed)
    lambdas = result.posterior_values[rng.integers(0, len(result.posterior_values), reported["tables"])]
    if seed == 0:
        assert np.allclose(FACTORS(network, lambdas[0]), normaliser(network, lambdas[0]))
    logits = lambdas @ cells(network).T
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.stack([rng.multinomial(len(rows), s / s.sum()) for s in shares])


def main():
    parsed = json.loads(Path(sys.argv[1]).read_text())
    jax.config.update("jax_enable_x64", True)
    MarkovNetwork.lambda0 = normaliser
    inference.run_numpyro_mcmc_normalised = lambda *given, **options: CHAIN(*given, **{**options, "num_chains": 1})
    for seed, path in parsed["files"]:
        if not Path(path).with_suffix(".npy").exists():
            try:
                np.save(Path(path).with_suffix(".npy"), drawn(pd.read_csv(path), parsed, seed))
            except inference.ConvergenceException as error:
                print(seed, error, flush=True)


if __name__ == "__main__":
    main()
