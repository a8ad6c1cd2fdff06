"""Step 2: what is publicly known of the table, and who vouches for it."""

import json

import streamlit as st

import synth
from app.run import learning, prior
from app.session import frame, words
from app.session.state import (
    Wizard,
    alone,
    apart,
    dataset,
    effective,
    effective_own,
    facts_of,
    is_read,
    own,
    several,
    wizard,
)
from app.table import checklist, facts, intake, keys, lists, reading, statements, unit
from synth import app_api
from synth.languages import _


def page() -> None:
    """The grid, one column's values, who vouches, target and name."""
    frame.head(
        "describe",
        _(
            "What anyone may know about the table **without looking at its rows**: kinds of columns, possible "
            "values, codes. The result is built on these facts, so they must be right and public."
        ),
    )
    if not frame.needs("describe", _("Choose a table first: the description belongs to one."), "data"):
        return
    w = wizard()
    top = st.container()
    _belonging() if several(w) else _alone()
    with top:
        checklist.section(w)  # as it stands after this run's edits
    plain = json.dumps(effective(w), indent=2, ensure_ascii=False) + "\n"
    st.download_button(
        _("Save this description"),
        plain,
        "schema.json",
        "application/json",
        key="save_schema",
        icon=":material/download:",
        on_click="ignore",
        help=_("A JSON file that holds no rows. Upload it next time."),
    )
    frame.onward("describe", blocked=_blocked())


def _alone() -> None:
    """The description of one table."""
    w = wizard()
    choices = _weights(w)
    places = st.columns(3 if choices else 2)
    with places[0]:
        _name()
    with places[1]:
        _target()
    if choices:
        with places[2]:
            _weight(choices)
    checklist.here("person", _("Rows of one person"))
    unit.section()
    if facts.codes_asked(w):
        checklist.here("codes", _("Numbers, or codes?"))
        facts.codes_section()
    checklist.here("columns", _("Columns"))
    reading.notes()
    facts.grid_section()
    _problems()
    if alone(w):
        checklist.here("lists", _("Lists that may tell of persons"))
    lists.section()
    learning.section()
    _vouch()
    _vouchers()
    _values()
    statements.rules()
    statements.areas()
    statements.uses()
    statements.totals()
    prior.section()
    if w.place is not None and w.table != frame.SAMPLE:
        reading.code_book()
        reading.draft_again()


def _belonging() -> None:
    """The descriptions of several tables: what holds them together, what is decided for all, and each in its grid."""
    w = wizard()
    _name()
    checklist.here("joined", _("How the tables belong together"))
    keys.join_section()
    checklist.here("keys", _("Keys and their bounds"))
    keys.section()
    if not checklist.tied(w):
        if w.place is not None:
            reading.draft_tables_again()
        return
    statements.rules_across()
    _problems()
    checklist.here("columns", _("Columns, one table at a time"))
    reading.table_choice()
    reading.table_reading()
    facts.grid_section()
    if apart(w):
        checklist.here("lists", _("Lists that may tell of persons"))
    lists.section()
    learning.section()
    _vouch()
    _vouchers()
    _values()
    statements.rules()
    statements.areas()
    statements.uses()
    if w.place is not None:
        reading.draft_tables_again()


def _name() -> None:
    w = wizard()
    name = st.text_input(
        _("Name of the dataset"),
        value=dataset(w),
        key="dataset",
        max_chars=200,
        help=_(
            "The privacy budget is kept under this name. Tables about the same people (other years, versions, "
            "parts) must share one name: what is learnt from each adds up."
        ),
    )
    w.plain["dataset"] = name.strip() or None


def _target() -> None:
    w = wizard()
    choices = [
        None,
        *(n for n, c in w.plain["columns"].items() if c["type"] not in facts.UNREAD and n not in w.left_out),
    ]
    current = w.plain.get("target")
    target = st.selectbox(
        _("Column to predict (optional)"),
        choices,
        index=choices.index(current) if current in choices else 0,
        format_func=lambda n: _("none") if n is None else n,
        key="target",
        help=_("If the table will be used to predict one column, more care is given to how others relate to it."),
    )
    if target != current:
        w.plain["target"] = target
        w.plain.pop("positive", None)


