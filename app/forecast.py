"""What a run would cost and give, before anything is spent; remembered for equal requests."""

import json
from typing import Any

import streamlit as st

import synth
from app import words
from app.state import Wizard, dataset, schema


@st.cache_data(max_entries=64, show_spinner=False)
def _plan(text: str, rows: int, epsilon: float, delta: float, method: str, relation: str) -> Any:
    return synth.plan(
        synth.parse(json.loads(text)), rows=rows, epsilon=epsilon, delta=delta, method=method, relation=relation
    )


def forecast(w: Wizard) -> Any:
    """The plan of the run that the wizard describes. Public facts only. Errors: UsageError, InputError."""
    facts, problem = schema(w)
    if facts is None:
        raise synth.InputError(problem)
    return _plan(facts.to_json(), w.rows, w.epsilon, w.delta, w.method, w.relation)


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
