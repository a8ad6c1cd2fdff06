"""Time and memory of training on slices by a divergence: 1,000 steps at the published setting, device by device.

    python benchmarks/slices_time.py [--slices 100,200,300] [--batch 128] [--k 2] [--devices cpu,cuda] [--steps 40]

The release is made up (Gaussian slices of noise alone, over the columns of ACSIncome, 778 coordinates in all): a step
costs the same whatever the values are. A device that is not there is named and left out. Writes
benchmarks/results/slices_time.json and prints Markdown; seconds are
of a processor (all its threads) without a GPU, so that other work beside does not count. From them follows what the
published schedule takes: 200 epochs, each as many steps as pass once over a quarter of the rows of ACSIncome, Colorado.
"""

import resource
import time
from math import ceil

import numpy as np
import torch
from markdown_tables import filled
from runner import start, write

from synth.generators.slices import training
from synth.generators.slices.divergence import divergence
from synth.questions import Bins, Block, Encoding, Slices, SlicesRelease

# bins of ACSIncome's ten features and its target; ages and hours are one coordinate each
SIZES = (8, 24, 5, 520, 188, 18, 2, 9, 2)
LINES = 2
ROWS = 25_000
TABLE, SAMPLED, EPOCHS = 25_044, 0.25, 200  # rows of the table, and the published schedule


def release(num_slices: int, rng: np.random.Generator) -> SlicesRelease:
    weight = 1 / np.sqrt(len(SIZES) + LINES) * (1 - 1e-9)
    blocks = [Block.one_hot(Bins.each(f"c{i}", s), weight=weight) for i, s in enumerate(SIZES)]
    line = weight * np.linspace(0, 1, 100)[:, None]
    blocks += [Block(bins=Bins.each(f"n{i}", 100), table=line) for i in range(LINES)]
    encoding = Encoding(blocks=tuple(blocks))
    question = Slices(
        purpose="time", encoding=encoding, sigma=0.45, groups=None, directions="gaussian", num_slices=num_slices
    )
    directions = rng.normal(0, 1 / np.sqrt(encoding.dim), (encoding.dim, num_slices))
    return SlicesRelease(question=question, values=rng.normal(0, 0.45, (ROWS, num_slices)), directions=directions)


def seconds(made: SlicesRelease, *, batch: int, k: int, steps: int, device: str) -> float:
    """Of 1,000 steps, by the difference of a long and a short training."""
    clock = time.process_time if device == "cpu" else time.perf_counter

    def loss(real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
        return divergence(real, fake, kind="kl", ridge=1.0)

    def timed(count: int) -> float:
        shares = [np.full(b.bins.size, 1 / b.bins.size) for b in made.question.encoding.blocks]
        started = clock()
        how = {"total": ROWS, "loss": loss, "k": k, "batch": batch, "steps": count, "rate": 1e-3, "device": device}
        how |= {"num_slices": made.values.shape[1], "rng": np.random.default_rng(0), "progress": lambda _: None}
        training.network(made, shares, **how)
        return clock() - started

    timed(2)
    return 1000 * (timed(steps + 5) - timed(5)) / steps


def memory(device: str) -> float:
    """Most megabytes held so far: of the device's own memory, or of the process."""
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return torch.cuda.max_memory_allocated() / 2**20


def by_schedule(took: float, batch: int) -> dict:
    """What the published schedule takes on the whole table, from the seconds of 1,000 steps."""
    steps = ceil(SAMPLED * TABLE / batch)
    return {
        "rows": TABLE,
        "steps_an_epoch": steps,
        "epochs": EPOCHS,
        "seconds_1000": took,
        "seconds_an_epoch": took * steps / 1000,
        "seconds": took * steps * EPOCHS / 1000,
    }


def main(given) -> None:
    rows = []
    for device in given.devices:
        if device == "cuda" and not torch.cuda.is_available():
            print("No GPU here: left out.\n")
            continue
        print(torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} thread(s)")
        for slices in given.slices:
            made = release(slices, np.random.default_rng(0))
            took = seconds(made, batch=given.batch, k=given.k, steps=given.steps, device=device)
            rows.append(by_schedule(took, given.batch) | {"device": device, "slices": slices, "mib": memory(device)})
    heads = "device|slices|seconds per 1,000 steps|MiB held at most|steps an epoch|seconds of 200 epochs, extrapolated"
    cells = "{device}|{slices}|{seconds_1000:.0f}|{mib:.0f}|{steps_an_epoch}|{seconds:.0f}"
    print(filled(write(given.json, rows), heads, cells))


if __name__ == "__main__":
    start(main, json="slices_time", slices=[100, 200, 300], batch=128, k=2, steps=40, devices="cpu,cuda")
