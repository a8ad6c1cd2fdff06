"""What is stated beside the columns, each as a list of sentences: rules, areas, uses, published totals."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.session import frame
from app.session.state import effective, effective_own, facts_of, opened, own, several, wizard
from app.table import intake
from app.table.facts import UNREAD, WORDED, readable
from synth import app_api
from synth.languages import Texts, _, ngettext

Plain = dict[str, Any]
MOST_VALUES = 1000  # values offered in a menu
RULES = Texts(
    impossible=("Never together", "Values that cannot occur in one row, such as age 0 to 14 with married."),
    order=("Never above another", "A number or date that is at most another one, such as start and end."),
    missing=("Empty when", "A cell that is always empty under a condition, such as the wage of a child."),
    fixed=(
        "Only these combinations",
        "Columns of which only some combinations exist, such as towns and their districts.",
    ),
    function=(
        "Follows from others",
        "A column that others decide, such as an age group. Where it is given for every row, no budget is spent on it.",
    ),
)
NUMBERS = ("integer", "float")
RULES_ACROSS = Texts(
    equal=(
        "Repeats the column above",
        "A column that holds what a table above holds already, such as the region of an order and its account's.",
    ),
    order=(
        "Never above another",
        "A number or date that is at most one of a table above or below, such as birth and admission.",
    ),
    count=("Counts the rows below", "A column that is the number of rows below, such as the number of stays."),
    total=(
        "Adds up the rows below",
        "A column that is the sum of a column of the rows below, such as the sum of orders.",
    ),
    refers=(
        "Refers to another table's rows",
        "A key of a second table of the same unit, such as the diagnosis that a prescription is for.",
    ),
)
MOST_SHOWN = 60  # areas of a tree that are listed
LINES_SHOWN = 5  # lines of a plan that are shown as not understood
USES = Texts(
    table="are looked at together",
    correlation="are looked at pair by pair",
    prediction="will be predicted",
    columns="matter more than others",
)
FEWEST = {"table": 2, "correlation": 2}  # columns; else one
UNLISTED = Texts(
    {"": "an error: every cell has a line", "zero": "none: such rows do not exist", "open": "not published: anything"}
)


def panel(
    title: str,
    key: str,
    lead: str,
    items: list[Plain],
    sentence: Callable[[Plain], str],
    keep: Callable[[list[Plain], str], None],
    form: Callable[[list[Plain]], None],
    *,
    drop: str,
) -> None:
    """A list of statements in a panel: each as a sentence with a button that takes it out, and a form for more.

    ``drop``: how the buttons' keys begin; ``keep``: takes the list from now on, and what to say.
    """

    def draw() -> None:
        st.caption(lead)
        for i, one in enumerate(items):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.markdown(f"{i + 1}. {frame.escape(sentence(one))}")
            if right.button(_("Remove"), key=f"{drop}_{i}", help=_("Takes this out of the description.")):
                keep([x for k, x in enumerate(items) if k != i], _("It is removed."))
        form(items)

    frame.fold(title, key, draw)
    if items:  # not in the panel's name: with another name it would close
        st.caption(f"{title.partition(' (')[0]}: {ngettext('{n} stated.', '{n} stated.', len(items))}")


def added(item: Any, key: str, label: str, check: Callable[[], Any]) -> bool:
    """A button that adds what a form holds, pressed, where the library takes it; else what is wrong with it."""
    if not st.button(label, key=key, disabled=not item, icon=":material/add:") or not item:
        return False
    try:
        check()
    except synth.SynthError as error:
        frame.tell(error)
        return False
    return True


def will_say(sentence: str) -> None:
    """A statement before it is added."""
    st.markdown(_("**It will say:** {sentence}").format(sentence=frame.escape(sentence)))


def _keep(name: str, *, whole: bool = False) -> Callable[[list[Plain], str], None]:
    """Keeps a list of the table that is open, or of the ``whole`` description."""

    def keep(items: list[Plain], notice: str) -> None:
        if whole:
            intake.replace({**wizard().plain, name: items or None}, notice)
        intake.replace_own({**own(wizard()), name: items or None}, notice)

    return keep


def _parsed(**more: Any) -> synth.Schema:
    """The description of the open table with something more. Errors: InputError."""
    return synth.Schema.parse({**effective_own(wizard()), **more}, name="description", complete=False)


def ask_conditions(columns: dict[str, Plain], *, key: str, label: str, help_text: str) -> dict[str, str]:
    """A condition for each chosen column, in the library's spelling; columns without one yet are left out."""
    chosen = st.multiselect(
        label, readable(columns), key=f"{key}_columns", help=help_text, placeholder=_("Choose columns")
    )
    stated = {name: _condition(name, columns[name], f"{key}_{name}") for name in chosen}
    return {name: text for name, text in stated.items() if text}


