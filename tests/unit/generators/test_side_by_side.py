"""Fits on several processors: the results of one after another, progress from the caller's thread, a clean stop."""

import copy
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import synth
from synth.generators.base import Share
from synth.generators.core import related as generator
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import side_by_side
from tests.unit.generators.helpers import FLAG, related


def part(value, *, seconds=0.0):
    def worked(progress):
        for step in range(4):
            progress(Share(step / 4, loss=float(value)))
            time.sleep(seconds)
        return value

    return worked


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_results_come_in_the_order_of_the_parts(cores):
    parts = [part(i, seconds=0.01 * (3 - i)) for i in range(3)]
    assert side_by_side(parts, lambda share: None, cores=cores) == [0, 1, 2]  # noqa: ARG005


def test_progress_is_the_mean_told_by_the_callers_thread():
    threads, reported = set(), []

    def progress(share):
        threads.add(threading.get_ident())
        reported.append((float(share), share.loss))

    side_by_side([part(1, seconds=0.05), part(3, seconds=0.05)], progress, cores=2, every=0.01)
    assert threads == {threading.get_ident()}
    assert [s for s, _ in reported] == sorted(s for s, _ in reported)
    assert reported[-1] == (0.75, 2.0)


def test_whoever_has_had_enough_stops_all_parts():
    begun = []

    def endless(progress):
        begun.append(1)
        while True:
            progress(Share(0.5))
            time.sleep(0.001)

    def cancelled(share):  # noqa: ARG001
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side([endless] * 5, cancelled, cores=2, every=0.01)
    assert len(begun) <= 2


def test_a_part_that_fails_stops_the_others():
    def fails(progress):  # noqa: ARG001
        raise ArithmeticError("no number")

    def endless(progress):
        while True:
            progress(Share(0.5))
            time.sleep(0.001)

    with pytest.raises(ArithmeticError, match="no number"):
        side_by_side([endless, fails], lambda share: None, cores=2)  # noqa: ARG005


@pytest.mark.usefixtures("few_steps")
def test_a_model_is_the_same_bytes_on_any_number_of_cores(tmp_path, monkeypatch):
    schema = related({"y": FLAG, "z": FLAG})
    roots = pd.DataFrame({"id": np.arange(300).astype(str), "x": ["0", "1"] * 150})
    rows = pd.DataFrame({"id": np.arange(600).astype(str), "y": ["0", "1", "1"] * 200, "z": ["0", "0", "1"] * 200})
    rows["id"] = (rows["id"].astype(int) % 300).astype(str)
    models, fit = [], Nested.fit

    def twice(self, releases, setting, given):
        for cores in (1, 3):
            monkeypatch.setattr(generator, "side_by_side", partial(side_by_side, cores=cores))
            models.append(fit(self, releases, setting, replace(given, rng=copy.deepcopy(given.rng))))
        return models[-1]

    monkeypatch.setattr(Nested, "fit", twice)
    synth.run({"p": roots, "c": rows}, schema=schema, epsilon=5, delta=1e-5, ledger=tmp_path / "l.sqlite", dataset="s")
    (_, one), (_, other) = (m.state() for m in models[-2:])
    assert len(one["table0.weights"]) > Nested().options.fits, "several fits, of several components each"
    assert {n: a.tobytes() for n, a in one.items()} == {n: a.tobytes() for n, a in other.items()}
