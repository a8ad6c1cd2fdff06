"""What the ledger says to whom, a dataset's cap, and its total privacy loss under several ways of adding up."""

import streamlit as st

import synth
from app.session import access, charts, frame, tasks, workers
from synth.app_api import jobs
from synth.languages import Texts, _


def datasets_seen(names: list[str]) -> list[str]:
    """Those of the datasets whose lines the visitor may read. Errors: UsageError."""
    who = access.allow("read_ledger")
    if who.may("read_any_dataset"):
        return names
    rules, book, own = access.rules(), synth.Ledger(), _with_runs_of(who.name)
    return [n for n in names if n in own or rules.named(who, n) or getattr(book.policy(n), "actor", None) == who.name]


def _with_runs_of(person: str) -> set[str]:
    result = set()
    for job in jobs.listing():
        try:
            request = job.request()
        except synth.SynthError:
            continue
        if request.get("owner") == person:
            result.add(str(request.get("dataset")))
    return result


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
            _("{name} has no cap yet, nor the decision to have none; choose on the page Privacy and accuracy").format(
                name=name
            )
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


WAYS = Texts(
    {
        "basic": "sum (what the cap counts)",
        "advanced": "advanced composition",
        "zcdp": "zero-concentrated DP",
        "rdp": "Rényi DP",
        "exact": "exact",
    }
)  # in the order shown


ASKED = "composition of"
PATIENCE = 600.0  # seconds that adding up may take


def _remember(name: str) -> None:
    st.session_state[ASKED] = name


def composition(names: list[str]) -> None:
    """A chart for one dataset, worked out when asked for."""
    with st.expander(_("What all runs on a dataset cost together")):
        st.caption(
            _(
                "Ways to add up the privacy loss of the runs, all at the same total delta. The cap counts the "
                "plain sum, which is valid even if later runs were chosen after seeing earlier results. The "
                "others hold for runs that were planned beforehand; the smallest is the best bound; methods made "
                "for many runs are coarse for a few."
            ),
            help=_(
                "In the terms of the field: composition theorems. “Exact” follows all noise together through the "
                "privacy profile."
            ),
        )
        name = st.selectbox(_("Dataset"), names, key="composed", help=_("The dataset whose runs are added up."))
        # remembered, so that a page drawn again meanwhile (a run that ends, say) does not lose what was asked
        st.button(_("Work it out"), key="compose", icon=":material/functions:", on_click=_remember, args=(name,))
        if st.session_state.get(ASKED) != name:
            return
        access.allow("compose")
        if not datasets_seen([name]):
            raise synth.UsageError(_("{name}: no dataset of yours; choose one of the list").format(name=name))
        with st.spinner(_("Adding up")):
            totals = _totals(name)
        if not totals:
            st.info(_("Nothing was spent on this dataset yet."), icon=":material/info:")
            return
        st.altair_chart(charts.composition(totals), key="composition")
        least = min(totals, key=lambda k: totals[k])
        st.markdown(
            _(
                "All runs on {name} together: epsilon **{totals:.4g}** as the cap counts, **{totals2:.4g}** if "
                "all were planned beforehand."
            ).format(name=frame.escape(name), totals=totals[WAYS["basic"]], totals2=totals[least])
        )
        st.caption("; ".join(_("{k}: epsilon {v:.4g}").format(k=frame.escape(k), v=v) for k, v in totals.items()))


def _totals(name: str) -> dict[str, float]:
    """Total epsilon by way of adding up; the sum and the exact figure where the others are not offered."""
    totals = workers.ask(tasks.composition, name, seconds=PATIENCE)
    return {WAYS[k]: totals[k] for k in WAYS if k in totals}
