"""The table: which one it is, what is publicly known of it, and who confirms that."""

import json
from typing import Any

import streamlit as st

import synth
from app.run import learning, prior, recent
from app.session import access, frame, state, words
from app.session.state import Wizard, own, wizard
from app.table import checklist, database, facts, intake, keys, lists, reading, statements, stored, unit
from synth import app_api
from synth.languages import _, ngettext


def page() -> None:
    """The choice of a table; then what is known of it, with what is to be decided on top, and the way on."""
    w = wizard()
    frame.head(
        "table",
        _("What anyone may know about the table **without looking at its rows**. It must be right, and public.")
        if w.table is not None
        else _(
            "Facsimile turns a table about people into a **synthetic** one that can be shared: made-up rows with "
            "the same patterns, and a mathematical limit on what they can tell about any one person."
        ),
    )
    if w.table is None:
        recent.offer()
        _choices()
        frame.onward("table", blocked=_("Choose a table first."))
        return
    _chosen(w)
    top = st.container()
    _described(w)
    with top:
        checklist.section(w)  # as it stands after this run's edits
    frame.onward("table", blocked=_blocked(), beside=_vouch)


def _choices() -> None:
    """The ways to a table: the sample, an upload, what lies on the server, a database, an earlier visit."""
    left, right = st.columns(2)
    with left, st.container(border=True):
        _sample()
    with right, st.container(border=True):
        _upload()
    _server()
    database.section(_description)
    stored.offer()


def _chosen(w: Wizard) -> None:
    """What was chosen and how it is read; another one is a click away."""
    at = _(" at {source}").format(source=frame.escape(w.source)) if w.source else ""
    left, right = st.columns([3, 2], vertical_alignment="center")
    summary = stored.size(w.plain)
    label = frame.escape(", ".join(w.plain["tables"]) if state.several(w) and w.label == summary else w.label)
    left.markdown(_("**Chosen:** {label}{at}, {summary}").format(label=label, at=at, summary=summary))
    with right.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Another table"), key="another_table", icon=":material/swap_horiz:", type="tertiary"):
            w.table, w.label, w.plain, w.place, w.source = None, "", {}, None, None
            st.rerun()
        kept = _("Stored in a private folder on this computer until you remove it.")
        if (
            w.uploaded
            and w.place is not None
            and st.button(
                _("Remove the stored copy"), key="discard", icon=":material/delete:", type="tertiary", help=kept
            )
        ):
            stored.remove(w.place)
            w.table, w.label, w.plain, w.place = None, "", {}, None
            w.notice = _("The stored copy is removed.")
            st.rerun()
    if not state.several(w):
        reading.section()


def _sample() -> None:
    st.markdown(_("**Try it on the sample table**"))
    st.markdown(
        _(
            "A simulated survey of a town: 20,000 people, 15 columns. Nobody in it exists, so nothing can go "
            "wrong. Hints lead through all steps in two minutes."
        )
    )
    if not frame.SAMPLE.exists():
        st.info(_("The sample table is not installed here. Upload a table below."))
    elif st.button(
        _("Use the sample table"),
        key="use_sample",
        icon=":material/table_chart:",
        type="primary",
    ):
        intake.sample()
        st.rerun()


def _upload() -> None:
    """A file, or several, that are taken as soon as they are here."""
    w = wizard()
    st.markdown(_("**Or upload your own table**"))
    with st.popover(
        _("Description or code books"),
        icon=":material/menu_book:",
        help=_("What you have in writing already: give it before the table."),
    ):
        given, books = _description(f"up_{w.uploads}")
    tables = st.file_uploader(
        _("Table (CSV, Excel, Parquet, SPSS, Stata or SAS), or several that belong together"),
        type=stored.KINDS,
        key=f"table_{w.uploads}",
        accept_multiple_files=True,
        help=_(
            "One row for each person or event, a first line of column names. CSV: commas between cells, UTF-8 "
            "text, also as .csv.gz. Excel: the first sheet of an .xlsx workbook. Several files at once, such as "
            "patients and their stays, are tables that refer to each other by keys. Larger files: see below."
        ),
    )
    st.caption(_("The file stays on the computer that runs this application, which sends nothing anywhere."))
    if tables:
        _go(lambda: intake.uploaded(tables, given, books), _("Storing the files and looking at their columns"))


def _description(key: str) -> tuple[Any, list[Any]]:
    """What the steward already has in writing: a description and code books."""
    given = st.file_uploader(
        _("Description (optional, JSON)"),
        type=["json"],
        key=f"schema_{key}",
        help=_(
            "A description saved earlier on the page The table, or SDV metadata. Without one, a draft is made "
            "from the table and you confirm it in the next step."
        ),
    )
    books = st.file_uploader(
        _("Code books (optional, CSV)"),
        type=["csv"],
        accept_multiple_files=True,
        key=f"books_{key}",
        help=_(
            "One file for each column, named after it (sex.csv), with the header value,label. Whoever hands "
            "it over vouches for the values."
        ),
    )
    return given, list(books)