def _condition(name: str, column: Plain, key: str) -> str:
    if column["type"] in WORDED and len(column.get("categories") or ()) <= MOST_VALUES:
        label, known, said = (
            _("{name} is one of").format(name=name),
            column.get("categories"),
            _("Any of these values."),
        )
        return "|".join(st.multiselect(label, known or [], key=key, help=said, placeholder=_("Choose values")))
    ends, said = {"min": (_("{name} from"), "low"), "max": (_("{name} to"), "high")}, _("Empty: as far as is possible.")
    usual = [str(column.get(fact, "")) for fact in ends]
    typed = [
        box.text_input(label.format(name=name), key=f"{key}_{end}", placeholder=most, help=said).strip()
        for box, most, (label, end) in zip(st.columns(2), usual, ends.values(), strict=True)
    ]
    return "..".join(t or most for t, most in zip(typed, usual, strict=True)) if any(typed) else ""


def in_words(when: dict[str, str]) -> str:
    """Conditions as a reader says them.

    >>> in_words({"age": "0..14", "state": "a|b"})
    'age from 0 to 14 and state a or b'
    """
    return _(" and ").join(f"{name} {_said(text)}" for name, text in when.items())


def _said(text: str) -> str:
    low, dots, high = text.partition("..")
    return _("from {low} to {high}").format(low=low, high=high) if dots else text.replace("|", _(" or "))


def rules(*, across: bool = False) -> None:
    """The rules there are, and a form for one more; ``across``: those between tables."""
    title, lead = _("Rules across columns (optional)"), _("What cannot occur, whoever is in the table. ")
    key, drop, held = "rules", "drop_rule", own(wizard())
    if across:
        title = _("Rules across tables (optional)")
        lead = _("What holds between a row and the rows above or below it, whoever is in the tables. ")
        key, drop, held = "rules_across", "drop_across", wizard().plain
    lead += _("Synthetic rows keep these rules, and they cost nothing: they are facts that you confirm as public.")
    items, keep = list(held.get("constraints") or []), _keep("constraints", whole=across)
    panel(title, key, lead, items, rule_sentence, keep, lambda rules: _rule_form(rules, across=across), drop=drop)


def _rule_form(rules: list[Plain], *, across: bool) -> None:
    kinds, name = (RULES_ACROSS, "across") if across else (RULES, "rule")
    kind = st.selectbox(
        _("New rule across tables") if across else _("New rule"),
        list(kinds),
        format_func=lambda k: kinds[k][0],
        key=f"{name}_kind",
        help=_("What kind of rule to add."),
    )
    st.caption(kinds[kind][1])
    table = "" if across else f"{opened(wizard())}_".lstrip("_")
    key = f"{name}_{table}{len(rules)}_{kind}"
    rule = _across(kind, key) if across else FORMS[kind](effective_own(wizard())["columns"], key)
    if rule is None:
        st.caption(_("Fill in the fields above to see the rule as a sentence."))
    else:
        will_say(rule_sentence(rule))
    every = [*rules, rule] if rule else rules

    def check() -> None:
        if across:
            whole = {**effective(wizard()), "constraints": every, "open": None}
            app_api.parse_related(whole, name="description", complete=False)
        else:
            _parsed(constraints=every)

    if added(rule, f"add_{name}", _("Add this rule"), check):
        _keep("constraints", whole=across)(every, _("The rule is added."))


def _pick(box: Any, label: str, names: list[str], key: str, said: str) -> Any:
    """A menu of columns, of which none is chosen at first."""
    return box.selectbox(label, names, index=None, key=key, help=said)


def _several_of(box: Any, label: str, names: list[str], key: str, said: str) -> list[str]:
    return list(box.multiselect(label, names, key=key, help=said, placeholder=_("Choose columns")))


def _impossible(columns: dict[str, Plain], key: str) -> Plain | None:
    about = _("At least two columns, each with a condition.")
    when = ask_conditions(columns, key=key, label=_("Columns"), help_text=about)
    return {"kind": "impossible", "rows": when} if len(when) > 1 else None


