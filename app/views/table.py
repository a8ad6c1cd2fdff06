"""The table: which one it is, what is publicly known of it, and who confirms that."""

import json
from typing import Any, NamedTuple

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import synth
from app.run import learning, prior, runs
from app.session import access, door, frame, state, words
from app.session.state import Wizard, own, wizard
from app.table import database, facts, intake, keys, lists, reading, statements, stored
from synth import app_api
from synth.languages import _, ngettext


def page() -> None:
    """The choice of a table; then what is known of it, with what is to be decided on top, and the way on."""
    w = wizard()
    if w.table is None:
        lead = _(
            "Facsimile turns a table about people into a **synthetic** one that can be shared: made-up rows with "
            "the same patterns, and a mathematical limit on what they can tell about any one person."
        )
        frame.head("table", lead)
        runs.offer()
        _choices()
        frame.onward("table", blocked=_("Choose a table first."))
        return
    lead = _("What anyone may know about the table **without looking at its rows**. It must be right, and public.")
    frame.head("table", lead)
    _chosen(w)
    top = st.container()
    _described(w)
    with top:
        _checklist(w)  # as it stands after this run's edits
    frame.onward("table", blocked=_blocked(), beside=_confirm_all)


def _choices() -> None:
    """The ways to a table: the sample, an upload, what lies on the server, a database, an earlier visit."""
    left, right = st.columns(2)
    with left, st.container(border=True, height="stretch"):
        _sample()
    with right, st.container(border=True, height="stretch"):
        _upload()
    _server()
    database.section(_description)
    stored.offer()


def _chosen(w: Wizard) -> None:
    """What was chosen and how it is read; another one is a click away."""
    at = _(" at {source}").format(source=frame.escape(w.source)) if w.source else ""
    left, right = st.columns([3, 2], vertical_alignment="center")
    summary = stored.size(w.plain)
    left.markdown(_("**Chosen:** {label}{at}, {summary}").format(label=frame.escape(w.label), at=at, summary=summary))
    with right.container(horizontal=True, horizontal_alignment="right"):
        if st.button(_("Another table"), key="another_table", icon=":material/swap_horiz:", type="tertiary"):
            _let_go(w, "")
        kept = _("Stored in a private folder on this computer until you remove it.")
        label = _("Remove the stored copy")
        if (
            w.uploaded
            and w.place is not None
            and st.button(label, key="discard", icon=":material/delete:", type="tertiary", help=kept)
        ):
            stored.remove(w.place)
            _let_go(w, _("The stored copy is removed."))
    if not state.several(w):
        reading.section()


def _let_go(w: Wizard, notice: str) -> None:
    w.table, w.label, w.plain, w.place, w.source, w.notice = None, "", {}, None, None, notice
    st.rerun()


def _sample() -> None:
    st.markdown(_("**Try it on the sample table**"))
    said = _(
        "A simulated survey of a town: 20,000 people, 15 columns. Nobody in it exists, so nothing can go "
        "wrong. Hints lead through all steps in two minutes."
    )
    st.markdown(said)
    if not frame.SAMPLE.exists():
        st.info(_("The sample table is not installed here. Upload a table below."))
    elif st.button(_("Use the sample table"), key="use_sample", icon=":material/table_chart:", type="primary"):
        intake.sample()
        st.rerun()


def _upload() -> None:
    """A file, or several, that are taken as soon as they are here."""
    w = wizard()
    st.markdown(_("**Or upload your own table**"))
    said = _("What you have in writing already: give it before the table.")
    with st.popover(_("Description or code books"), icon=":material/menu_book:", help=said):
        given, books = _description(f"up_{w.uploads}")
    said = _(
        "One row for each person or event, a first line of column names; of an Excel workbook the first sheet. "
        "Several files at once, such as patients and their stays, refer to each other by keys. Larger ones: below."
    )
    label = _("Table (CSV, Excel, Parquet, SPSS, Stata or SAS), or several that belong together")
    tables = st.file_uploader(label, type=stored.KINDS, key=f"table_{w.uploads}", accept_multiple_files=True, help=said)
    st.caption(_("The file stays on the computer that runs this application, which sends nothing anywhere."))
    context = get_script_run_ctx()
    if tables and context is not None and door.under_way(context.session_id):  # once it is here the page is drawn anew
        said = _("Another file is still on its way: all are taken together once it is here.")
        st.info(said, icon=":material/upload:")
        st.button(_("Look again"), key="look_again", help=_("If it does not arrive, remove it above and look again."))
    elif tables:
        _go(lambda: intake.uploaded(tables, given, books), _("Storing the files and looking at their columns"))


def _description(key: str) -> tuple[Any, list[Any]]:
    """What the steward already has in writing: a description and code books."""
    said = _("Saved earlier on the page The table, or SDV metadata. Without one, you confirm a draft next.")
    given = st.file_uploader(_("Description (optional, JSON)"), type=["json"], key=f"schema_{key}", help=said)
    said = _(
        "A file for each column, named after it (sex.csv), with the header value,label. You confirm that it is public."
    )
    label = _("Code books (optional, CSV)")
    books = st.file_uploader(label, type=["csv"], accept_multiple_files=True, key=f"books_{key}", help=said)
    return given, list(books)


