"""What a run would cost and give, before anything is spent; remembered for equal requests."""

from concurrent.futures import Future
from functools import cache
from math import sqrt
from typing import Any

import synth
from app.run import background
from app.session import access, words
from app.session.aside import planner
from app.session.state import Wizard, dataset, joined_method, together
from app.session.state import facts as facts_of
from synth.languages import _

PATIENCE = 60.0  # seconds that a forecast may take
CURVE = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
ASKED_FIRST = (0.05, 10.0, 1.0, 0.2, 5.0, 0.5, 2.0, 0.1)  # so that a curve cut short still spans it
CURVE_SECONDS = 4.0
ROUND_IT = 2.0  # seconds about a run here: Python starts twice and loads the library, the page looks every second
Plans = Future[list[Any] | None]


@cache
def methods(*, tree: bool = False) -> list[dict[str, Any]]:
    """What ``synth.methods`` lists, learnt beside the server, which needs no torch itself; ``tree``: as there."""
    return list(planner.ask("methods", seconds=120.0, tree=tree))


def begun(w: Wizard, *, drawn: bool = False) -> list[Future[Any]]:
    """The forecast of the run that the wizard describes, under way or known, and where it is ``drawn`` the curve of
    noise. Public facts only. Errors: UsageError, InputError.
    """
    return [_forecast(w), *([_curve(w)] if drawn else [])]


def forecast(w: Wizard, *, method: str | None = None) -> Any:
    """The plan of the run that the wizard describes; None where the method's forecast takes too long.

    Public facts only. Errors: UsageError, InputError.
    """
    result = _forecast(w, method).result()
    return result[0] if result else None


def curve(w: Wizard, plan: Any) -> list[Any]:
    """Forecasts of the chosen method over ``CURVE``, as many as time allows, and ``plan``; by epsilon.

    Errors: UsageError, InputError.
    """
    result = _curve(w, plan.method).result() or []
    return sorted({p.epsilon: p for p in [*result, plan]}.values(), key=lambda p: p.epsilon)


def _forecast(w: Wizard, method: str | None = None) -> Plans:
    return _plans(w, method, (w.epsilon,), PATIENCE)


def _curve(w: Wizard, method: str | None = None) -> Plans:
    return _plans(w, method, ASKED_FIRST, CURVE_SECONDS)


def _plans(w: Wizard, method: str | None, epsilons: tuple[float, ...], within: float) -> Plans:
    who, (facts, problem) = access.allow("forecast").name, facts_of(w)
    if facts is None:
        raise synth.InputError(problem)
    asked = {
        "rows": w.rows,
        "delta": w.delta,
        "method": method or (joined_method(w) if together(w) else w.method),
        "relation": w.relation,
        "options": w.options if method in (None, w.method) and not together(w) else {},
    }
    return background.begun(who, "forecasts", facts.to_json(), epsilons, seconds=PATIENCE, within=within, **asked)


def timed(method: str) -> bool:
    """Whether a method's forecast of time holds its fit: it does for those that count tables alone, public ones too."""
    reads = next((set(m["reads"]) for m in methods() if m["name"] == method), {"unknown"})
    return reads <= {"counts", "public counts", "search"}


def seconds(plan: Any) -> float:
    """How long the run takes from its button to its end, on a computer that does nothing else meanwhile."""
    return float(plan.seconds) + ROUND_IT


def pairs_alike(lines: list[Any]) -> tuple[list[float], float] | None:
    """Errors of pairs told on tables alike, and their cells: the coarsest of the curve's; None without pairs.

    A larger epsilon counts pairs in finer tables, of more but smaller cells, so that the errors of different epsilons
    cannot be compared as they are. Adding up the noise of k fine cells to one coarse cell multiplies it by sqrt(k),
    and there are k times fewer: the error of the coarse table is that of the fine one divided by sqrt(k).
    """
    if not lines or any(p.error_two_way is None or not p.cells_two_way for p in lines):
        return None
    fewest = min(p.cells_two_way for p in lines)
    return [p.error_two_way * sqrt(fewest / p.cells_two_way) for p in lines], fewest


def budget(w: Wizard) -> Any:
    """The dataset's totals in the ledger; None where it has neither a spend nor a cap."""
    result = synth.Ledger().summary(dataset(w))
    return result[0] if result else None


def short_by(w: Wizard) -> str:
    """Why the dataset's cap does not allow the run, in words; empty when it does as far as one can see."""
    total = budget(w)
    if total is None or total.remaining_epsilon is None:
        return ""
    if w.epsilon > total.remaining_epsilon:
        return _(
            "The cap on this dataset leaves epsilon {remaining_epsilon:g}, and this run asks for "
            "{epsilon:g}. Lower epsilon, or have the cap raised by whoever set it."
        ).format(remaining_epsilon=total.remaining_epsilon, epsilon=w.epsilon)
    if total.remaining_delta is not None and w.delta > total.remaining_delta:
        return _(
            "The cap on this dataset leaves delta {remaining_delta}, and this run asks for {delta}. Choose a "
            "smaller delta."
        ).format(remaining_delta=words.small(total.remaining_delta), delta=words.small(w.delta))
    return ""


def delta_note(w: Wizard) -> str:
    """What is wrong with delta for that many rows; empty when nothing is."""
    if w.delta * w.rows < 1:
        return ""
    return _(
        "Delta {delta} is not below 1 divided by the number of rows ({rows:,}): publishing one whole row at "
        "random would keep such a promise. Choose a smaller delta."
    ).format(delta=words.small(w.delta), rows=w.rows)
