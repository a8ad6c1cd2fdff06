"""How far a fitted mixture is from the answers that it was fitted to, beside what their noise explains."""

from collections.abc import Mapping

import numpy as np

from synth.generators.marginals.problem import Problem

REACHED = 1.15  # times what noise explains: above, a fit has not followed its tables, and says so


def misfit(problem: Problem, weights: np.ndarray, probs: np.ndarray) -> dict[str, float]:
    """``loss``: squared errors of all cells over their noise's variance; ``expected``: what the truth itself has, one a
    cell; ``ratio`` of the two; ``pairs``: that of the tables of two columns alone, which larger ones would hide.

    ``weights`` (B,), ``probs`` (B, G). Privacy: released answers only.
    """
    plain = int(problem.member[1].max(initial=-1)) + 1
    views = np.zeros((plain, len(weights)))
    np.add.at(views, problem.member[1], probs.T[problem.member[0]])
    sums = {True: [0.0, 0], False: [0.0, 0]}
    for block in problem.blocks:
        sides = [_side(index, plain, problem.joint, views) for index in (block.rows, block.cols)]
        error = (sides[0] * weights) @ sides[1].T - block.y
        pair = bool(max(block.rows.max(), block.cols.max()) < plain)
        sums[pair][0] += float((block.precision * error**2).sum())
        sums[pair][1] += block.cells
    loss, cells = (sums[True][i] + sums[False][i] for i in (0, 1))
    return {
        "loss": round(loss, 1),
        "expected": float(cells),
        "ratio": round(loss / max(cells, 1), 4),
        "pairs": round(sums[True][0] / max(sums[True][1], 1), 4),
    }


def _side(index: np.ndarray, plain: int, joint: np.ndarray, views: np.ndarray) -> np.ndarray:
    alone = index < plain
    out = np.empty((len(index), views.shape[1]))
    out[alone] = views[index[alone]]
    left, right = joint[:, index[~alone] - plain]
    out[~alone] = views[left] * views[right]
    return out


def in_words(estimates: Mapping[str, float] | None) -> str | None:
    """What a user should know of a fit that did not reach what noise explains; None of one that did, or tells nothing.

    >>> in_words({"loss": 10.0, "expected": 10.0, "ratio": 1.0, "pairs": 1.1})
    >>> in_words({"loss": 30.0, "expected": 10.0, "ratio": 3.0, "pairs": 1.1})
    'the fit ended at 3.00 times what noise explains (tables of pairs: 1.10), so ...'
    """
    worst = max(estimates["ratio"], estimates["pairs"]) if estimates else 0.0
    if not estimates or worst <= REACHED:
        return None
    return (
        f"the fit ended at {estimates['ratio']:.2f} times what noise explains (tables of pairs: "
        f"{estimates['pairs']:.2f}), so the table is less accurate than its answers allow; "
        "fits of the release with other seeds cost nothing"
    )
