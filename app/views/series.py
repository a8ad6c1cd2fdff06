"""A table released every year: what each wave may spend, the waves there are, and what changed between two of them."""

import json
from datetime import datetime
from typing import Any

import streamlit as st

from app.run import caps, prior
from app.session import access, charts, frame, words
from app.session.state import dataset, ready, view, wizard
from synth import app_api
from synth.languages import _, ngettext, numerals

SHOWN = 20  # changes in the picture
DELTA = 1e-5


def page() -> None:
    """The plan, the waves, the changes."""
    said = _(
        "A table that is released every year. Each release builds on the one before, which is public data, so that "
        "it gets better at the same epsilon; **whoever is in all of them has the sum**."
    )
    frame.head("series", said)
    _plan()
    waves = _waves()
    if len(waves) > 1:
        _changes(waves)


def _plan() -> None:
    """A budget for several years, shared out."""
    st.subheader(_("Share out a budget"), anchor=False)
    left, right = st.columns(2)
    said = _("How many years, or quarters, there are to be.")
    many = left.number_input(_("Releases planned"), 2, 100, 4, key="waves", help=said)
    said = _("The most that all releases together may reveal about one person.")
    label = _("Epsilon for whoever is in all of them")
    whole = right.number_input(label, min_value=0.01, value=2.0, step=0.5, key="waves_epsilon", help=said)
    plan = app_api.series_plan(waves=int(many), epsilon=float(whole), delta=DELTA)
    said = _(
        "**Each release: epsilon {p.each:.4g}, delta {delta}.** Whoever is in all {p.waves} has epsilon {p.epsilon:g}, "
        "which is what the ledger adds up. Were all fixed now, exact composition would give {p.exact:.3g}."
    )
    st.markdown(said.format(p=plan, delta=words.small(plan.each_delta)))
    w, label = wizard(), _("Use epsilon {each:.4g} for this run").format(each=plan.each)
    said = _("It becomes the epsilon on the page Privacy and accuracy.")
    if ready(w)["privacy"] and st.button(label, key="use_wave", icon=":material/check:", help=said):
        w.epsilon = plan.each
        for name in ("epsilon_number", "epsilon_slider"):
            st.session_state.pop(name, None)
        st.switch_page(view("privacy"))


def _waves() -> list[Any]:
    """The releases of one dataset, oldest first, with what a person in all of them has."""
    st.subheader(_("Releases so far"), anchor=False)
    w = wizard()
    by_name: dict[str, list[Any]] = {}
    for job in prior.own_releases(w):
        by_name.setdefault(str(job.request()["dataset"]), []).append(job)
    if not by_name:
        st.info(_("There is no release yet. A run makes one."))
        return []
    names = sorted(by_name, key=lambda n: n != dataset(w))
    name = st.selectbox(_("Dataset"), names, key="series_of", help=_("The dataset whose releases are shown."))
    waves, lines = by_name[name][::-1], []
    for job in waves:
        card = json.loads((prior.release_place(job) / prior.CARD).read_text(encoding="utf-8"))
        known, whole = [p["name"] for p in card.get("priors") or ()], card.get("in_all_releases") or card
        total = _("guarantees that protect unlike things, which have no sum")
        if "apart" not in whole:
            total = _("epsilon {epsilon:g}, delta {delta}").format(
                epsilon=whole["epsilon"], delta=words.small(whole["delta"])
            )
        day = words.moment(datetime.fromisoformat(card["created"]))
        lines.append((day, numerals(f"{card['epsilon']:g}"), ", ".join(known) or "–", total))
    frame.table((_("Releases"), _("Epsilon"), _("Public data"), _("In it and in all that it rests on")), lines)
    said = _("The ledger has charged epsilon {epsilon:g} to {name} in all: the sum for whoever is in every run.")
    st.caption(said.format(epsilon=caps.of(name).epsilon, name=frame.escape(name)))
    if name == dataset(w) and w.place is not None and w.table is not None:
        _take_all(w, waves)
    return waves


def _take_all(w: Any, waves: list[Any]) -> None:
    """The way to the next wave: every release so far as public data of the table that is open, the last one first.

    All of them, for a release's rows carry the errors of its model on; its noisy answers err each by itself.
    """
    taken = {one["path"] for one in w.priors}
    left = [job for job in reversed(waves) if str(prior.release_place(job)) not in taken]
    if not left:
        st.caption(
            ngettext(
                "The run that is being prepared builds on the release above.",
                "The run that is being prepared builds on all {n} releases above.",
                len(waves),
            )
        )
    elif st.button(
        ngettext("Build on this release", "Build on {n} releases", len(left)),
        key="add_prior",
        icon=":material/library_add:",
        help=_("Of the run that is being prepared: every wave so far, which tells most. Nothing is spent."),
    ):
        for job in left:
            prior.add_run(w, str(job.path))
        st.rerun()


def _changes(waves: list[Any]) -> None:
    """Shares that changed by more than noise and chance explain, as a picture."""
    st.subheader(_("What changed"), anchor=False)
    ends = (
        (_("From"), "wave_before", len(waves) - 2, _("The earlier release.")),
        (_("To"), "wave_after", len(waves) - 1, _("The later release.")),
    )
    named, every = [prior.release_named(wave) for wave in waves], range(len(waves))
    before, after = (
        waves[box.selectbox(label, every, index=at, key=key, format_func=named.__getitem__, help=said)]
        for box, (label, key, at, said) in zip(st.columns(2), ends, strict=True)
    )
    if before.path == after.path:
        st.info(_("Choose two different releases."))
        return
    with frame.told():
        for job in (before, after):
            access.allow("watch", job.request().get("owner"))
        result = app_api.series_changes(prior.release_place(before), prior.release_place(after))
        sure = sum(row["sure"] for row in result)
        said = _("**Nothing changed** by more than noise and chance explain, in {all} shares.")
        if sure:
            said = _(
                "**{sure} of {all} shares** changed by more than noise and chance explain; at most 5 % of these are "
                "expected to be false."
            )
        st.markdown(said.format(sure=sure, all=len(result)))
        if result:
            charts.draw(st, charts.changes(result[:SHOWN]), key="changes")
            about = _(
                "Changes of shares of rows, the largest first, with their intervals: grey ones may be noise and "
                "chance. The noisy counts of both releases are compared, not their tables, since the later builds on "
                "the earlier one. It can be published: released answers only."
            )
            st.caption(about)


page()