def _order(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] in (*NUMBERS, "datetime")]
    left, right = st.columns(2)
    low = _pick(left, _("This column"), names, f"{key}_low", _("The smaller or earlier one."))
    dated = {n: columns[n]["type"] == "datetime" for n in names}
    same = [n for n in names if low and n != low and dated[n] == dated[low]]
    high = _pick(right, _("is at most this one"), same, f"{key}_high", _("The larger or later one."))
    return {"kind": "order", "low": low, "high": high} if low and high else None


def _missing(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n in readable(columns) if columns[n].get("nullable") or columns[n].get("missing")]
    if not names:
        st.info(_("No column may be empty so far: tick “May be empty” in the table above first."))
        return None
    column = _pick(st, _("This column is empty"), names, f"{key}_what", _("A column that may be empty."))
    others = {n: c for n, c in columns.items() if n != column}
    when = ask_conditions(others, key=key, label=_("when"), help_text=_("All of these conditions together."))
    said = _("Tick it if the cell is filled in every other row.")
    only = st.checkbox(_("and never otherwise"), key=f"{key}_only", help=said)
    return {"kind": "missing", "column": column, "when": when, "only": only} if column and when else None


def _fixed(columns: dict[str, Plain], key: str) -> Plain | None:
    chosen = _several_of(st, _("Columns"), readable(columns), f"{key}_columns", _("Two or more columns."))
    if len(chosen) < 2:
        return None
    lines = _lines(chosen, columns, f"{key}_{'_'.join(chosen)}")
    return {"kind": "fixed", "columns": chosen, "combinations": lines} if lines else None


def _function(columns: dict[str, Plain], key: str) -> Plain | None:
    names, (left, right) = readable(columns), st.columns(2)
    column = _pick(left, _("This column"), names, f"{key}_what", _("The column that follows."))
    others = [n for n in names if n != column]
    of = _several_of(right, _("follows from"), others, f"{key}_of", _("The columns that decide it."))
    if not column or not of:
        return None
    lines = _lines([*of, column], columns, f"{key}_{column}_{'_'.join(of)}")
    label, nothing = _("In all other rows"), _("the rule says nothing")
    about = _("With a value the column is given for every row and costs no budget.")
    if offered := list(columns[column].get("categories") or ()):
        other = st.selectbox(
            label, [None, *offered], key=f"{key}_other", format_func=lambda v: nothing if v is None else v, help=about
        )
    else:
        other = st.text_input(label, key=f"{key}_other", placeholder=nothing, help=about).strip()
    if not lines:
        return None
    return {"kind": "function", "column": column, "of": of, "table": lines} | ({"otherwise": other} if other else {})


def _lines(names: list[str], columns: dict[str, Plain], key: str) -> list[list[str]]:
    """A table to fill in: a line for each combination, all of its cells filled."""
    st.caption(_("One line for each combination. A cell holds a value, several as a|b, or a range as 0..14."))
    config: dict[str, Any] = {
        n: st.column_config.SelectboxColumn(n, options=list(columns[n].get("categories") or ()))
        if columns[n]["type"] in WORDED and n == names[-1]
        else st.column_config.TextColumn(n)
        for n in names
    }
    empty = pd.DataFrame({n: pd.Series([None], dtype=object) for n in names})
    result = st.data_editor(empty, num_rows="dynamic", hide_index=True, key=key, column_config=config)
    lines = result.astype(object).where(result.notna(), "").astype(str).to_numpy().tolist()
    return [[c.strip() for c in line] for line in lines if all(c.strip() for c in line)]


FORMS = {"impossible": _impossible, "order": _order, "missing": _missing, "fixed": _fixed, "function": _function}


def _across(kind: str, key: str) -> Plain | None:
    """A rule between tables as far as it is filled in; which columns go together, the library says."""
    plain, above, (left, right) = effective(wizard()), _("This column above"), st.columns(2)
    first, second, label, other_label = {
        "equal": ("child", "parent", _("This column below"), _("repeats this one")),
        "order": ("low", "high", _("This column"), _("is at most this one")),
        "count": ("parent", "child", above, _("is the number of rows of")),
        "total": ("parent", "child", above, _("is the sum of")),
        "refers": ("child", "parent", _("This column"), _("holds keys of")),
    }[kind]
    typed = {"order": (*NUMBERS, "datetime"), "count": ("integer",), "total": NUMBERS, "refers": ("identifier",)}
    types = typed.get(kind)
    names = [
        f"{t}.{n}"
        for t, s in plain["tables"].items()
        for n, c in s["columns"].items()
        if (c["type"] in types if types else c["type"] not in UNREAD)
    ]
    one = _pick(left, label, names, f"{key}_one", _("As table.column."))
    below = [k["child"] for k in plain["keys"] if one and k["parent"] == one.partition(".")[0]]
    others = below if kind == "count" else [n for n in names if one and n != one]
    where = _("Of another table.") if kind == "refers" else _("Of a table above or below it.")
    other = _pick(right, other_label, others, f"{key}_other", where)
    return {"kind": kind, first: one, second: other} if one and other else None