def _server() -> None:
    """Files that already lie on the server: any size, nothing is copied."""
    files = stored.mounted()
    if not files and not access.me().alone:
        return
    with st.expander(_("Or a file or folder that is already on this computer (any size, nothing is copied)")):
        st.caption(
            _("A folder of Parquet files is one table, a folder of other files several that belong together.")
            if files
            else _(
                "No folder of tables is offered here: name one in the environment variable SYNTH_TABLES when "
                "you start the application, or type the path of a file."
            )
        )
        chosen = frame.offered_or_typed(
            files,
            _("File"),
            _("Path"),
            "server_file",
            show=lambda p: _shown(p, files),
            example=_("/data/people.parquet"),
            about=_("The full path of a file, or of a folder of tables, on the computer that runs this application."),
        )
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
        tied = _tied(w)
        if not tied:
            st.subheader(_("How the tables belong together"), anchor="joined")
        keys.join_section()
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
            facts.person_section()
            if facts.codes_asked(w):
                st.subheader(_("Numbers, or codes?"), anchor="codes")
                facts.codes_section()
    if apart:
        with right:
            learning.section()
    _source_of_facts()
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
    said = _("A JSON file that holds no rows. Upload it next time.")
    label = _("Save this description")
    access.offer(label, "schema.json", "save_schema", _saved, state.effective(w), help=said, kind="tertiary")


