"""A stand-in for the curator: exact or noisy counts of positions given in the open, for tests only."""

from itertools import combinations

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.problem import Problem, TableMatrix
from synth.generators.core.product import Axis, Product
from synth.mechanisms import nearest, search
from synth.pipeline import budget
from synth.pipeline.methods import granted
from synth.privacy.curator import Curator
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Counts, CountsRelease, Nearest, NearestRelease, Search, SearchRelease
from synth.schema import dataset as datasets

IDENTIFIER, FLAG = {"type": "identifier"}, {"type": "boolean", "categories": ["0", "1"]}


class OpenSession:
    """Answers Counts and Nearest on ``positions`` with rounded Gaussian noise, Search by Gumbel noise; keeps count."""

    def __init__(self, positions, setting: Setting, *, seed=0):
        self.positions, self.setting = positions, setting
        self.rng = np.random.default_rng(seed)
        self.spent = 0.0
        self.asked: list[Counts | Search | Nearest] = []

    def __call__(self, question: Counts | Search | Nearest) -> CountsRelease | SearchRelease | NearestRelease:
        self.asked.append(question)
        if isinstance(question, Search):
            return self.searched(question)
        if isinstance(question, Nearest):
            self.spent += (self.setting.sensitivity / question.sigma) ** 2
            noise = np.rint(self.rng.normal(0, question.sigma, len(question.candidates))).astype(np.int64)
            return NearestRelease(question=question, values=nearest.votes(question, self.positions) + noise)
        values = []
        for marginal in question.marginals:
            self.spent += (self.setting.sensitivity / marginal.sigma) ** 2
            noise = self.rng.normal(0, marginal.sigma, marginal.shape)
            values.append(self.table(marginal) + np.rint(noise).astype(np.int64))
        assert self.spent <= self.setting.mu**2
        return CountsRelease(question=question, values=tuple(values))

    def searched(self, question: Search) -> SearchRelease:
        """Picks by Gumbel noise, which follow the exponential mechanism's law."""
        self.spent += question.picks * (self.setting.pick / question.scale) ** 2
        assert self.spent <= self.setting.mu**2
        noise = self.rng.gumbel(0, question.scale, len(question.tables))
        best = np.argsort(-(search.scores(question, self.positions) + noise))[: question.picks]
        return SearchRelease(question=question, chosen=tuple(best.tolist()))

    def table(self, marginal):
        flat, inside = np.int64(0), np.bool_(True)
        for bins in marginal.bins:
            at = np.searchsorted(bins.starts, self.positions[bins.column], side="right") - 1
            group = bins.groups[at]
            inside = inside & (group >= 0)
            flat = flat * bins.size + group
        return np.bincount(flat[inside], minlength=marginal.cells).reshape(marginal.shape)


def quiet(_share: float) -> None:
    """Progress that nobody watches."""


def identity(size: int) -> Problem:
    """Two columns that always agree: a table of full rank, which few components cannot make."""
    at = np.arange(2 * size)
    table = TableMatrix(rows=at[:size], cols=at[size:], y=np.eye(size) / size, precision=np.full((size, size), 1e6))
    return Problem(
        column=np.repeat([0, 1], size),
        mass=np.full(2 * size, 1 / size),
        precision=np.full(2 * size, 1e3),
        member=np.stack([at, at]),
        joint=np.zeros((2, 0), dtype=np.int64),
        blocks=[table],
    )


SIZES = (4, 3, 2)


