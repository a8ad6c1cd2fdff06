"""Every method can be chosen, each of its options is explained, and what a menu offers the method takes."""

import sys
import time
from collections import OrderedDict

import pytest

import synth
from app.run import options, runs
from app.session import words
from app.session.state import view
from synth.generators import GENERATORS
from synth.generators.method import OneOf
from tests.app.elements import said, sample

pytestmark = pytest.mark.xdist_group("app")


def test_every_option_of_every_method_is_explained():
    named = {(m["name"], n) for m in synth.methods() for n in m["options"]}
    assert {n for _, n in named} <= set(options.SAYS)
    assert set(options.SAYS) <= {n for _, n in named}, "no word about what no method has"


def test_every_method_is_told_in_plain_words():
    assert set(words.METHODS) == set(GENERATORS)
    assert not any("keep" in said or "kept" in said for said in words.METHODS.values())  # measured: synth.app_api.kept
    assert all(
        synth.app_api.retention(words.RECOMMENDED, epsilon=e).relations for e in (0.2, 1.0, 5.1)
    )  # as REASON says


# their options, noise and forecast are made by the same code as those of pate_gan, and take longer
OTHERS = [pytest.param(m, marks=pytest.mark.slow) for m in ("dp_ctgan", "dp_vae")]


@pytest.mark.parametrize("method", ["pate_gan", *OTHERS, "slicing"])
def test_a_trained_method_is_chosen_with_its_options_and_a_forecast(start, method):
    at = sample(start)
    at.switch_page(view("privacy")).run()
    at.selectbox(key="method").set_value(method).run()
    assert not at.exception
    assert not at.error
    menu = at.selectbox(key="method")
    assert f"{method}: {words.METHODS[method]}" in menu.options
    helps = [c.proto.help for c in at.caption]
    assert any(GENERATORS[method].summary in h for h in helps), "the terms stand in the tooltip"
    assert "Recommended is mixture" in said(at)
    warned = synth.app_api.retention_warning(method, epsilon=at.session_state["wizard"].epsilon)
    assert ("keeps no relations between columns" in said(at)) == bool(warned)
    for name, allowed in GENERATORS[method].ranges.items():
        if isinstance(allowed, OneOf) and not allowed.most:
            menu = at.selectbox(key=f"option_{method}_{name}")
            assert menu.options == list(allowed.words), "a menu offers what the method knows"
    number = next(n for n in at.number_input if n.key == f"option_{method}_steps" or n.key.endswith("_rounds"))
    number.set_value(7).run()
    assert 7 in at.session_state["wizard"].options.values()
    limit = time.monotonic() + 120
    while not any(m.label == "Time" for m in at.metric):  # worked out in the background
        assert time.monotonic() < limit, said(at)
        at.run()


def test_who_has_a_gpu_may_do_without_it(start, monkeypatch):
    before = "torch" in sys.modules  # by another test of this process
    at = sample(start)
    at.switch_page(view("privacy")).run()
    assert not [t for t in at.toggle if t.key == "device"]
    assert runs._request(at.session_state["wizard"]).device == "auto"
    assert ("torch" in sys.modules) == before, "it is asked beside the server"
    monkeypatch.setattr(options.workers, "ask", lambda *_, **__: True)
    monkeypatch.setattr(options.workers, "_known", OrderedDict())
    at.run()
    at.toggle(key="device").set_value(False).run()
    assert runs._request(at.session_state["wizard"]).device == "cpu"
