"""Rows released as draws among the table's own rows have no guarantee; draws from the whole domain have one.

DP-GEN (CVPR 2022) releases for each row one of its nearest rows **of the table**, with odds that fall with distance.
"""

from itertools import product

import numpy as np
import pytest

DOMAIN, EPSILON, NEIGHBOURS = 7, 1.0, 2


def among_the_rows(table: tuple[int, ...]) -> np.ndarray:
    """The law of the first released value: one of the nearest rows of the table, as the published code draws it."""
    rows = np.array(table)
    law = np.zeros(DOMAIN)
    for row in table:
        near = rows[np.argsort(np.abs(rows - row), kind="stable")[: NEIGHBOURS + 1]]
        odds = np.exp(-EPSILON * np.abs(near - row) / 2)
        np.add.at(law, near, odds / odds.sum() / len(table))
    return law


def from_the_domain(row: int) -> np.ndarray:
    """The sound draw: any value, with odds that fall with its distance, the largest being the domain's."""
    odds = np.exp(-EPSILON * np.abs(np.arange(DOMAIN) - row) / (2 * (DOMAIN - 1)))
    return odds / odds.sum()


def test_a_row_that_is_there_alone_can_be_seen_and_never_be_denied():
    """For every table there is a neighbour at which the loss is infinite, whatever the noise."""
    for table in product(range(DOMAIN), repeat=3):
        absent = next(v for v in range(DOMAIN) if v not in table)
        other = (absent, *table[1:])
        one, two = among_the_rows(table), among_the_rows(other)
        assert one[absent] == 0 < two[absent]
        assert two[absent] > 0.1  # and often so


@pytest.mark.parametrize("row", range(DOMAIN))
def test_a_draw_from_the_whole_domain_is_private(row):
    for other in range(DOMAIN):
        odds = np.log(from_the_domain(row) / from_the_domain(other))
        assert np.abs(odds).max() <= EPSILON


def test_over_a_wide_domain_it_keeps_next_to_nothing():
    assert from_the_domain(0)[0] < 1.6 / DOMAIN
