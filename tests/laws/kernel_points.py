"""A descent on a kernel's field at public points, for its tests."""

from itertools import product

import numpy as np

from synth.numeric import networks
from synth.questions import Bins, Descent

A, B, LABEL = Bins.each("a", 3), Bins.each("b", 2), Bins.each("c", 2)
PLACES = (np.array([[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]]), np.array([[0.0, 0.1], [0.6, 0.4]]))
EVERY = np.array(list(product(range(3), range(2), range(2))))


def descent(labelled, widths=1, *, points=7, sigma=1.0, rate=1.0):
    blocks = np.zeros((5, 5))
    blocks[:3, :3], blocks[3:, 3:] = PLACES
    bins = (A, B, LABEL) if labelled else (A, B)
    return Descent(
        purpose="d",
        network="kernel",
        bins=bins,
        hidden=points,
        latent=0,
        clip=1.0,
        sigma=sigma,
        rate=rate,
        steps=3,
        coordinates=np.vstack([blocks, np.zeros((2, 5))]) if labelled else blocks,
        scales=tuple(0.7 / 2**i for i in range(widths)),
        label=2 if labelled else None,
    )


def at(plan, *, spread=0.3, seed=0):
    return (np.random.default_rng(seed).normal(0.2, spread, (plan.hidden, 5)).astype(np.float32),)


def field_at(plan, weights):
    field = networks.of(plan)
    networks.load(field, weights)
    field.prepare()
    return field