def rule_sentence(rule: Plain) -> str:
    """A rule in words.

    >>> rule_sentence({"kind": "order", "low": "start", "high": "end"})
    'start is at most end, unless one of them is missing.'
    >>> rule_sentence({"kind": "impossible", "rows": {"age": "0..14", "married": "yes"}})
    'Never together: age from 0 to 14 and married yes.'
    >>> rule_sentence({"kind": "count", "parent": "patients.stays", "child": "stays"})
    'patients.stays is the number of rows of stays.'
    >>> rule_sentence({"kind": "refers", "child": "drugs.did", "parent": "diagnoses.did"})
    'drugs.did holds keys of diagnoses.did, of the same unit.'
    """
    kind = rule["kind"]
    if kind == "impossible":
        return _("Never together: {in_words}.").format(in_words=in_words(rule["rows"]))
    if kind == "order":
        return _("{low} is at most {high}, unless one of them is missing.").format(**rule)
    if kind == "equal":
        return _("{child} repeats {parent}.").format(**rule)
    if kind == "refers":
        return _("{child} holds keys of {parent}, of the same unit.").format(**rule)
    if kind in ("count", "total"):
        what = _("the number of rows of") if kind == "count" else _("the sum of")
        return _("{parent} is {what} {child}.").format(what=what, **rule)
    if kind == "missing":
        only = _(", and only then") if rule.get("only") else ""
        return _("{column} is empty when {in_words}{only}.").format(
            column=rule["column"], in_words=in_words(rule["when"]), only=only
        )
    lines = rule["combinations"] if kind == "fixed" else rule["table"]
    first = f" ({'; '.join(', '.join(line) for line in lines[:2])}{'; …' if len(lines) > 2 else ''})"
    if kind == "fixed":
        return _("Of {names} only {number} combinations occur{first}.").format(
            names=", ".join(rule["columns"]), number=len(lines), first=first
        )
    other = _(", otherwise {otherwise}").format(otherwise=rule["otherwise"]) if rule.get("otherwise") else ""
    return _("{column} follows from {of}{first}{other}.").format(
        column=rule["column"], of=", ".join(rule["of"]), first=first, other=other
    )


def areas() -> None:
    """The trees there are, and a form for one more level."""
    columns = own(wizard()).get("columns") or {}
    levels = [{"name": n, "within": c["within"]} for n, c in columns.items() if c.get("within")]

    def keep(left: list[Plain], notice: str) -> None:
        _keep_level(next(one["name"] for one in levels if one not in left), None, notice)

    def sentence(one: Plain) -> str:
        return area_sentence(one["name"], one["within"])

    lead = _(
        "Districts lie within regions, regions within countries: a public tree, which every synthetic row keeps. "
        "Only the lowest area of a row is read; areas above follow from it, at no further cost."
    )
    title = _("Areas within areas (optional)")
    panel(title, "areas", lead, levels, sentence, keep, _area_form, drop="drop_within")


def _area_form(_levels: list[Plain]) -> None:
    w = wizard()
    with suppress(synth.InputError):  # said below the columns
        for name, lines in app_api.area_lines(_parsed()).items():
            st.markdown("\n".join(f"{'  ' * depth}- {frame.escape(area)}" for depth, area in lines[:MOST_SHOWN]))
            if len(lines) > MOST_SHOWN:
                st.caption(_("and {n} more of {column}").format(n=len(lines) - MOST_SHOWN, column=frame.escape(name)))
    columns = own(w).get("columns") or {}
    names = [n for n, c in columns.items() if c["type"] in WORDED]
    if len(names) < 2:
        st.info(_("A tree needs two columns of categories: the areas, and those that they lie in."))
        return
    key, (left, right) = f"within_{opened(w)}", st.columns(2)
    free = [n for n in names if not columns[n].get("within")]
    child = _pick(left, _("The areas of"), free, f"{key}_child", _("The column of the smaller areas."))
    above = [n for n in names if n != child]
    parent = _pick(right, _("lie within those of"), above, f"{key}_parent", _("The column of the larger areas."))
    said = _("Two columns, the smaller area first. Without it, each code begins with that of its larger area.")
    label = _("Which lie in which (CSV, optional)")
    sent = st.file_uploader(label, type=["csv"], key=f"within_file_{w.uploads}", help=said)
    within: Plain = {"column": parent}

    def check() -> None:
        if sent is not None:
            within["areas"] = app_api.areas_listed(intake.text_of(sent), name=sent.name)
        held = effective_own(w)["columns"]
        _parsed(columns={**held, child: {**held[child], "within": within}})

    if added(child and parent, "add_within", _("Add this level"), check):
        intake.forget(sent)
        _keep_level(child, within, _("The level is added."))