def _weights(w: Wizard) -> list[str | None]:
    """The numbers that may say for how many a row stands, and none of them; empty where there is no number."""
    numbers = [
        n
        for n, c in w.plain["columns"].items()
        if c["type"] in ("integer", "float") and n not in w.left_out and n != w.plain.get("target")
    ]
    return [None, *numbers] if numbers or w.plain.get("weight") is not None else []


def _weight(choices: list[str | None]) -> None:
    """Which number says for how many a row stands."""
    w = wizard()
    current = w.plain.get("weight")
    weight = st.selectbox(
        _("Weight of a row (optional)"),
        choices,
        index=choices.index(current) if current in choices else 0,
        format_func=lambda n: _("none") if n is None else n,
        key="weight",
        help=_(
            "In a survey, the number of people that a row represents. Its smallest and largest value must be "
            "known, not learnt. Comparisons then show how close weighted rows come."
        ),
    )
    if weight != current:
        w.plain["weight"] = weight


def _vouchers() -> None:
    """Who stands behind the facts, at a glance."""
    reported = [c.get("source", "declared") for c in effective_own(wizard())["columns"].values()]
    parts = [f"{reported.count(s)} {words.VOUCHED[s]}" for s in words.VOUCHED if s in reported]
    price = wizard().plain.get("learnt")
    cost = (
        _(" Learning them cost epsilon {epsilon:g} (line {ledger_entry} of the ledger).").format(
            epsilon=price["epsilon"], ledger_entry=price["ledger_entry"]
        )
        if price
        else ""
    )
    st.caption(_("Columns: {parts}.{cost}").format(parts=", ".join(parts), cost=cost))


def _problems() -> None:
    result, problem = facts_of(wizard())
    if result is None:
        st.error(frame.escape(words.plain(problem)), icon=":material/error:")


def _vouch() -> None:
    """All that waits, in all tables, confirmed at once on somebody's word."""
    w = wizard()
    tables = list(w.plain["tables"]) if several(w) else [""]
    waiting = {t: names for t in tables if (names := checklist.waiting(w, t))}
    unread = several(w) and not is_read(w)
    if not (waiting or unread or (several(w) and (keys.waiting(w) or apart(w)))):
        return
    checklist.here("vouched", _("Who vouches"))
    with st.container(border=True):
        every = effective(w)["tables"].values() if several(w) else [effective(w)]
        columns = sum(len(t["columns"]) for t in every)
        where = _(" in {number} tables").format(number=len(tables)) if several(w) else ""
        st.markdown(
            _("**{sum} of {columns} columns{where} are waiting for somebody to vouch{ending}.**").format(
                sum=sum(map(len, waiting.values())),
                columns=columns,
                where=where,
                ending=_(", and the keys with their bounds") if several(w) and keys.waiting(w) else "",
            )
        )
        st.markdown(_(words.NOT_FREE))
        named = [f"{t}.{n}".lstrip(".") for t, names in waiting.items() for n in names]
        st.caption(_("Waiting: ") + frame.escape(", ".join(named[:12])) + (" …" if len(named) > 12 else ""))
        word = _("Your word that these are public facts. Your name is recorded with them. Without it you cannot go on.")
        if st.button(
            _("I have checked all this, and vouch for it"),
            key="confirm_all",
            type="primary",
            icon=":material/how_to_reg:",
            help=" ".join([word, *_besides(w)]),
        ):
            what = _("All columns and keys") if several(w) else _("All columns")
            intake.replace(_confirmed(w, waiting), _("{what} are confirmed on your word.").format(what=what))


def _besides(w: Wizard) -> list[str]:
    """The answers that are taken along with the columns' facts."""
    person, coded = unit.proposed(w), not several(w) and bool(facts.codes_asked(w))
    return [_("The answer on rows of one person is taken as it stands.")] * person + [
        _("The choice of numbers and codes is taken as it stands.")
    ] * coded


