"""The ledger: what has been spent on each dataset, line by line."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.run import caps
from app.session import access, charts, frame, tasks, words, workers
from synth import app_api
from synth.languages import Texts, _, ngettext

SIZE = 200  # lines on a page
PATIENCE = 600.0  # seconds that adding up may take
WAYS = Texts(
    basic="sum (what the cap counts)",
    advanced="advanced composition",
    zcdp="zero-concentrated DP",
    rdp="Rényi DP",
    exact="exact",
)  # in the order shown
KINDS = Texts(spend="charged", policy="cap set", refusal="refused", outcome="run ended", fingerprint="table marked")


def page() -> None:
    """Totals, lines, verification."""
    said = _(
        "Every charge is recorded here before any row is read, and never altered. What is learnt about the "
        "same people adds up, so a dataset's protection depends on this list."
    )
    frame.head("ledger", said)
    book = synth.Ledger()
    every = book.summary()
    names = caps.datasets_seen([t.dataset for t in every])
    totals = [t for t in every if t.dataset in names]
    if not totals:
        st.info(_("Nothing has been spent yet. The first run writes the first line."))
        return
    for total in totals:
        _total(total)
    _cap(names)
    with st.expander(_("What all runs on a dataset cost together")):
        _composition(names)
    _lines(book, names)
    _verify(book)


def _total(total: Any) -> None:
    name = frame.escape(total.dataset)
    if len(total.spellings) > 1:
        spellings = frame.escape(", ".join(total.spellings))
        st.caption(_("Spellings of one name, added up: {spellings}").format(spellings=spellings))
    about = {"name": name, "t": total, "runs": words.runs(total.runs)}
    if total.remaining_epsilon is None:
        said = _("**{name}**: epsilon {t.epsilon:g} and delta {delta} spent in {runs}; no cap.")
        said = said.format(delta=words.small(total.delta), **about)
        if total.policy:
            actor = frame.escape(total.policy.actor or _("nobody named"))
            said += _(" That was decided by {actor}.").format(actor=actor)
        st.markdown(said)
        return
    cap = total.policy.max_epsilon
    said = _("**{name}**: epsilon {t.epsilon:g} of {cap:g} spent in {runs}, **{t.remaining_epsilon:g} left**")
    st.progress(min(1.0, total.epsilon / cap), text=said.format(cap=cap, **about))


def _cap(names: list[str]) -> None:
    who = access.me()
    names = [n for n in names if access.rules().may_cap(who, n)]
    if not names:
        return
    with st.expander(_("Set or change a cap")):
        name = st.selectbox(_("Dataset"), names, key="cap_dataset", help=_("The dataset that the cap is for."))
        said = _("Runs beyond it are refused. Earlier runs count.")
        label = _("Cap on epsilon over all runs")
        cap = st.number_input(label, min_value=0.01, value=3.0, step=0.5, key="cap_epsilon", help=said)
        said, approved = _("Who allowed this cap. It is written down."), ""
        if who.alone:
            approved = st.text_input(_("Approved by"), key="cap_approved", help=said)
        if st.button(_("Set this cap"), key="cap_set"):
            caps.put(name, float(cap), approved_by=approved.strip() or None)
            st.rerun()


def _composition(names: list[str]) -> None:
    """A chart for one dataset, worked out when asked for."""
    said = _(
        "In the terms of the field: composition theorems. “Exact” follows all noise together through the "
        "privacy profile."
    )
    about = _(
        "Ways to add up the privacy loss of the runs, all at the same total delta. The cap counts the plain sum, "
        "which holds even if later runs were chosen after seeing earlier results; the others, of which the least "
        "is best, for runs that were planned beforehand."
    )
    st.caption(about, help=said)
    name = st.selectbox(_("Dataset"), names, key="composed", help=_("The dataset whose runs are added up."))
    if st.button(_("Work it out"), key="compose", icon=":material/functions:"):
        st.session_state["composition of"] = name  # also where the page is drawn again meanwhile
    if st.session_state.get("composition of") != name:
        return
    access.allow("compose")
    if not caps.datasets_seen([name]):
        raise synth.UsageError(_("{name}: no dataset of yours; choose one of the list").format(name=name))
    with st.spinner(_("Adding up")):
        figures = workers.ask(tasks.composition, name, seconds=PATIENCE)
    totals = {WAYS[k]: figures[k] for k in WAYS if k in figures}
    if not totals:
        st.info(_("Nothing was spent on this dataset yet."))
        return
    said = "; ".join(_("{k}: epsilon {v:.4g}").format(k=k, v=v) for k, v in totals.items())
    axis = _("total epsilon")
    chart = charts.bars(list(totals), {"": list(totals.values())}, axis=axis, colours=[charts.GREEN], format=".3g")
    charts.draw(st, chart.properties(description=_("Total epsilon: {text}.").format(text=said)), key="composition")
    text = _(
        "All runs on {name} together: epsilon **{sum:.4g}** as the cap counts, **{least:.4g}** if all were planned "
        "beforehand."
    )
    st.markdown(text.format(name=frame.escape(name), sum=figures["basic"], least=min(totals.values())))
    st.caption(frame.escape(said))


def _lines(book: synth.Ledger, names: list[str]) -> None:
    st.subheader(_("Lines"), anchor=False)
    said = _("One dataset's lines, or all.")
    label = _("Show")
    chosen = st.selectbox(label, names, None, key="lines_of", help=said, placeholder=_("all datasets"))
    refusals = st.checkbox(_("Refusals only"), key="refusals", help=_("Spends that the caps did not allow."))
    kind = "refusal" if refusals else None
    number = int(st.session_state.get("lines_page", 1))
    result, count = book.page(names if chosen is None else [chosen], kind=kind, size=SIZE, number=number)
    pages = max(1, -(-count // SIZE))
    if pages > 1 or number > 1:
        said = _("{count:,} lines, {size} on a page.").format(count=count, size=SIZE)
        label = _("Page (of {pages}, the newest lines first)")
        st.number_input(label.format(pages=pages), 1, max(pages, number), key="lines_page", help=said)
    rows = [_row(entry) for entry in result]
    config = {
        _("Epsilon"): st.column_config.NumberColumn(format="%.4g"),
        _("Delta"): st.column_config.NumberColumn(format="%.1e"),
        _("Details"): st.column_config.TextColumn(width="large"),
    }
    if not rows:
        st.info(_("No line of this kind."))
        return
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=config, placeholder="")
    with st.container(horizontal=True):
        _exports(book, names if chosen is None else [chosen])


def _exports(book: synth.Ledger, names: list[str]) -> None:
    """The lines of these datasets as files, made when asked for: with the last seal, to be kept elsewhere, and as the
    page shows them, for a spreadsheet."""

    def sealed() -> bytes:
        entries = reversed(book.page(names, size=1 << 40)[0])
        lines = [json.dumps(asdict(e), ensure_ascii=False, sort_keys=True) for e in entries]
        return ("\n".join([*lines, json.dumps({"last_seal": book.head()})]) + "\n").encode()

    def table() -> bytes:
        every = book.page(names, size=1 << 40)[0]
        rows = pd.DataFrame([{**_row(e), _("Time"): e.time} for e in every])  # with its zone
        safe = rows.map(lambda v: app_api.csv_safe(v) if isinstance(v, str) else v)
        return str(safe.to_csv(index=False)).encode()

    said = _("A line of JSON for each, and the last seal; no private value. Kept elsewhere it shows what is cut off.")
    access.offer(_("Export these lines (JSON)"), "ledger.jsonl", "export_ledger", sealed, help=said)
    said = _("As they stand here, for a spreadsheet; times in UTC.")
    access.offer(_("Export these lines (CSV)"), "ledger.csv", "export_csv", table, help=said)


def _row(entry: Any) -> dict[str, Any]:
    charged = entry.kind == "spend"
    time, kind = words.moment(datetime.fromisoformat(entry.time)), KINDS.get(entry.kind, entry.kind)
    epsilon, delta = (entry.epsilon, entry.delta) if charged else (None, None)
    row = {_("Line"): entry.number, _("Time"): time, _("Dataset"): entry.dataset, _("What"): kind}
    row |= {_("Epsilon"): epsilon, _("Delta"): delta, _("Details"): _details(entry), _("By"): entry.actor or ""}
    return row


def _details(entry: Any) -> str:
    about, by = entry.question, ""
    if entry.approved_by:
        by = _(", approved by {approved_by}").format(approved_by=entry.approved_by)
    if entry.kind == "spend":
        relation = words.RELATIONS_SHORT.get(entry.relation, entry.relation)
        if entry.unit not in (None, "", "row"):
            relation = relation.replace(_("one row"), _("one of {unit}").format(unit=entry.unit))
        many = len(about.get("columns", ()))
        columns = ngettext(", {n} column", ", {n} columns", many) if many else ""
        return f"{about.get('method', '')}{columns}, {relation}{by}"
    if entry.kind == "policy" and about["max_epsilon"] is None:
        return _("decided: no cap{by}").format(by=by)
    if entry.kind == "policy":
        return _("at most epsilon {max_epsilon:g}, delta {max_delta}{by}").format(
            max_epsilon=about["max_epsilon"], max_delta=words.small(about["max_delta"]), by=by
        )
    if entry.kind == "refusal":
        return words.plain(str(about.get("reason", "")))
    if entry.kind == "fingerprint":
        return _("an encrypted fingerprint that warns of the same rows elsewhere")
    return str(about.get("state", ""))


def _verify(book: synth.Ledger) -> None:
    st.subheader(_("Is it intact?"), anchor=False)
    said = _(
        "Each line carries a seal over all before it: checking finds lines that were altered, removed or put in "
        "another order. Note the last seal elsewhere, and lines that were cut off at the end are found too."
    )
    st.markdown(said)
    said = _("64 characters, shown below as the last seal.")
    head = st.text_input(_("A seal you noted earlier (optional)"), key="head", help=said)
    if not st.button(_("Check the ledger"), key="verify", icon=":material/verified:"):
        return
    access.allow("verify_ledger")
    result = book.verify(head.strip() or None)
    if result.ok:
        st.success(_("All {lines} lines are intact.").format(lines=result.lines), icon=":material/verified:")
        st.caption(_("Last seal, to be noted down:"))
        st.code(result.head, language=None, wrap_lines=True)
    else:
        said = _("The ledger is not intact: {problem}. Restore it from a backup, and find out who changed it.")
        st.error(said.format(problem=frame.escape(str(result.problem))), icon=":material/gpp_bad:")


page()