def _keep_level(name: str, within: Plain | None, notice: str) -> None:
    plain = own(wizard())
    level = {k: v for k, v in plain["columns"][name].items() if k != "within"}
    level |= {} if within is None else {"within": within}
    intake.replace_own({**plain, "columns": {**plain["columns"], name: level}}, notice)


def area_sentence(name: str, within: Any) -> str:
    """A level in words.

    >>> area_sentence("town", {"column": "region", "areas": {"1": ["11"]}})
    'Each area of town lies within one of region, as listed.'
    """
    within = {"column": within} if isinstance(within, str) else within
    listed, by_code = (
        _("Each area of {name} lies within one of {column}, as listed."),
        _("Each area of {name} lies within one of {column}, by its code."),
    )
    return (listed if within.get("areas") else by_code).format(name=name, column=within["column"])


def uses() -> None:
    """The uses there are, and fields for more."""
    lead = _(
        "What will be looked at in the synthetic result gets more of the budget, and the reports answer in these "
        "words. Nothing more is spent. What you name here is public, and goes with the result."
    )
    title = _("What the tables are for (optional)") if several(wizard()) else _("What the table is for (optional)")
    items, keep = list(wizard().plain.get("uses") or []), _keep("uses", whole=True)
    panel(title, "uses", lead, items, use_sentence, keep, _use_form, drop="drop_use")


def _use_form(uses: list[Plain]) -> None:
    known, number = facts_of(wizard(), complete=False)[0], len(uses)
    if known is None:
        st.caption(_("First correct what the red box says."))
        return
    about = _(
        "Tables of two to four columns (age by sex), regressions (income ~ age), groups (compare income across "
        "sex), targets (predict income). A sentence that names two to four columns asks for their table."
    )
    shown = _("age by sex by district\nincome ~ age + sex*education\ncompare income across sex\npredict income")
    if several(wizard()):
        about += " " + _("Of several tables as table.column: columns of one table and of those above it.")
        shown = _("stays.ward by patients.sex\nstays.days ~ patients.age + stays.ward\npredict stays.days")
    typed = st.text_area(_("One use a line, or a research plan"), key=f"uses_{number}", placeholder=shown, help=about)
    result, rest = app_api.uses_of_plan(typed or "", known)
    for line in rest[:LINES_SHOWN]:
        st.caption(_("Not understood, and left out: {line}").format(line=frame.escape(line)))
    if len(rest) > LINES_SHOWN:
        st.caption(ngettext("and {n} more line.", "and {n} more lines.", len(rest) - LINES_SHOWN))
    asked = [use.model_dump(mode="json", exclude_none=True) for use in result]
    left, middle, right = st.columns([3, 2, 1])
    said = _("What will be done with the chosen columns.")
    kind = middle.selectbox(_("These columns"), list(USES), 0, USES.__getitem__, key=f"use_kind_{number}", help=said)
    said = _("Of several tables as table.column, in the order of the tables; type to find one.")
    label = _("Or choose columns")
    names = _several_of(left, label, list(app_api.columns_for_uses(known)), f"use_columns_{number}", said)
    said = _("How much more than others it matters; behind a line it is written as (weight 2).")
    weight = right.number_input(_("Weight"), 0.1, None, 1.0, 1.0, key=f"use_weight_{number}", help=said)
    if len(names) >= FEWEST.get(kind, 1):
        asked.append({"kind": kind, "columns": names, "weight": float(weight)})
    new = [u for u in asked if u not in uses]
    for use in new:
        will_say(use_sentence(use))
    if added(new, "add_uses", _("Add these uses"), lambda: app_api.with_uses(known, new)):
        _keep("uses", whole=True)([*uses, *new], _("The uses are added."))


