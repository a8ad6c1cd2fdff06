"""What weighted tables say of tables in which rows count."""

import numpy as np
import pytest

from synth.generators.core.related_tables import ByNumber
from synth.questions import Bins, Linked, LinkedRelease, Marginal
from tests.unit.generators.helpers import FLAG, related

SCHEMA = related({"y": FLAG, "w": FLAG})
TIMES = {"rows": [0, 1, 2, 3], "steps": [0, 0, 1, 2]}


def bins(name, groups):
    cells = len(groups)
    return Bins(column=name, cells=cells, starts=np.arange(cells), groups=np.array(groups))


def release(view, tables):
    marginals = tuple(Marginal(bins=b, sigma=1e-9) for b, _ in tables)
    question = Linked(purpose="tables", table="c", view=view, most=3, marginals=marginals)
    return LinkedRelease(question=question, values=tuple(v for _, v in tables))


def asked(view):
    """A weighted table of two columns, its truth among plain rows, and the answers by number: all hang together."""
    rng = np.random.default_rng(1)
    line, column = rng.random((2, 4)), rng.random((2, 4))
    whole = np.einsum("an,bn->abn", line, column) * 1000 * (np.array(TIMES[view]) > 0)
    other = "+c/w" if view == "steps" else "p/x"
    number = bins("p/number of c", [0, 1, 2, 3])
    pair = (bins("c/y", [0, 1]), bins(other, [0, 1]))
    tables = [(pair, whole.sum(2)), ((pair[0], number), whole.sum(1)), ((number, pair[1]), whole.sum(0).T)]
    return release(view, tables), whole @ np.array(TIMES[view])


@pytest.mark.parametrize("view", ["rows", "steps"])
def test_a_weighted_table_gets_the_margins_of_plain_rows(view):
    answers, truth = asked(view)
    marginal, values = answers.question.marginals[0], answers.values[0]
    result = ByNumber(SCHEMA, [answers], "tables").counted(view, marginal, values)
    assert result is not None
    np.testing.assert_allclose(result.values.sum(1), truth.sum(1), rtol=1e-6)
    np.testing.assert_allclose(result.values.sum(0), truth.sum(0), rtol=1e-6)
    weighed = 0.5 * np.abs(values / values.sum() - truth / truth.sum()).sum()
    assert 0.5 * np.abs(result.values / truth.sum() - truth / truth.sum()).sum() < 0.5 * weighed
    np.testing.assert_allclose(result.sigma * values, result.values * marginal.sigma)


def test_noise_alone_leaves_scales_within_what_the_bound_allows():
    answers, _ = asked("rows")
    noisy = LinkedRelease(question=answers.question, values=tuple(-v for v in answers.values))
    result = ByNumber(SCHEMA, [noisy], "tables").counted("rows", noisy.question.marginals[0], noisy.values[0])
    assert result is not None
    assert np.isfinite(result.values).all()
    assert (result.sigma > 0).all()


def test_what_no_answer_tells_is_not_made_up():
    answers, _ = asked("rows")
    reported = ByNumber(SCHEMA, [answers], "tables")
    assert reported.counted("first", answers.question.marginals[0], answers.values[0]) is None
    assert reported.counted("steps", answers.question.marginals[0], answers.values[0]) is None
    assert reported.counted("rows", answers.question.marginals[1], answers.values[1]) is None, (
        "it tells the number itself"
    )