def _server() -> None:
    """Files that already lie on the server: any size, nothing is copied."""
    files, alone = stored.mounted(), access.me().alone
    if not files and not alone:
        return
    with st.expander(_("Or a file or folder that is already on this computer (any size, nothing is copied)")):
        path = None
        if files:
            path = st.selectbox(
                _("File"),
                files,
                index=None,
                key="server_file",
                format_func=lambda p: _shown(p, files),
                placeholder=_("Choose a table"),
                help=_(
                    "Tables in the folders that this installation offers; a folder of Parquet files is one "
                    "table, a folder of other files several that belong together."
                ),
            )
        else:
            st.caption(
                _(
                    "No folder of tables is offered here: name one in the environment variable SYNTH_TABLES when "
                    "you start the application, or type the path of a file."
                )
            )
        typed = (
            st.text_input(
                _("Path"),
                key="server_path",
                placeholder=_("/data/people.parquet"),
                help=_(
                    "The full path of a file, or of a folder of tables, on the computer that runs this application."
                ),
            )
            if alone
            else ""
        )
        chosen = typed.strip() or path
        given, books = _description("server")
        if st.button(_("Use this file"), key="use_file", disabled=not chosen, icon=":material/dns:") and chosen:
            _go(lambda: intake.from_server(chosen, given, books), _("Looking at the columns"))


def _shown(path: Any, files: list[Any]) -> str:
    same = [p for p in files if p.name == path.name]
    shown = str(path.name if len(same) == 1 else path)
    return _("{shown} (folder)").format(shown=shown) if path.is_dir() else shown


def _go(load: Any, message: str) -> None:
    with frame.told(message):
        load()
        st.rerun()


def _described(w: Wizard) -> None:
    """What is known of the table, or of tables that belong together: what holds them, and each in its grid."""
    many = state.several(w)
    _names(w)
    if many:
        tied = checklist.tied(w)
        if not tied:
            st.subheader(_("How the tables belong together"), anchor="joined")
        keys.join_section()
        if keys.waiting(w):
            st.subheader(_("Keys and their bounds"), anchor="keys")
        keys.section()
        if not tied:
            reading.draft_again(asked=len(keys.orphans(w)) > 1 and not keys.undecided(w))
            return
        _problems()
        reading.table_choice()
        reading.section()
    left, apart = st.container(), state.apart(w)
    if apart:
        left, right = st.columns([3, 2])
        with right:
            st.subheader(_("Lists that may tell of persons"), anchor="lists")
            lists.section()
    with left:
        if not many:
            reading.notes()
        facts.grid_section()
        if not many:
            _problems()
            if not state.answered(w):
                st.subheader(_("Rows of one person"), anchor="person")
            unit.section()
            if facts.codes_asked(w):
                st.subheader(_("Numbers, or codes?"), anchor="codes")
                facts.codes_section()
    if apart:
        with right:
            learning.section()
    _vouchers()
    prior.section()
    with frame.row("opened_panel"):
        if not apart:
            learning.section()
        if state.effective_own(w)["columns"]:
            frame.fold(_("One column: its list of values, and confirming it alone"), "one_column", _one)
        if many:
            statements.rules(across=True)
        statements.rules()
        statements.areas()
        statements.uses()
        statements.totals()
        prior.more()
        if not many:
            reading.code_book()
        reading.draft_again()
    access.offer(
        _("Save this description"),
        "schema.json",
        "save_schema",
        _saved,
        state.effective(w),
        help=_("A JSON file that holds no rows. Upload it next time."),
        kind="tertiary",
    )


