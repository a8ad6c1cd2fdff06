"""Lists of values that tell of persons: each is learnt, grouped, left out, or confirmed alone with a reason."""

from collections.abc import Callable

import streamlit as st

from app.session import frame, words
from app.session.state import Wizard, alone, opened, own, several, start, tables, with_own, wizard
from app.table import facts, intake, keys
from synth import app_api
from synth.languages import Texts, _, ngettext, prose

WAYS = Texts(
    learn="Learn it privately (safe)",
    group="Group it by its first characters",
    list="Keep some values, the rest is “other”",
    omit="Leave the column out",
    publish="Publish the list as it is",
)


Keep = Callable[[dict, str], None]  # takes a table's changed description over at once, and what to say


def section() -> None:
    """What to do with each such list, of all tables in one place; what is decided is taken over at once."""
    w = wizard()
    before = w.at

    def keep(plain: dict, notice: str) -> None:
        whole, w.at = with_own(w, plain), before
        intake.replace(whole, notice)

    for table in tables(w):
        w.at = table or before
        waiting = alone(w)
        if not waiting:
            continue
        lists = ngettext("{n} column", "{n} columns", len(waiting))
        said = _(
            "**{of}{lists} cannot be confirmed together with the others.** A long list, one with values that "
            "few rows have, or a bound that is no round number may tell of persons."
        ).format(of=f"{frame.escape(table)}: " if table else "", lists=lists)
        learnt = _(" Those left at the safe choice are learnt below.")
        out = _(" Those that you leave as they stand are left out when you confirm; those to be learnt, below.")
        said += out if _first(w) == "omit" else learnt
        with st.container(border=True):
            st.markdown(said)
            for name, why in waiting.items():
                _column(w, name, why, keep)
    w.at = before


def _key(w: Wizard, name: str) -> str:
    """What the buttons of a column are called: two tables may have columns of one name."""
    return f"{opened(w)}_{name}" if several(w) else name


def _ways(w: Wizard) -> dict[str, str]:
    """What stands for each list of the table that is open."""
    return {n: st.session_state.get(f"way_{w.edition}_{_key(w, n)}", _first(w)) for n in alone(w)}


def to_learn(w: Wizard) -> list[str]:
    """The columns that stand at "learn", in all tables; of several as TABLE.COLUMN."""
    shown, result = w.at, []
    for table in tables(w):
        w.at = table
        result += [start(table) + n for n, way in _ways(w).items() if way == "learn"]
    w.at = shown
    return result


def to_omit(w: Wizard) -> list[str]:
    """The columns that stand at "leave out" in what is open, of several tables; confirming leaves them out."""
    return [n for n, way in _ways(w).items() if several(w) and way == "omit"]


def _first(w: Wizard) -> str:
    """What stands first: of several tables lists are left out with the confirming of keys, and learnt after it."""
    return "omit" if several(w) and keys.waiting(w) else "learn"


def _column(w: Wizard, name: str, why: str, keep: Keep) -> None:
    column, key, shown = own(w)["columns"][name], _key(w, name), frame.escape(name)
    values = list(column.get("categories") or ())
    count, length = len(values), app_api.groups(values)
    low, high = column.get("min"), column.get("max")
    what = _("{count} values").format(count=count) if count else _("{get} to {get2}").format(get=low, get2=high)
    ways = [k for k in WAYS if (length or k != "group") and (count or k != "list")]
    label, at = f"{name}: {what}; {prose(why)}", ways.index(_first(w))
    said = _("What becomes of this column. Of its own values nothing is published but by the last.")
    way = st.selectbox(label, ways, at, WAYS.__getitem__, key=f"way_{w.edition}_{key}", help=said)
    if way == "group" and length:
        _group(w, name, length, keep)
    elif way == "list":
        _listed(w, name, keep)
    elif way == "omit" and not several(w):
        if st.button(_("Leave {name} out").format(name=name), key=f"omit_{key}", icon=":material/visibility_off:"):
            said = _("{shown} is left out: it is neither read nor made.").format(shown=shown)
            keep(facts.left_out(own(w), name), said)
    elif way == "publish":
        told = _("The bounds {what} of {shown} go into the description that is released.")
        if count:
            told = _(
                "All {what} of {shown} go into what is released, word for word, and may stand in any synthetic row."
            )
        st.caption(told.format(what=what, shown=shown))
        example = _("the national list of diagnosis codes") if count else _("the questionnaire says so")
        reason = _reason(_("Why may {what} be public?").format(what=what), f"reason_{w.edition}_{key}", example)
        label = _("I confirm {what} of {name}").format(what=what, name=name)
        if st.button(label, key=f"alone_{key}", disabled=not reason):
            said = _("What is said of {shown} is public on your word.").format(shown=shown)
            keep(facts.alone(own(w), name, reason), said)


def _reason(label: str, key: str, example: str) -> str:
    """Why something may be public."""
    said = _("It goes onto the card of every result, with the name of the column.")
    return st.text_input(label, key=key, max_chars=300, placeholder=example, help=said).strip()


def _group(w: Wizard, name: str, most: int, keep: Keep) -> None:
    length = most
    if most > 1:
        said = _("What comes after them is cut off in every cell, before anything is counted.")
        label = _("First characters to keep")
        length = st.number_input(label, 1, most, most, key=f"length_{w.edition}_{_key(w, name)}", help=said)
    result = app_api.grouped(own(w)["columns"][name], length)
    said = _("{count} groups, every one that is possible: the list does not depend on the rows.")
    st.caption(said.format(count=len(result["categories"]) if result else 0))
    label = _("Group {name}").format(name=name)
    if result and st.button(label, key=f"group_{_key(w, name)}", icon=":material/unfold_less:"):
        said = _("{name} is grouped by its first {length} characters.").format(name=frame.escape(name), length=length)
        keep(facts.with_column(own(w), name, {**result, "source": "declared"}), said)


def _listed(w: Wizard, name: str, keep: Keep) -> None:
    """Values from a public list; the form starts empty, since the most frequent ones of the table are private."""
    key = f"{w.edition}_{_key(w, name)}"
    about = _("From a code book or another public list, not from this table: what is frequent here is private.")
    label = _("Values of {name} to keep, one a line").format(name=name)
    values = st.text_area(label, key=f"listed_{key}", height=120, help=about)
    other = st.text_input(_("Everything else is counted as"), value="other", key=f"other_{key}", max_chars=40)
    example = _("the ten commonest diagnoses of the national statistics")
    reason = _reason(_("Where is this list public?"), f"origin_{key}", example)
    label, lacks = _("Keep these values of {name}").format(name=name), not (values.strip() and other.strip() and reason)
    if not st.button(label, key=f"keep_{_key(w, name)}", icon=":material/checklist:", disabled=lacks):
        return
    try:
        result = app_api.listed(own(w)["columns"][name], values.splitlines(), other, reason)
    except ValueError as error:
        st.error(f"{frame.sentence(words.plain(error.args[0]))}.", icon=":material/error:")
        return
    said = ngettext(
        "{shown} keeps {n} value; all others count as one.",
        "{shown} keeps {n} values; all others count as one.",
        len(result["categories"]) - 1,
    )
    keep(facts.with_column(own(w), name, result), said.format(shown=frame.escape(name)))
