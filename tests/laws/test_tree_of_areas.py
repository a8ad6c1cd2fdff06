"""A declared tree of areas is public: what private rows say of the areas above moves no answer, no noise, no ending.

Each law fails where a cell above the lowest area was read, where a level was asked beside the budget, or where a level
was counted in more than one cell a row.
"""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.generators import GENERATORS
from synth.generators.base import Run, Setting
from synth.generators.core.oneways import AREAS, area_releases
from synth.privacy.ledger.ledger import Ledger
from synth.questions import Counts, CountsRelease, Search, SearchRelease
from synth.schema import codec
from synth.sources.formats.text_table import from_frame
from tests.conftest import as_text
from tests.made import binary, codes, facts_of, number, ran

BLOCKS = [f"{d}{k}" for d in ("11", "12", "21", "22") for k in range(6)]
PLAIN = facts_of(
    region=codes("1", "2"),
    district=codes("11", "12", "21", "22", within="region"),
    block=codes(*BLOCKS, within="district"),
    age=number(0, 19),
    ill=binary("no", "yes"),
)
SCHEMA = synth.Schema.parse(PLAIN)
ROWS = 600


def sound(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    block = rng.choice(BLOCKS, ROWS)
    return pd.DataFrame(
        {
            "region": [b[:1] for b in block],
            "district": [b[:2] for b in block],
            "block": block,
            "age": rng.integers(0, 20, ROWS).astype(str),
            "ill": rng.choice(["no", "yes"], ROWS),
        }
    )


def contradicting(frame: pd.DataFrame, cells: str) -> pd.DataFrame:
    """The same lowest areas, the cells above them wrong: other areas, none, or texts that the schema does not know."""
    rng = np.random.default_rng(1)
    if cells == "others":
        above = {n: rng.permutation(frame[n]) for n in ("region", "district")}
    else:
        above = dict.fromkeys(("region", "district"), cells)
    return frame.assign(**above)


def positions(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    class Draws:
        def uniform_codes(self, size: int, *, high: int) -> np.ndarray:
            return np.zeros(size, dtype=np.int64) % high

    return dict(codec.encode(from_frame(frame), SCHEMA, Draws()).positions)


def asked(frame: pd.DataFrame, method: str = "mixture", *, seed: int = 3):
    """The questions of a method and their answers, under noise of a seed."""
    rows, rng, questions = positions(frame), np.random.default_rng(seed), []

    def ask(question):
        questions.append(question)
        if isinstance(question, Search):
            return SearchRelease(question=question, chosen=tuple(range(question.picks)))
        values = []
        for marginal in question.marginals:
            flat = np.zeros(len(frame), dtype=np.int64)
            for bins in marginal.bins:
                group = bins.groups[np.searchsorted(bins.starts, rows[bins.column], side="right") - 1]
                flat = flat * bins.size + group
            exact = np.bincount(flat, minlength=marginal.cells).reshape(marginal.shape)
            values.append(exact + np.rint(rng.normal(0, marginal.sigma, marginal.shape)).astype(np.int64))
        return CountsRelease(question=question, values=tuple(values))

    setting = Setting(schema=SCHEMA, mu=1.0, sensitivity=1.0)
    answers = GENERATORS[method].measure(Run(ask, setting))
    return questions, answers, setting


@pytest.mark.parametrize("cells", ["others", "", "zz"])
def test_cells_above_the_lowest_area_move_no_answer(cells):
    """Were one of them read, its table of counts would differ by more than one row and here it would show."""
    frame = sound()
    one, other = (positions(f) for f in (frame, contradicting(frame, cells)))
    assert one.keys() == other.keys() == {"block", "age", "ill"}
    assert all((one[n] == other[n]).all() for n in one)


@pytest.mark.parametrize("method", ["mixture", "independent"])
def test_every_level_is_paid_for_and_counts_a_row_once(method):
    """The whole budget, and no more: an answer beside it would be too little noise, a level left out too much."""
    questions, _, setting = asked(sound(), method)
    counts = [q for q in questions if isinstance(q, Counts)]
    searches = [q for q in questions if isinstance(q, Search)]
    spent = sum(setting.share(m.sigma) for q in counts for m in q.marginals)
    spent += sum(q.picks * (setting.pick / (q.scale * setting.mu)) ** 2 for q in searches)
    assert 0.95 < spent <= 1
    above = [m for q in counts if q.purpose == AREAS for m in q.marginals]
    assert [m.columns for m in above] == [("block",)] * 2
    assert [m.cells for m in above] == [4, 2]
    assert all(len(m.bins[0].groups) == len(BLOCKS) and (m.bins[0].groups >= 0).all() for m in above)


def test_neighbours_differ_by_one_row_in_every_level():
    frame = sound()
    shifted = frame.copy()
    shifted.loc[0, ["region", "district", "block"]] = ["1", "11", "225"]  # and its cells above contradict the tree
    (_, one, _), (_, other, _) = asked(frame), asked(shifted)
    levels = [area_releases(r) for r in (one, other)]
    for a, b in zip(levels[0][0].values, levels[1][0].values, strict=True):
        assert np.abs(a - b).sum() <= 2


def test_runs_on_contradicting_rows_end_and_cost_as_on_sound_ones():
    frame = sound()
    seen = []
    for table in (frame, *(contradicting(frame, c) for c in ("others", "", "zz"))):
        result = ran(table, SCHEMA, method="independent", separate=True, seed=1)
        entry = [e for e in Ledger().entries() if e.kind == "spend"][-1]
        seen.append((result.card["mechanisms"], result.card["invariants"], result.card["areas"], entry.question))
        made = as_text(result)
        assert (made["block"].str[:2] == made["district"]).all()
        assert (made["block"].str[:1] == made["region"]).all()
    assert all(s == seen[0] for s in seen)
