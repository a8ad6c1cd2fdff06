"""With test noise and a seed a run makes the same bytes again, so that ``golden.py`` can hold a change to them."""

import pytest

from tests.conformance.golden import OWN, TREE, digests

AT_ONCE = ("independent", "mixture", "mwem", "small_db", TREE)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in AT_ONCE else pytest.mark.slow) for n in [*OWN, TREE]]
)
def test_a_run_with_test_noise_makes_the_same_bytes_and_other_noise_others(name):
    first, other = digests(name), digests(name, noise=2)
    assert digests(name) == first
    assert other["schema.json"] == first["schema.json"]
    if name != "small_db":  # which tells one of few answers, and may well tell the same
        assert other["release.safetensors"] != first["release.safetensors"]