def _saved(plain: dict[str, Any]) -> bytes:
    return (json.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode()


def _names(w: Wizard) -> None:
    """Under which name the budget is kept; of one table what is predicted, and for how many a row stands."""
    asked = {} if state.several(w) else _columns_with_a_part(w)
    name, *others = st.columns(1 + len(asked))
    typed = name.text_input(
        _("Name of the dataset"),
        value=state.dataset(w),
        key="dataset",
        max_chars=200,
        help=_(
            "The privacy budget is kept under this name. Tables about the same people (other years, versions, "
            "parts) must share one name: what is learnt from each adds up."
        ),
    )
    w.plain["dataset"] = typed.strip() or None
    for box, (fact, (label, names, said)) in zip(others, asked.items(), strict=True):
        current = w.plain.get(fact)
        chosen = box.selectbox(
            label,
            [None, *names],
            index=names.index(current) + 1 if current in names else 0,
            format_func=lambda n: _("none") if n is None else n,
            key=fact,
            help=said,
        )
        if chosen != current:
            w.plain[fact] = chosen
            if fact == "target":
                w.plain.pop("positive", None)


def _columns_with_a_part(w: Wizard) -> dict[str, tuple[str, list[str], str]]:
    """What one column may be: the one to predict, and the number of people that a row stands for."""
    columns = {n: c["type"] for n, c in w.plain["columns"].items() if n not in w.left_out}
    numbers = [n for n, kind in columns.items() if kind in ("integer", "float") and n != w.plain.get("target")]
    target = (
        _("Column to predict (optional)"),
        [n for n, kind in columns.items() if kind not in facts.UNREAD],
        _("If the table will be used to predict one column, more care is given to how others relate to it."),
    )
    weight = (
        _("Weight of a row (optional)"),
        numbers,
        _(
            "In a survey, the number of people that a row represents. Its smallest and largest value must be "
            "known, not learnt. Comparisons then show how close weighted rows come."
        ),
    )
    return {"target": target} | ({"weight": weight} if numbers or w.plain.get("weight") is not None else {})


def _vouchers() -> None:
    """Who stands behind the facts, at a glance, once somebody does: the counter above says who is still to."""
    reported = [c.get("source", "declared") for c in state.effective_own(wizard())["columns"].values()]
    if "unconfirmed" in reported:
        return
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
    result, problem = state.facts_of(wizard())
    if result is None:
        st.error(frame.escape(words.plain(problem)), icon=":material/error:")


def _vouch() -> None:
    """The button by which all that waits, in all tables, is confirmed at once on somebody's word."""
    w = wizard()
    tables = list(w.plain["tables"]) if state.several(w) else [""]
    waiting = {t: names for t in tables if (names := checklist.waiting(w, t))}
    unread = not state.is_read(w)
    if not (waiting or unread or (state.several(w) and (keys.waiting(w) or state.apart(w)))):
        return
    named = [f"{t}.{n}".lstrip(".") for t, names in waiting.items() for n in names]
    with st.popover(_("What it means"), icon=":material/help:", type="tertiary"):
        st.markdown(_(words.NOT_FREE))
        st.caption(_("Waiting: ") + frame.escape(", ".join(named)))
    word = _("Your word that these are public facts. Your name is recorded with them. Without it you cannot go on.")
    label = ngettext("Confirm {n} column", "Confirm {n} columns", len(named))
    if state.several(w) and keys.waiting(w):
        label = ngettext("Confirm {n} column and the keys", "Confirm {n} columns and the keys", len(named))
    if st.button(
        label, key="confirm_all", type="primary", icon=":material/how_to_reg:", help=" ".join([word, *_besides(w)])
    ):
        what = _("All columns and keys") if state.several(w) else _("All columns")
        intake.replace(_confirmed(w, waiting), _("{what} are confirmed on your word.").format(what=what))


def _besides(w: Wizard) -> list[str]:
    """The answers that are taken along with the columns' facts."""
    person, coded = unit.proposed(w), not state.several(w) and bool(facts.codes_asked(w))
    return [_("The answer on rows of one person is taken as it stands.")] * person + [
        _("The choice of numbers and codes is taken as it stands.")
    ] * coded


def _confirmed(w: Wizard, waiting: dict[str, list[str]]) -> dict:
    """The description with what waits on somebody's word: columns; of several tables keys and reading as well."""
    if not state.several(w):
        unit.take(w)
        plain = facts.confirm(facts.codes_taken(w), waiting.get("", []))
        read = plain.get("dialect")
        return {**plain, "dialect": {**read, "source": "declared"}} if read else plain
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


def _one() -> None:
    w = wizard()
    names = list(state.effective_own(w)["columns"])
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
    if name in state.alone(w):
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
            held = {n: v for n, v in column.items() if n != "pattern"}
            held |= {"pattern": text.strip()} if text.strip() else {}
            intake.replace_own(facts.with_column(own(wizard()), name, held), changed)


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
        listed = [line.strip() for line in text.splitlines() if line.strip()]
        changed = _("The values of {name} are changed.").format(name=frame.escape(name))
        intake.replace_own(facts.with_column(own(wizard()), name, {**column, "categories": listed}), changed)


def _blocked() -> str:
    w = wizard()
    if open_points := checklist.blocked(w):
        return open_points
    try:
        synth.Ledger().summary(state.dataset(w))
    except synth.SynthError as error:
        return frame.message_of(error)
    return ""


page()
