"""What a run would cost and give, before anything is spent; remembered for equal requests."""

import json
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from math import sqrt
from typing import Any

import streamlit as st

import synth
from app.session import access, words
from app.session.aside import TooLongError, planner
from app.session.state import Wizard, dataset, schema

PATIENCE = 20.0  # seconds that a forecast may take
CURVE = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
ASKED_FIRST = [0.05, 10.0, 1.0, 0.2, 5.0, 0.5, 2.0, 0.1]  # so that a curve cut short still spans it
CURVE_SECONDS = 4.0


KEPT = 256  # forecasts that are remembered
Key = tuple[str, str, tuple[float, ...], float, str]

_pool = ThreadPoolExecutor(1, thread_name_prefix="forecast")
_known: OrderedDict[Key, Future[list[Any] | None]] = OrderedDict()
_turn = threading.Lock()


def _begun(*key: Any) -> Future[list[Any] | None]:
    """A forecast that is under way or known; the visitor's name is in ``key``, since nobody must learn from a quick
    answer what another asked. What failed is tried anew by the next who asks."""
    with _turn:
        found = _known.get(key)
        if found is None or (found.done() and found.exception() is not None):
            found = _known[key] = _pool.submit(_work, *key)
        _known.move_to_end(key)
        while len(_known) > KEPT:
            _known.popitem(last=False)
        return found


def _work(_who: str, text: str, epsilons: tuple[float, ...], seconds: float, asked: str) -> list[Any] | None:
    """Forecasts, or None where one takes too long: remembered too, so that nobody waits twice."""
    try:
        return list(planner.ask("forecasts", text, list(epsilons), seconds=PATIENCE, within=seconds,
                                **json.loads(asked)))  # fmt: skip
    except TooLongError:
        return None


def _plans(*key: Any) -> list[Any] | None:
    return _begun(*key).result()


@st.cache_data(show_spinner=False)
def methods() -> list[dict[str, Any]]:
    """What ``synth.methods`` lists, learnt beside the server, which needs no torch itself."""
    return list(planner.ask("methods", seconds=120.0))


def forecast(w: Wizard, *, method: str | None = None) -> Any:
    """The plan of the run that the wizard describes; None where the method's forecast takes too long.

    Public facts only. Errors: UsageError, InputError.
    """
    found = _plans(access.allow("forecast").name, _text(w), (w.epsilon,), PATIENCE, _asked(w, method))
    return found[0] if found else None


def curve(w: Wizard, plan: Any) -> list[Any]:
    """Forecasts of the chosen method over ``CURVE``, as many as time allows, and ``plan``; by epsilon.

    Errors: UsageError, InputError.
    """
    who = access.allow("forecast").name
    found = _plans(who, _text(w), tuple(ASKED_FIRST), CURVE_SECONDS, _asked(w, plan.method)) or []
    return sorted({p.epsilon: p for p in [*found, plan]}.values(), key=lambda p: p.epsilon)


def working(w: Wizard, *, drawn: bool, patience: float) -> bool:
    """Begins the forecast, and says whether it is still under way after so many seconds; pages need not wait for it.

    ``drawn``: whether the curve of noise is wanted too. Errors: UsageError, InputError.
    """
    who, text, asked = access.allow("forecast").name, _text(w), _asked(w, None)
    wanted = [_begun(who, text, (w.epsilon,), PATIENCE, asked)]
    if drawn:
        wanted.append(_begun(who, text, tuple(ASKED_FIRST), CURVE_SECONDS, asked))
    try:
        for one in wanted:
            one.exception(timeout=patience)
    except NotYetError:
        return True
    return False


def timed(method: str) -> bool:
    """Whether a method's forecast of time holds its fit: it does for those that count tables alone."""
    return next((set(m["reads"]) <= {"counts", "search"} for m in methods() if m["name"] == method), False)


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


def _text(w: Wizard) -> str:
    facts, problem = schema(w)
    if facts is None:
        raise synth.InputError(problem)
    return facts.to_json()


def _asked(w: Wizard, method: str | None) -> str:
    options = w.options if method in (None, w.method) else {}
    asked = {"rows": w.rows, "delta": w.delta, "method": method or w.method, "relation": w.relation}
    return json.dumps({**asked, "options": options}, sort_keys=True)


def budget(w: Wizard) -> Any:
    """The dataset's totals in the ledger; None where it has neither a spend nor a cap."""
    found = synth.Ledger().summary(dataset(w))
    return found[0] if found else None


def short_by(w: Wizard) -> str:
    """Why the dataset's cap does not allow the run, in words; empty when it does as far as one can see."""
    total = budget(w)
    if total is None or total.remaining_epsilon is None:
        return ""
    if w.epsilon > total.remaining_epsilon:
        return (
            f"The cap on this dataset leaves epsilon {total.remaining_epsilon:g}, and this run asks for "
            f"{w.epsilon:g}. Lower epsilon, or have the cap raised by whoever set it."
        )
    if total.remaining_delta is not None and w.delta > total.remaining_delta:
        return (
            f"The cap on this dataset leaves delta {words.small(total.remaining_delta)}, and this run asks for "
            f"{words.small(w.delta)}. Choose a smaller delta."
        )
    return ""


def delta_note(w: Wizard) -> str:
    """What is wrong with delta for that many rows; empty when nothing is."""
    if w.delta * w.rows < 1:
        return ""
    return (
        f"Delta {words.small(w.delta)} is not below 1 divided by the number of rows ({w.rows:,}): publishing one whole "
        "row at random would keep such a promise. Choose a smaller delta."
    )
