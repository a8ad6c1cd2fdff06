"""Tiny tables of two columns of two values, and all neighbours of some of them."""

from itertools import product

import numpy as np

from synth.privacy.relation import Relation

ROWS = list(product(range(2), repeat=2))


def columns(rows):
    retained = [r for r in rows if r is not None]
    return {n: np.array([r[i] for r in retained], dtype=np.int64) for i, n in enumerate("ab")}


def by_one_row(rows, stays, relation):
    """Pairs of tables in which one of these rows stands beside the row that stays (None is the absent row)."""
    for row in rows:
        match relation:
            case Relation.ADD_REMOVE:
                yield [stays, row], [stays]
            case Relation.ZERO_OUT:
                yield [stays, row], [stays, None]
            case Relation.REPLACE_ONE:
                for other in rows:
                    yield [stays, row], [stays, other]


def neighbours(relation, most):
    """Pairs of tables that differ in one unit of up to ``most`` rows, beside one or two other rows."""
    mine = [list(rows) for k in range(most + 1) for rows in product(ROWS, repeat=k)]
    for rest in ([(0, 0)], [(0, 1), (1, 1)]):
        for rows in mine:
            if relation is Relation.REPLACE_ONE:
                for instead in mine:
                    yield rest + rows, rest + instead
            else:
                yield rest + rows, rest + ([None] * len(rows) if relation is Relation.ZERO_OUT else [])
