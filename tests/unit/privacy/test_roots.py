"""Zeros are those of scipy's method, to the last bit: no release changes with the way they are looked for."""

import math

import numpy as np
import pytest
from scipy import optimize

from synth.privacy.accounting import gaussian
from synth.privacy.accounting.roots import root

FUNCTIONS = {
    "line": (lambda x: x - 0.3, -1.0, 2.0),
    "cube": (lambda x: x**3 - 2, 0.0, 5.0),
    "steep": (lambda x: math.exp(20 * x) - 3, -3.0, 2.0),
    "at an end": (lambda x: x, 0.0, 1.0),
    "a step": (lambda x: -1.0 if x < 0.7 else 1.0, 0.0, 1.0),
    "infinite": (lambda x: -math.inf if x < 0.5 else x, 0.0, 2.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("near", [1e-12, 1e-3])
def test_as_scipy(name, near):
    function, low, high = FUNCTIONS[name]
    assert root(function, low, high, near=near) == optimize.brentq(function, low, high, xtol=near)


def test_of_the_accountant_as_scipy(monkeypatch):
    asked = []
    monkeypatch.setattr(gaussian, "root", lambda *given, near: asked.append((given, near)) or root(*given, near=near))
    for epsilon in np.geomspace(0.01, 50, 40):
        for delta in (1e-3, 1e-6, 1e-12):
            gaussian.derived_epsilon(gaussian.calibrate(float(epsilon), delta), delta)
    assert len(asked) > 200
    for given, near in asked:
        assert root(*given, near=near) == optimize.brentq(*given, xtol=near)


def test_one_sign_has_no_zero():
    with pytest.raises(ValueError, match="one sign"):
        root(lambda x: x + 5, 0.0, 1.0, near=1e-9)