def problem(rng):
    """Three columns of 4, 3 and 2 groups: the table of the first two, and of the first with both others."""
    truth = rng.dirichlet(np.full(24, 0.5)).reshape(SIZES)
    spans = np.split(np.arange(9), [4, 7])
    member = np.stack([np.arange(9), np.arange(9)])
    joint = np.array([[4, 4, 5, 5, 6, 6], [7, 8, 7, 8, 7, 8]])
    pair = TableMatrix(rows=spans[0], cols=spans[1], y=truth.sum(2), precision=np.full((4, 3), 50.0))
    triple = TableMatrix(rows=spans[0], cols=np.arange(9, 15), y=truth.reshape(4, 6), precision=np.full((4, 6), 90.0))
    mass = np.concatenate([truth.sum((1, 2)), truth.sum((0, 2)), truth.sum((0, 1))])
    laid = Problem(
        column=np.repeat([0, 1, 2], SIZES),
        mass=mass,
        precision=np.full(9, 30.0),
        member=member,
        joint=joint,
        blocks=[pair, triple],
    )
    return laid, truth


def counted_pairs(rng, *, rows: int, sigma: float) -> Problem:
    """All pairs of six even columns of four values, of which the second follows the first in nine rows of ten."""
    codes = rng.integers(0, 4, (rows, 6))
    retained = rng.random(rows) < 0.9
    codes[retained, 1] = codes[retained, 0]
    at, precise = np.arange(24).reshape(6, 4), (rows / sigma) ** 2
    blocks = []
    for i, j in combinations(range(6), 2):
        counts = np.bincount(4 * codes[:, i] + codes[:, j], minlength=16) + rng.normal(0, sigma, 16)
        table = counts.reshape(4, 4) / rows
        blocks.append(TableMatrix(rows=at[i], cols=at[j], y=table, precision=np.full((4, 4), precise)))
    return Problem(
        column=np.repeat(np.arange(6), 4),
        mass=np.full(24, 0.25),
        precision=np.full(24, precise),
        member=np.stack([np.arange(24)] * 2),
        joint=np.zeros((2, 0), dtype=np.int64),
        blocks=blocks,
        total=rows,
    )


def axis(column, probs, *, starts=None, groups=None, within=None, cells=None):
    """A model's column, by default with a leaf and a group for each position."""
    probs = np.array(probs, dtype=np.float32)
    each = np.arange(probs.shape[1] if starts is None else len(starts))
    return Axis(
        column=column,
        cells=len(each) if cells is None else cells,
        starts=each if starts is None else np.array(starts),
        groups=each if groups is None else np.array(groups),
        within=np.ones(len(each), np.float32) if within is None else np.array(within, dtype=np.float32),
        probs=probs,
    )


def mixture(total, weights, **columns):
    """A mixture of product distributions, of each column its values' probabilities by component."""
    axes = tuple(axis(n.replace("_", " "), p) for n, p in columns.items())
    return Product(total=total, weights=np.array(weights), axes=axes)


def paid(schema, rows, *, epsilon=2.0, delta=1e-5, relation=Relation.ADD_REMOVE, noise=None):
    """(curator, setting) of a run on positions given in the open, pure where delta is 0."""
    grant = granted(epsilon, delta, Adjacency(relation=relation), learning=False)
    public = len(next(iter(rows.values()))) if relation.rows_are_public else None
    mechanisms, noise = budget.mechanisms(), noise or SystemNoise()
    curator = Curator(grant=grant, commit=lambda: None, read=lambda: rows, mechanisms=mechanisms, noise=noise)
    return curator, budget.setting(schema, grant, public_rows=public)


def measured(method, rows, schema, **more):
    """(releases, setting, curator), the curator closed after the last release."""
    curator, setting = paid(schema, rows, **more)
    releases = method.measure(Run(curator.ask, setting))
    curator.close()
    return releases, setting, curator


def fitted(method, releases, setting, seed=0):
    """The method's model of these answers."""
    return method.fit(releases, setting, Fit(np.random.default_rng(seed)))


def related(child, *, root=None, most=3, order=None):
    """A schema of a root p of columns ``root`` and its children c of columns ``child``, by key id."""
    key = {"parent": "p", "child": "c", "columns": ["id"], "most_children": most} | ({"order": order} if order else {})
    tables = {n: {"columns": {"id": IDENTIFIER, **own}} for n, own in (("p", root or {"x": FLAG}), ("c", child))}
    return datasets.parse_related({"dataset": "related", "tables": tables, "keys": [key]})
