"""A dataset's cap is chosen before its first spend: a number, or that there is none. Either is a line of the ledger."""

import streamlit as st

import synth
from app.session import access
from synth.languages import Texts, _

PROPOSED = 3.0
KINDS = Texts({"cap": "Cap it", "none": "No cap"})


def decided(name: str) -> bool:
    """Whether somebody chose: in the ledger, or in the file of roles."""
    return access.rules().budget(name) is not None or synth.Ledger().policy(name) is not None


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
    if not decided(name):
        raise synth.UsageError(
            _("{name} has no cap yet, nor the decision to have none; choose on the page Budget").format(name=name)
        )


def ask(key: str, *, spent: float = 0.0) -> float | None:
    """The controls of the choice; the cap that they show, None for none."""
    left, right = st.columns(2)
    kind = left.radio(
        _("Cap on epsilon over all runs"),
        list(KINDS),
        key=f"{key}_kind",
        format_func=KINDS.__getitem__,
        horizontal=True,
        help=_(
            "With a cap the ledger refuses any run beyond it, whoever starts it. All runs on this dataset count "
            "together, also those whose results you did not like. The choice is written down; a cap can be set "
            "or changed later on the page Ledger."
        ),
    )
    if kind == "none":
        right.caption(_("Nothing will stop a run, however much has been spent. Every run still counts."))
        return None
    return float(
        right.number_input(
            _("At most"),
            min_value=0.1,
            value=max(PROPOSED, spent),
            step=0.5,
            key=f"{key}_value",
            help=_("3 is proposed: three runs at epsilon 1, for example."),
        )
    )


def words(cap: float | None) -> str:
    """The choice as a sentence's part."""
    return _("no cap") if cap is None else _("epsilon {cap:g}, delta 1e-3").format(cap=cap)
