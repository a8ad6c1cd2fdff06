"""Teachers' gradients on generated rows: one row moves what they come to by no more than stated, in every form."""

import json
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from synth.generators import GENERATORS
from synth.generators.papers.teachers import Pulled
from synth.mechanisms import pulls
from synth.mechanisms.votes import TaughtTeachers
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import event as stored
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Pulls, PullsRelease, Teachers
from synth.questions.gradients import BALLOTS, CLIPPED, SIGNS
from synth.release import store
from tests.evil_twins import Counted

SIZES = (3, 2)
BINS = tuple(Bins.each(n, s) for n, s in zip("ab", SIZES, strict=True))
EVERY = np.array([(i, j) for i in range(3) for j in range(2)])
PROJECTION = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 3)))[0]
FORMS = {CLIPPED: {"unit": 0.05}, SIGNS: {"kept": 2}, BALLOTS: {"kept": 4, "projection": PROJECTION}}


METHODS = {"gs_wgan": CLIPPED, "datalens": SIGNS, "g_pate": BALLOTS}


def question(form, *, seed=3, sigma=10.0, teachers=8):
    table = np.random.default_rng(seed).normal(size=(5, 8))
    plan = Teachers(purpose="p", bins=BINS, table=table, teachers=teachers, most_rows=6, sigma=sigma)
    return Pulls(teachers=plan, lessons=EVERY[:4], asked=EVERY, moves=5, form=form, **FORMS[form])


def reported(asked, codes):
    rows = {n: np.array([c[i] for c in codes], dtype=np.int64) for i, n in enumerate("ab")}
    results, noise = pulls.Pulling(), Counted()
    return np.stack([results.answer(asked, rows, noise).values.reshape(6, -1) for _ in range(2)])


@pytest.mark.parametrize("form", FORMS)
def test_a_row_moves_each_answer_by_at_most_the_stated_length(form):
    """All rows that may come, and all that may replace the last, in two rounds; the worst is near what is stated. Of no
    rows an answer is its noise. And which methods ask so."""
    pulled = {n: g for n, g in GENERATORS.items() if isinstance(g, Pulled)}
    assert {n: g.asking(8)["form"] for n, g in pulled.items()} == METHODS
    worst, cells = 0.0, 0
    asked = question(form)
    none = {n: np.zeros(0, dtype=np.int64) for n in "ab"}
    told = [pulls.Pulling().answer(asked, none, SystemNoise()).values.ravel() for _ in range(5)]
    z = np.concatenate(told) / asked.teachers.sigma
    assert 1e-9 < stats.chi2.cdf(z @ z, len(z)) < 1 - 1e-9
    for seed in range(4):
        asked = question(form, seed=seed)
        table = EVERY[np.random.default_rng(seed).integers(0, 6, 14)]
        before = reported(asked, table)
        for row in EVERY:
            for after in (reported(asked, [*table, row]), reported(asked, [*table[:-1], row])):
                worst = max(worst, np.linalg.norm(after - before, axis=2).max())
                cells = max(cells, np.count_nonzero(np.abs(after - before) > 1e-9, axis=2).max())
    stated = pulls.sensitivity(asked, Adjacency(relation=Relation.REPLACE_ONE))
    assert stated == {CLIPPED: 2.0, SIGNS: 2 * sqrt(2), BALLOTS: sqrt(6)}[form]
    assert 0.6 * stated < worst <= stated
    assert cells <= pulls.Pulling().changed_cells(asked, Adjacency(relation=Relation.ADD_REMOVE))


def test_three_rows_of_a_person_fall_on_three_teachers_at_most():
    adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="p", max_rows=3)
    asked, table = question(CLIPPED), list(EVERY[np.random.default_rng(5).integers(0, 6, 14)])
    shifted = max(
        np.linalg.norm(reported(asked, [*table, r, r, r]) - reported(asked, table), axis=2).max() for r in EVERY
    )
    assert 2.0 < shifted <= pulls.sensitivity(asked, adjacency) == 6.0


@pytest.mark.parametrize("sigma", [10.0, 400.0, 1e5])
def test_however_coarse_the_lattice_a_teacher_says_no_more_than_length_one(sigma):
    import torch

    asked = question(CLIPPED, sigma=sigma)
    each = torch.nn.functional.normalize(torch.from_numpy(np.random.default_rng(0).normal(size=(500, 5))), dim=1)
    lengths = np.linalg.norm(pulls.said(asked, each.float()), axis=1) * asked.lattice
    assert lengths.max() <= 1.0
    assert (lengths.max() > 0.5) == (sigma < 1e5)


def test_slopes_are_the_gradients_of_the_teachers_scores():
    """By plain differentiation of each teacher's score, less each column's mean, of length one."""
    import torch

    asked = question(CLIPPED)
    codes = EVERY[np.random.default_rng(0).integers(0, 6, 20)]
    result = TaughtTeachers(asked.teachers, {"a": codes[:, 0], "b": codes[:, 1]}, Counted())
    result.learn(asked.lessons, 5)
    table = torch.from_numpy(np.array(asked.teachers.table))
    for i, row in enumerate(EVERY):
        point = torch.zeros(5)
        point[row[0]] = point[3 + row[1]] = 1.0
        point.requires_grad_()
        for t in range(8):
            (slope,) = torch.autograd.grad(torch.relu(point @ table) @ result.weights[t], point)
            centred = torch.cat([p - p.mean() for p in slope.split(SIZES)])
            wanted = centred / centred.norm().clamp_min(0.05)
            assert torch.allclose(pulls.slopes(asked, result, EVERY)[i, t], wanted, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_every_row_asked_about_is_paid_for(form):
    """Six rows at the noise that spends epsilon 1 on them, by the accountant; and again from what a card stores."""
    shifted = question(form).answer_sensitivity
    sigma = np.nextafter(shifted * sqrt(6) / calibrate(1.0, 1e-5), np.inf)
    events = pulls.Pulling().events(question(form, sigma=sigma), Adjacency(relation=Relation.ADD_REMOVE))
    for held in (events, [stored(e.plain()) for e in events]):
        assert 1 - 1e-6 < epsilon_of(held, 1e-5) <= 1.0


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_comes_back_from_disk(form):
    asked = question(form)
    release = PullsRelease(question=asked, values=np.zeros((6, *asked.shape)))
    about, arrays = store.pack([release])
    (again,) = store.unpack(json.loads(json.dumps(about)), arrays)
    assert again.question.form == form
    assert again.question.shape == asked.shape


@pytest.mark.parametrize(("form", "change"), [("loud", {}), (SIGNS, {"kept": 6}), (BALLOTS, {"kept": 1})])
def test_pulls_without_sense_are_no_question(form, change):
    known = question(CLIPPED)
    with pytest.raises(ValueError, match=r"forms|signs|ballots"):
        Pulls(
            teachers=known.teachers,
            lessons=EVERY,
            asked=EVERY,
            moves=1,
            **{"form": form, **FORMS.get(form, {}), **change},
        )
