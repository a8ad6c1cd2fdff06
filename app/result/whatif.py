"""Other fits to a stored release: another method, other options or another column to predict, free."""

from typing import Any

import streamlit as st

import synth
from app.run import runs
from app.run.expected import METHODS
from app.run.follow import follow
from app.run.forecast import methods
from app.run.options import ask
from app.session import frame, words
from app.session.state import wizard
from synth.app_api import jobs
from synth.languages import _

FAMILIES = (
    {"mixture", "independent"},
    {"slicing", "slice_wasserstein"},
    {"dp_merf", "pearl"},
    {"aim", "mst"},
)  # methods that read each other's noisy answers; any other reads its own alone


def section(job: jobs.Job, card: dict[str, Any], schema: synth.Schema | None = None) -> None:
    """A method and its options for another fit, followed here: it stands in line like any run, charged nothing.

    ``schema``: of one table whose rows stand alone.
    """
    if (w := wizard()).refit is not None:
        st.subheader(_("Another fit to this release"), anchor=False)
        follow(str(w.refit), _ended, about=_("It starts from the stored release: it costs nothing and reads no row."))
        return
    frame.fold(_("What if: another method on the same release, free"), "what_if", lambda: _ask(job, card, schema))


def _ask(job: jobs.Job, card: dict[str, Any], schema: synth.Schema | None) -> None:
    st.caption(
        _(
            "The budget paid for the release: noisy answers about the table. Fitting something else to them "
            "reads no row and spends nothing, as often as you like. Listed are the methods that can use these "
            "answers; options that decide what is asked change nothing here."
        )
    )
    about = {m["name"]: m for m in methods(tree=schema is None)}
    names, now = fitting(card, list(about.values())), str(card["method"])
    method = st.selectbox(
        _("Fit with"),
        names,
        index=names.index(now),
        key="refit_method",
        help=_(words.METHOD_HELP),
        format_func=lambda n: _(METHODS[n]) if schema is None else f"{n}: {words.method(about[n])}",
    )
    options = {} if schema is None else ask(about[method]["options"], {}, key=f"refit_{method}")
    target = None if schema is None else _target(schema)
    rows = st.number_input(
        _("Synthetic rows") if schema is not None else _("Rows of the first table, or persons"),
        min_value=0,
        value=0,
        step=1000,
        key="refit_rows",
        help=_("0 for as many as the table has, up to noise."),
    )
    if st.button(_("Fit again, free"), key="refit", icon=":material/model_training:"):
        wizard().refit = runs.refit(job, method=method, options=options, target=target, num_rows=int(rows) or None).path
        st.rerun()


def _target(schema: synth.Schema) -> str | None:
    """The column to be predicted; None for the one of before."""
    return st.selectbox(
        _("Column to predict"),
        [None, *schema.measured()],
        index=0,
        key="refit_target",
        format_func=lambda n: n or _("as before ({target})").format(target=schema.target or _("none")),
        help=_("The column to whose relations the fit gives more care. What was asked of the table stays the same."),
    )


def _ended(job: jobs.Job, status: jobs.Status) -> None:
    """Shows the new fit in place of the one that it was made from, or says why there is none."""
    w = wizard()
    w.refit = None
    if status.state == "done":
        w.job = job.path
        w.notice = _("The other fit is ready, and shown here; “All runs” has the one before. It cost nothing.")
    else:
        w.failed = True
        reason = frame.escape(runs.why(job))
        w.notice = _("Nothing was fitted: {reason}. Nothing was spent.").format(reason=reason)


def fitting(card: dict[str, Any], about: list[dict[str, Any]]) -> list[str]:
    """The methods that can be fitted to a release, the one that asked for it first.

    >>> fitting({"method": "dp_hp", "relation": "r", "release_kinds": []}, [{"name": "dp_ntk"}, {"name": "dp_hp"}])
    ['dp_hp']
    """
    now, held = str(card["method"]), set(card.get("release_kinds", ()))
    family = next((f for f in FAMILIES if now in f), {now})
    others = [
        m["name"]
        for m in about
        if m["name"] in family - {now} and card["relation"] in m["relations"] and held <= {*m["reads"], "search"}
    ]
    return [now, *others]
