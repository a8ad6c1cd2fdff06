"""DP-kernel step by step on pictures as its text has them: MNIST's files, the published network, its rates and noise.

    python benchmarks/mnist.py --from FOLDER [--variants conditional,parallel] [--steps 20000] [--points 60]

FOLDER holds train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-... as published, packed by gzip or not
(Fashion-MNIST's have the same names). Without them: `python benchmarks/embeddings.py --parts digits`. Pictures are
padded to 32 by 32 in sixteen grey levels, a row of norm at most one; the network is transposed convolutions
10-256-128-64-1, given the label in the latent code (conditional) or one for each label (parallel); kernels are the
mean of widths 1, 2, 4, 8, 16 in units of the pictures' norm, over 32. Each step asks at --points pictures (of each
label, if parallel). Accuracy is that of the text's classifier on the real test pictures. The text takes 200,000 steps,
which are not measured here.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markdown_tables import means
from runner import Row, grid, measured, start

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
SCALES = tuple(s / SIDE for s in (16.0, 8.0, 4.0, 2.0, 1.0))
LABEL_ONLY = parse({"target": "digit", "columns": {"digit": {"type": "integer", "min": 0, "max": CLASSES - 1}}})


def idx(folder: Path, name: str) -> np.ndarray:
    """An array of MNIST's format, packed or not."""
    packed = folder / f"{name}.gz"
    raw = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
    shape = np.frombuffer(raw, ">i4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def pictures(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Grey levels (n, 1024) and labels (n,)."""
    images, labels = idx(folder, f"{part}-images-idx3-ubyte"), idx(folder, f"{part}-labels-idx1-ubyte")
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


def descent(rows: int, cell: Row) -> Descent:
    """The plan: the noise is what the steps' budget asks for."""
    adjacency = Adjacency(relation=Relation.ZERO_OUT)
    grant = Grant(epsilon=cell["epsilon"], delta=1e-5, adjacency=adjacency, mu=calibrate(cell["epsilon"], 1e-5))
    rate = whole_rate(min(cell["points"] / rows * (1 if cell["variant"] == "conditional" else CLASSES), 1.0))
    step_sigma = setting(LABEL_ONLY, grant, public_rows=rows).step_sigma
    assert step_sigma is not None
    levels = np.kron(np.eye(SIDE**2), np.linspace(0, 1, LEVELS)[:, None]) / SIDE
    return Descent(
        purpose="pictures",
        network=KERNEL,
        bins=(*(Bins.each(f"p{i:04d}", LEVELS) for i in range(SIDE**2)), Bins.each("digit", CLASSES)),
        hidden=cell["points"] * (1 if cell["variant"] == "conditional" else CLASSES),
        latent=0,
        clip=1.0,
        sigma=step_sigma(rate=rate, steps=cell["steps"]),
        rate=rate,
        steps=cell["steps"],
        coordinates=np.vstack([levels, np.zeros((CLASSES, SIDE**2))]),
        scales=SCALES,
        label=SIDE**2,
    )


def trained(folder: Path, cell: Row) -> Row:
    """A training from files to an accuracy."""
    import torch

    torch.manual_seed(cell["seed"])
    pixels, labels = pictures(folder, "train")
    plan = descent(len(pixels), cell)
    columns = {f"p{i:04d}": pixels[:, i] for i in range(SIDE**2)} | {"digit": labels}
    adjacency = Adjacency(relation=Relation.ZERO_OUT)
    grant = Grant(epsilon=cell["epsilon"], delta=1e-5, adjacency=adjacency, mu=calibrate(cell["epsilon"], 1e-5))
    given = {"commit": lambda: None, "read": lambda: columns, "noise": SystemNoise()}
    curator = Curator(grant=grant, mechanisms={Step: Descents()}, **given)
    own = cell["variant"] == "parallel"
    makers = [Maker(1) for _ in range(CLASSES)] if own else [Maker(CLASSES)]
    how = Stepwise(
        steps=cell["steps"],
        rate=plan.rate,
        points=plan.hidden,
        variant=cell["variant"],
        lengthscale=1.0,
        widths=len(SCALES),
        learning_rate=5e-5,
        oneway_share=0.0,
    )
    shares = np.full(CLASSES, 1 / CLASSES)  # labels are uniform, as in the text
    how.descend(curator.ask, plan, makers, shares=shares, rows=len(pixels), progress=lambda _: None)
    curator.close()
    wanted = np.arange(len(pixels)) % CLASSES
    with torch.no_grad():
        made = [makers[c if own else 0].places(np.full((wanted == c).sum(), c)) for c in range(CLASSES)]
    known = np.repeat(np.arange(CLASSES), [len(m) for m in made])
    score = recognised(torch.cat(made) * SIDE, known, *pictures(folder, "t10k"))
    return {"epsilon_spent": curator.epsilon_derived, "accuracy": score}


def recognised(made: Any, known: np.ndarray, test: np.ndarray, asked: np.ndarray, *, passes: int = 5) -> float:
    """Accuracy on real pictures of the text's classifier, trained on what was made."""
    import torch
    from torch import nn

    def layer(wide: int, out: int) -> list[nn.Module]:
        return [nn.Conv2d(wide, out, 3, stride=2, padding=1), nn.Dropout(0.5), nn.ReLU()]

    network = nn.Sequential(*layer(1, 32), *layer(32, 64), nn.Flatten(), nn.Linear(64 * (SIDE // 4) ** 2, CLASSES))
    adam, goal = torch.optim.Adam(network.parameters()), torch.from_numpy(known)
    for _ in range(passes):
        for some in torch.randperm(len(made)).split(128):
            adam.zero_grad()
            scores = network(made[some].reshape(-1, 1, SIDE, SIDE))
            nn.functional.cross_entropy(scores, goal[some]).backward()
            adam.step()
    network.eval()
    with torch.no_grad():
        real = torch.from_numpy(test).float().reshape(-1, 1, SIDE, SIDE) / (LEVELS - 1)
        return float((network(real).argmax(1).numpy() == asked).mean())


def main(given) -> str | None:
    folder = getattr(given, "from")
    if folder is None or not folder.is_dir():
        return "--from: a folder with MNIST's files is needed; without it, benchmarks/embeddings.py --parts digits"
    ways = {"variant": given.variants, "epsilon": given.epsilons, "steps": [given.steps]}
    ways |= {"points": [given.points], "seed": range(given.seeds)}
    rows = measured(given, grid(**ways), lambda _, cell: trained(folder, cell))
    print(means(rows, ("variant", "epsilon", "steps"), {"accuracy": 3}, runs="runs"))
    return None


if __name__ == "__main__":
    usual = {"variants": "conditional,parallel", "epsilons": [0.2, 1.0, 10.0], "steps": 20_000}
    start(main, json="mnist", **{"from": Path}, **usual, points=60, seeds=1)
