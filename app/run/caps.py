"""What the ledger says to whom, a dataset's budget, and the choice of a cap."""

from dataclasses import dataclass

import streamlit as st

import synth
from app.session import access, words
from synth.app_api import jobs
from synth.languages import Texts, _


def datasets_seen(names: list[str]) -> list[str]:
    """Those of the datasets whose lines the visitor may read. Errors: UsageError."""
    who = access.allow("read_ledger")
    if who.may("read_any_dataset"):
        return names
    rules, book = access.rules(), synth.Ledger()
    own = {str(j.request().get("dataset")) for j in jobs.those(lambda j: j.request().get("owner") == who.name)}
    return [n for n in names if n in own or rules.named(who, n) or getattr(book.policy(n), "actor", None) == who.name]


PROPOSED = 3.0
KINDS = Texts({"cap": "Cap it", "none": "No cap"})


@dataclass(frozen=True)
class Budget:
    """What is known of a dataset's budget; without a cap ``left`` is None."""

    name: str
    epsilon: float  # spent
    runs: int
    cap: float | None
    left: float | None
    left_delta: float | None
    reserve: float | None  # left of what is kept for questions
    decided: bool  # somebody chose: in the ledger, or in the file of roles
    by_rules: bool  # the cap is that of the file of roles


def of(name: str) -> Budget:
    """The budget of a dataset, by the ledger and the file of roles. Errors: InputError."""
    total = next(iter(synth.Ledger().summary(name)), None) if name else None
    rules, policy = access.rules().budget(name), total.policy if total else None
    epsilon, delta = (total.epsilon, total.delta) if total else (0.0, 0.0)
    left = (total.remaining_epsilon, total.remaining_delta) if total else (None, None)
    if rules is not None:  # they hold whatever the ledger says, where the next run writes them
        left = max(rules[0] - epsilon, 0.0), max(rules[1] - delta, 0.0)
    return Budget(
        name,
        epsilon,
        total.runs if total else 0,
        rules[0] if rules else policy.max_epsilon if policy else None,
        *left,
        total.remaining_reserve if total else None,
        decided=policy is not None or rules is not None,
        by_rules=rules is not None,
    )


def may_set(name: str) -> bool:
    """Whether the visitor may choose for this dataset."""
    who = access.me()
    return who.may("set_cap") and access.rules().may_cap(who, name)


def put(name: str, cap: float | None, *, approved_by: str | None = None) -> None:
    """Records the choice, None for no cap, in the visitor's name. Errors: UsageError."""
    who = access.allow("set_cap")
    if not access.rules().may_cap(who, name):
        raise synth.UsageError(
            _("{name}: its cap is not yours to set; ask whoever keeps the file of roles").format(name=name)
        )
    synth.Ledger().set_policy(name, max_epsilon=cap, actor=who.name or None, approved_by=approved_by)


def first(name: str) -> None:
    """Errors: UsageError before the first spend on a dataset whose cap nobody has chosen."""
    if not of(name).decided:
        raise synth.UsageError(
            _("{name} has no cap yet, nor the decision to have none; choose on the page Privacy and accuracy").format(
                name=name
            )
        )


def amounts(key: str, what: str, *, usual: float, delta: float) -> tuple[float, float]:
    """The fields of a spend beside a run: epsilon, at first the ``usual`` one, and delta. ``what``: it is for."""
    left, right = st.columns(2)
    said = _("It is charged in addition to the runs; a tenth of what a run gets is usual. A larger one is more exact.")
    label = _("Epsilon for {what}")
    epsilon = left.number_input(
        label.format(what=what), min_value=0.01, value=usual, step=0.05, key=f"{key}_epsilon", help=said
    )
    known = [1e-5, 1e-6, 1e-7]
    label, about = _("Delta for {what}").format(what=what), _(words.DELTA_HELP)
    return float(epsilon), right.selectbox(
        label, known, known.index(delta), key=f"{key}_delta", format_func=words.small, help=about
    )


def ask(key: str, *, spent: float = 0.0) -> float | None:
    """The controls of the choice; the cap that they show, None for none."""
    left, right = st.columns(2)
    said = _(
        "Beyond a cap the ledger refuses any run, whoever starts it. All runs on this dataset count together, also "
        "those you disliked. The choice is written down; the page Ledger changes it."
    )
    label = _("Cap on epsilon over all runs")
    kind = left.radio(label, list(KINDS), key=f"{key}_kind", format_func=KINDS.__getitem__, horizontal=True, help=said)
    if kind == "none":
        right.caption(_("Nothing will stop a run, however much has been spent. Every run still counts."))
        return None
    said = _("3 is proposed: three runs at epsilon 1, for example.")
    label = _("At most")
    return float(
        right.number_input(label, min_value=0.1, value=max(PROPOSED, spent), step=0.5, key=f"{key}_value", help=said)
    )
