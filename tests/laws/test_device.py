"""A device that a run names is used, or refused before the spend: by every method, in every form with work of its own.

No GPU is needed: torch's ``meta`` device takes tensors that hold no numbers, so that whatever computes there fails as
soon as it needs one.
"""

import numpy as np
import pytest
import torch

import synth
from synth.errors import UsageError
from synth.generators import GENERATORS, TREES
from synth.generators.base import Fit, Run
from synth.generators.method import with_options
from synth.pipeline import budget
from synth.pipeline.methods import resolve_device
from tests.conformance.measuring import QUICK, SCHEMA
from tests.conftest import SMALL, small_frame
from tests.made import curator

U = np.random.default_rng(0).random(2000)
ROWS = {n: (U * c.cells).astype(np.int64) for n, c in SCHEMA.measured().items()}  # columns that agree
FEW = {"steps": 3, "components": 4}
NETWORK = {"loss": "kl", "steps": 2, "batch": 16, "groups": "8"}
FORMS = [
    *((name, QUICK.get(name, {})) for name in GENERATORS),
    *(("dp_kernel", {"form": form, "variant": "conditional", **FEW}) for form in ("anova", "stepwise")),
    *(("dp_kernel", {"form": form, "anchors": 40, **FEW}) for form in ("path", "gaussian")),
    ("dp_kernel", {"form": "gaussian", "variant": "parallel", "anchors": 40, **FEW}),
    ("slicing", NETWORK),
    ("slicing", {**NETWORK, "directions": "gaussian", "form": "published", "num_slices": 8}),
]


@pytest.fixture
def gpu(monkeypatch):
    """A machine on which torch finds one."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


@pytest.mark.parametrize(("name", "options"), FORMS, ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x)))
def test_a_method_computes_on_the_device_or_refuses_it(name, options, gpu):  # noqa: ARG001
    method = with_options(GENERATORS[name], options)
    assert resolve_device("cpu", method) == "cpu"
    if not method.takes_device:
        assert resolve_device("auto", method) == "cpu"
        with pytest.raises(UsageError, match="computes on the processor alone"):
            resolve_device("cuda", method)
        return
    assert [resolve_device(d, method) for d in ("auto", "cuda", "cuda:1")] == ["cuda", "cuda", "cuda:1"]
    door = curator(ROWS, epsilon=10.0, relation="zero_out")
    setting = budget.setting(SCHEMA, door.grant, public_rows=2000)
    releases = method.measure(Run(door.ask, setting))
    with pytest.raises((NotImplementedError, RuntimeError), match=r"(?i)meta"):
        method.fit(releases, setting, Fit(np.random.default_rng(0), device="meta"))


@pytest.mark.parametrize("form", ["path", "gaussian"])
def test_models_between_a_paths_questions_are_fitted_there_too(form):
    method = with_options(GENERATORS["dp_kernel"], {"form": form, "anchors": 40})
    door = curator(ROWS, epsilon=10.0, relation="zero_out")
    setting = budget.setting(SCHEMA, door.grant, public_rows=2000)
    with pytest.raises((NotImplementedError, RuntimeError), match=r"(?i)meta"):
        method.measure(Run(door.ask, setting, device="meta"))


@pytest.mark.parametrize(("method", "device"), [("dp_vae", "cuda"), ("independent", "cuda:0"), ("mixture", "tpu")])
def test_what_would_not_be_used_is_refused_before_the_spend(method, device, gpu, tmp_path):  # noqa: ARG001
    book = tmp_path / "ledger.sqlite"
    with pytest.raises(UsageError, match="device"):
        synth.run(
            small_frame(200),
            schema=synth.Schema.parse(SMALL),
            epsilon=1.0,
            delta=1e-5,
            dataset="d",
            method=method,
            device=device,
            ledger=book,
        )
    assert not synth.Ledger(book).entries()


def test_related_tables_name_what_they_take():
    assert {n: m.takes_device for n, m in TREES.items()} == {"mixture": True, "independent": False}