def _saved(plain: dict[str, Any]) -> bytes:
    return (json.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode()


def _names(w: Wizard) -> None:
    """Under which name the budget is kept; of one table what is predicted, and for how many a row stands."""
    asked = {} if state.several(w) else _columns_with_a_part(w)
    name, *others = st.columns(1 + len(asked))
    about = _(
        "The privacy budget is kept under this name. Tables about the same people (other years, versions, parts) "
        "must share one: what is learnt adds up."
    )
    typed = name.text_input(_("Name of the dataset"), value=state.dataset(w), key="dataset", max_chars=200, help=about)
    w.plain["dataset"] = typed.strip() or None
    for box, (fact, (label, names, said)) in zip(others, asked.items(), strict=True):
        current = w.plain.get(fact)
        at = names.index(current) if current in names else None
        chosen = box.selectbox(label, names, at, key=fact, help=said, placeholder=_("none"))
        if chosen != current:
            w.plain[fact] = chosen
            if fact == "target":
                w.plain.pop("positive", None)


def _columns_with_a_part(w: Wizard) -> dict[str, tuple[str, list[str], str]]:
    """What one column may be: the one to predict, and the number of people that a row stands for."""
    columns = {n: c for n, c in w.plain["columns"].items() if n not in w.left_out}
    numbers = [n for n, c in columns.items() if c["type"] in ("integer", "float") and n != w.plain.get("target")]
    said = _("If the table will be used to predict one column, more care is given to how others relate to it.")
    asked = {"target": (_("Column to predict (optional)"), facts.readable(columns), said)}
    if numbers or w.plain.get("weight") is not None:
        said = _("How many people a row stands for in a survey, within known bounds. Comparisons weight rows as well.")
        asked["weight"] = (_("Weight of a row (optional)"), numbers, said)
    return asked


def _source_of_facts() -> None:
    """Who stands behind the facts, at a glance, once somebody does: the counter above says who is still to."""
    reported = [c.get("source", "declared") for c in state.effective_own(wizard())["columns"].values()]
    if "unconfirmed" in reported:
        return
    parts = [f"{reported.count(s)} {words.CONFIRMED[s]}" for s in words.CONFIRMED if s in reported]
    said = _("Columns: {parts}.").format(parts=", ".join(parts))
    if price := wizard().plain.get("learnt"):
        said += _(" Learning them cost epsilon {epsilon:g} (line {ledger_entry} of the ledger).").format(**price)
    st.caption(said)


class Point(NamedTuple):
    """One thing to decide: where on the page, in words, whether it is done, and what to do first where it is not."""

    place: str
    title: str
    done: bool
    first: str


def _points(w: Wizard) -> list[Point]:
    """What is decided on this page, in its order; all of it is done before there is a way on."""
    lists, left = state.apart(w), [t for t in state.tables(w) if _waiting(w, t)]
    listed = _("First learn, group, leave out or confirm {names}.").format(names=frame.escape(", ".join(lists)))
    person = _("First say whether a person can appear in more than one row.")
    codes = _("First say which columns hold numbers, and which codes.")
    read = Point("read", _("how the file is read"), state.is_read(w), _("First confirm how the file is read."))
    result = [Point("name", _("name of the dataset"), bool(state.dataset(w)), _("First give the dataset a name."))]
    if state.several(w):
        held = not keys.waiting(w)
        result += [
            Point("joined", _("which rows belong to which"), _tied(w), _("First say which table each belongs to.")),
            Point("keys", _("keys and their bounds"), held, _("First confirm the keys and their bounds.")),
            read,
        ]
    else:
        result += [
            read,
            Point("person", _("rows of one person"), state.answered(w), person),
            Point("codes", _("numbers or codes"), not facts.codes_asked(w), codes),
        ]
    return [
        *result,
        Point("lists", _("lists that may tell of persons"), not lists, listed),
        Point("confirmed", _("who confirms it"), not left, _("First confirm the columns that are waiting.")),
    ]


def _tied(w: Wizard) -> bool:
    """Whether keys hold several tables together, each below one other but for the first."""
    return len(keys.orphans(w)) == 1 and not keys.undecided(w)


def _waiting(w: Wizard, table: str) -> list[str]:
    """The columns of a table that wait and may be confirmed together with others."""
    alone = set(state.apart(w))
    columns = state.tables(w, state.effective(w))[table]["columns"]
    return [n for n, c in columns.items() if c.get("source") == "unconfirmed" and state.start(table) + n not in alone]


def _checklist(w: Wizard) -> None:
    """The list on top of the page."""
    every = _points(w)
    left = [p for p in every if not p.done]
    if not left:
        st.markdown(_(":green[:material/check_circle:] **All {number} points are decided.**").format(number=len(every)))
        return
    st.markdown(
        _(":orange[:material/checklist:] **{number} of {number2} decided.** Open: {jumps}.").format(
            number=len(every) - len(left), number2=len(every), jumps=", ".join(f"[{p.title}](#{p.place})" for p in left)
        )
    )


def _problems() -> None:
    result, problem = state.facts_of(wizard())
    if result is None:
        st.error(frame.escape(words.plain(problem)), icon=":material/error:")


def _confirm_all() -> None:
    """The button by which all that waits, in all tables, is confirmed at once on somebody's word."""
    w = wizard()
    waiting = {t: names for t in state.tables(w) if (names := _waiting(w, t))}
    if not (waiting or (state.several(w) and (keys.waiting(w) or state.apart(w)))):
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
    person, coded = facts.proposed(w), not state.several(w) and bool(facts.codes_asked(w))
    return [_("The answer on rows of one person is taken as it stands.")] * person + [
        _("The choice of numbers and codes is taken as it stands.")
    ] * coded


def _confirmed(w: Wizard, waiting: dict[str, list[str]]) -> dict:
    """The description with what waits on somebody's word: columns; of several tables keys and reading as well."""
    many, tables, shown = state.several(w), {}, w.at
    if not many:
        facts.take_person(w)
    for table, plain in state.tables(w).items():
        w.at = table
        plain = plain if many else facts.codes_taken(w)
        for name in lists.to_omit(w):
            plain = facts.left_out(plain, name)
        if plain.get("dialect"):
            plain = {**plain, "dialect": {**plain["dialect"], "source": "declared"}}
        tables[table] = facts.confirm(plain, waiting.get(table, []))
    w.at = shown
    if not many:
        return tables[""]
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
        if st.button(_("I confirm this column"), key="confirm_one"):
            said = _("{name} is confirmed on your word.").format(name=frame.escape(name))
            intake.replace_own(facts.confirm(own(w), [name]), said)
    else:
        st.caption(_("Who confirms it: {sources}.").format(sources=words.SOURCES[column.get("source", "declared")]))


def _form(name: str, column: dict) -> None:
    """In which form an identifier's made-up keys are written."""
    text = st.text_input(
        _("Form of made-up keys (optional)"),
        column.get("pattern") or "",
        key=f"pattern_{wizard().edition}_{name}",
        max_chars=100,
        placeholder="P[0-9]{6}",
        help=_(
            "P[0-9]{{6}} gives P000001, P000002 ... State it from a code book: it is published, and never read off the "
            "rows. Empty: 1, 2, 3 ..."
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
        said = _("{number} values: too many to edit here. Save the description, edit the file and upload it.")
        st.caption(said.format(number=len(values)))
        return
    said = _("Every value the column can take. For an ordered category, from lowest to highest.")
    label = _("Possible values, one a line")
    text = st.text_area(label, "\n".join(values), height=240, key=f"lines_{wizard().edition}_{name}", help=said)
    if st.button(_("Keep these values"), key="keep_values"):
        listed = [line.strip() for line in text.splitlines() if line.strip()]
        changed = _("The values of {name} are changed.").format(name=frame.escape(name))
        intake.replace_own(facts.with_column(own(wizard()), name, {**column, "categories": listed}), changed)


def _blocked() -> str:
    """The next thing to do before there is a way on: of a description that breaks a rule, correct it."""
    w = wizard()
    left = [p for p in _points(w) if not p.done]
    if joined := next((p.first for p in left if p.place == "joined"), ""):
        return joined
    if state.facts_of(w)[0] is None:
        return _("First correct what the red box says.")
    if left:
        return left[0].first
    try:
        synth.Ledger().summary(state.dataset(w))
    except synth.SynthError as error:
        return frame.message_of(error)
    return ""


page()