def _confirmed(w: Wizard, waiting: dict[str, list[str]]) -> dict:
    """The description with what waits on somebody's word: columns; of several tables keys and reading as well."""
    if not several(w):
        unit.take(w)
        return facts.confirm(facts.codes_taken(w), waiting.get("", []))
    tables, shown = {}, w.at
    for table, plain in w.plain["tables"].items():
        w.at = table
        for name in lists.to_omit(w):
            plain = facts.left_out(plain, name)
        if plain.get("dialect"):
            plain = {**plain, "dialect": {**plain["dialect"], "source": "declared"}}
        tables[table] = facts.confirm(plain, waiting.get(table, []))
    w.at = shown
    unsaid = [{**k, "source": "declared"} if k.get("source") == "unconfirmed" else k for k in w.plain.get("keys", ())]
    return {**w.plain, "tables": tables, "keys": unsaid}


def _values() -> None:
    """One column's categories as lines, and its own confirmation."""
    if effective_own(wizard())["columns"]:
        frame.fold(_("One column: its list of values, and confirming it alone"), "one_column", _one)


def _one() -> None:
    w = wizard()
    names = list(effective_own(w)["columns"])
    index = names.index(w.editing) if w.editing in names else 0
    name = st.selectbox(_("Column"), names, index=index, key="editing", help=_("The column to look at."))
    w.editing = name
    column = own(w)["columns"][name]
    if column["type"] in facts.WORDED:
        _lines(name, column)
    elif column["type"] == "identifier":
        _form(name, column)
    else:
        st.caption(frame.sentence(_("{kind}: it has no list of values.").format(kind=words.KINDS[column["type"]])))
    if name in alone(w):
        st.caption(_("It is confirmed above, alone and with a reason."))
    elif column.get("source") == "unconfirmed":
        if st.button(_("I vouch for this column"), key="confirm_one"):
            intake.replace_own(
                facts.confirm(own(w), [name]), _("{name} is confirmed on your word.").format(name=frame.escape(name))
            )
    else:
        st.caption(_("Who vouches: {sources}.").format(sources=words.SOURCES[column.get("source", "declared")]))


def _form(name: str, column: dict) -> None:
    """In which form an identifier's made-up keys are written."""
    text = st.text_input(
        _("Form of made-up keys (optional)"),
        column.get("pattern") or "",
        key=f"pattern_{wizard().edition}_{name}",
        max_chars=100,
        placeholder="P[0-9]{6}",
        help=_(
            "Letters, digits and classes: P[0-9]{{6}} gives P000001, P000002 ... State it from a code book or what is "
            "generally known: it is published, and never read from the rows. Empty: 1, 2, 3 ..."
        ).format(),
    )
    if text.strip() != (column.get("pattern") or ""):
        if wrong := text.strip() and app_api.key_problem(text.strip()):
            st.error(frame.escape(frame.sentence(words.plain(wrong))), icon=":material/error:")
        elif st.button(_("Keep this form"), key="keep_form"):
            changed = _("The made-up keys of {name} have a form now.").format(name=frame.escape(name))
            intake.replace_own(facts.with_pattern(own(wizard()), name, text), changed)


def _lines(name: str, column: dict) -> None:
    values = list(column.get("categories") or ())
    if len(values) > facts.SHOWN_VALUES or any("\n" in v for v in values):
        st.caption(
            _("{number} values: too many to edit here. Save the description, edit the file and upload it.").format(
                number=len(values)
            )
        )
        return
    text = st.text_area(
        _("Possible values, one a line"),
        "\n".join(values),
        height=240,
        key=f"lines_{wizard().edition}_{name}",
        help=_("Every value the column can take. For an ordered category, from lowest to highest."),
    )
    if st.button(_("Keep these values"), key="keep_values"):
        intake.replace_own(
            facts.with_values(own(wizard()), name, text),
            _("The values of {name} are changed.").format(name=frame.escape(name)),
        )


def _blocked() -> str:
    w = wizard()
    if open_points := checklist.blocked(w):
        return open_points
    try:
        synth.Ledger().summary(dataset(w))
    except synth.SynthError as error:
        return frame.message_of(error)
    return ""


page()