def use_sentence(use: Plain) -> str:
    """A use in words.

    >>> use_sentence({"kind": "table", "columns": ["age", "sex"], "weight": 2.0})
    'the table of age, sex; weight 2'
    >>> use_sentence({"kind": "regression", "formula": "income ~ age", "weight": 1.0})
    'the regression income ~ age'
    """
    held = {n: ", ".join(use.get(n, ())) for n in ("columns", "of", "groups")} | {"formula": use.get("formula")}
    said = {
        "table": _("the table of {columns}"),
        "regression": _("the regression {formula}"),
        "comparison": _("how {of} differs across {groups}"),
        "means": _("averages of {of} by {groups}"),
        "prediction": _("predicting {columns}"),
        "columns": _("columns that matter more: {columns}"),
        "correlation": _("correlations of {columns}"),
    }[use["kind"]].format(**held)
    weight = use.get("weight", 1.0)
    return said if weight == 1 else _("{use}; weight {weight:g}").format(use=said, weight=weight)


def totals() -> None:
    """The totals there are, and a form for one more; of a table that stands alone."""
    if several(wizard()):
        return
    lead = _(
        "Counts that are printed already, such as the population by sex and age. The synthetic table agrees with them "
        "to the unit, and has as many rows as they count. They cost no budget, and the guarantee is given them: what "
        "they say of people is said already."
    )
    title, items = _("Published totals (optional)"), list(own(wizard()).get("totals") or [])
    panel(title, "totals", lead, items, totals_sentence, _keep("totals"), _totals_form, drop="drop_totals")


def _totals_form(totals: list[Plain]) -> None:
    if totals:
        st.caption(frame.escape(free(effective_own(wizard()))))
    said = _("A column for each column that it counts by, and the number of rows, called count, as the last.")
    label = _("A table of totals (CSV)")
    sent: Any = st.file_uploader(label, type=["csv"], key=f"totals_file_{len(totals)}_{wizard().uploads}", help=said)
    left, right = st.columns(2)
    said = _("A yearbook and its table, or an address. It goes onto the card.")
    published = st.text_input(_("Where it is printed"), key=f"totals_published_{len(totals)}", help=said)
    label, said = _("Rounded to multiples of"), _("1 for exact counts.")
    base = left.number_input(label, min_value=1, value=1, key="totals_base", help=said)
    label, said = _("Cells without a line"), _("What it means that a combination of values has no line in the file.")
    unlisted = right.selectbox(label, list(UNLISTED), 0, UNLISTED.__getitem__, key="totals_unlisted", help=said)
    one: Plain = {}

    def check() -> None:
        try:
            one.update(app_api.totals_table(intake.text_of(sent), name=sent.name), file=sent.name, published=published)
            one.update(({"rounded": int(base)} if base > 1 else {}) | ({"unlisted": unlisted} if unlisted else {}))
            app_api.totals_stated(_parsed(totals=[*totals, one]))
        finally:
            intake.forget(sent)

    if added(sent, "add_totals", _("Add these totals"), check):
        _keep("totals")([*totals, one], _("The table of totals is added."))


def totals_sentence(one: Plain) -> str:
    """What a table of totals fixes, in words.

    >>> totals_sentence({"columns": ["sex"], "counts": [["f", "1"], ["m", "2"]], "published": "Yearbook", "rounded": 5})
    'Fixes 2 counts by sex, rounded to 5; printed in: Yearbook.'
    """
    rounded = _(", rounded to {base}").format(base=one["rounded"]) if one.get("rounded", 1) > 1 else ""
    return _("Fixes {n} counts by {columns}{rounded}; printed in: {place}.").format(
        n=len(one["counts"]), columns=" × ".join(one["columns"]), rounded=rounded, place=one.get("published") or "-"
    )


def free(plain: Plain) -> str:
    """What the rows may still say beside the totals.

    >>> free({"columns": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}, "totals": [{"columns": ["a"]}]})
    'The rows may still say anything about b, and how it hangs together with a.'
    """
    counted = list(dict.fromkeys(c for one in plain.get("totals") or () for c in one["columns"]))
    others = [n for n, c in plain["columns"].items() if n not in counted and c["type"] not in ("identifier", "omitted")]
    if not others:
        return _("Every column is counted; the rows may still say how columns hang together beyond the tables.")
    return _("The rows may still say anything about {others}, and how it hangs together with {counted}.").format(
        others=", ".join(others), counted=", ".join(counted)
    )
