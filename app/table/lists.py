"""Lists of values that tell of persons: each is learnt, grouped, left out, or vouched for alone with a reason."""

import streamlit as st

from app.session import frame, words
from app.session.state import Wizard, alone, opened, own, several, start, tables, with_own, wizard
from app.table import facts, intake, keys
from synth import app_api
from synth.languages import Texts, _, ngettext, phrase

WAYS = Texts(
    {
        "learn": "Learn it privately (safe)",
        "group": "Group it by its first characters",
        "list": "Keep some values, the rest is “other”",
        "omit": "Leave the column out",
        "publish": "Publish the list as it is",
    }
)


def section() -> None:
    """What to do with each such list, of all tables in one place; what is decided is taken over at once."""
    w = wizard()
    open_table = w.at
    for table in w.plain["tables"] if several(w) else [""]:
        w.at = table or open_table
        decided = _section(w)
        if decided is not None:
            plain, words = decided
            plain, w.at = with_own(w, plain), open_table
            intake.replace(plain, words)
    w.at = open_table


def _section(w: Wizard) -> tuple[dict, str] | None:
    """The lists of one table. Returns its changed description and what to say, once something is decided."""
    waiting = alone(w)
    if not waiting:
        return None
    with st.container(border=True):
        lists = _("1 column") if len(waiting) == 1 else _("{number} columns").format(number=len(waiting))
        st.markdown(
            _(
                "**{of}{lists} cannot be confirmed together with the others.** A long list, one with values that "
                "few rows have, or a bound that is no round number may tell of persons."
            ).format(of=_of(w), lists=lists)
            + (
                _(" Those that you leave as they stand are left out when you confirm; those to be learnt, below.")
                if _first(w) == "omit"
                else _(" Those that you leave at the safe choice are learnt below, all at once.")
            )
        )
        for name, why in waiting.items():
            result = _column(w, name, why)
            if result is not None:
                return result
    return None


def _of(w: Wizard) -> str:
    return f"{frame.escape(opened(w))}: " if several(w) else ""


def _key(w: Wizard, name: str) -> str:
    """What the buttons of a column are called: two tables may have columns of one name."""
    return f"{opened(w)}_{name}" if several(w) else name


def _way(w: Wizard, name: str) -> str:
    return f"way_{w.edition}_{_key(w, name)}"


def to_learn(w: Wizard) -> list[str]:
    """The columns that stand at "learn", in all tables; of several as TABLE.COLUMN."""
    shown, result = w.at, []
    for table in tables(w):
        w.at = table
        ways = {n: st.session_state.get(_way(w, n), _first(w)) for n in alone(w)}
        result += [start(table) + n for n, way in ways.items() if way == "learn"]
    w.at = shown
    return result


def to_omit(w: Wizard) -> list[str]:
    """The columns that stand at "leave out" in what is open, of several tables; confirming leaves them out."""
    return [n for n in alone(w) if several(w) and st.session_state.get(_way(w, n), _first(w)) == "omit"]


def _first(w: Wizard) -> str:
    """What stands first: of several tables lists are left out with the confirming of keys, and learnt after it."""
    return "omit" if several(w) and keys.waiting(w) else "learn"


def _column(w: Wizard, name: str, why: str) -> tuple[dict, str] | None:
    column = own(w)["columns"][name]
    count, length = len(column.get("categories") or ()), app_api.groups(list(column.get("categories") or ()))
    what = (
        _("{count} values").format(count=count)
        if count
        else _("{get} to {get2}").format(get=column.get("min"), get2=column.get("max"))
    )
    no = {"group"} if not length else set()
    no |= set() if count else {"list"}
    ways = [k for k in WAYS if k not in no]
    shown = frame.escape(name)
    way = st.radio(
        f"{name}: {what}; {phrase(why)}",
        ways,
        index=ways.index(_first(w)),
        horizontal=True,
        key=_way(w, name),
        format_func=WAYS.__getitem__,
        help=_("What becomes of this column. Of its own values nothing is published but by the last."),
    )
    if way == "group" and length:
        return _group(w, name, length)
    if way == "list":
        return _listed(w, name)
    if (
        way == "omit"
        and not several(w)
        and st.button(
            _("Leave {name} out").format(name=name), key=f"omit_{_key(w, name)}", icon=":material/visibility_off:"
        )
    ):
        return facts.left_out(own(w), name), _("{shown} is left out: it is neither read nor made.").format(shown=shown)
    if way == "publish":
        st.caption(
            _(
                "All {what} of {shown} go into the description that is released, word for word, and may stand in "
                "any synthetic row."
            ).format(what=what, shown=shown)
            if count
            else _("The bounds {what} of {shown} go into the description that is released.").format(
                what=what, shown=shown
            )
        )
        reason = st.text_input(
            _("Why may these {count} values be public?").format(count=count)
            if count
            else _("Why may {what} be public?").format(what=what),
            key=f"reason_{w.edition}_{_key(w, name)}",
            max_chars=300,
            placeholder=_("the national list of diagnosis codes") if count else _("the questionnaire says so"),
            help=_("It goes onto the card of every result, with the name of the column."),
        )
        vouch = (
            _("I vouch for the {count} values of {name}").format(count=count, name=name)
            if count
            else _("I vouch for {what} of {name}").format(what=what, name=name)
        )
        if st.button(vouch, key=f"alone_{_key(w, name)}", disabled=not reason.strip()):
            return facts.alone(own(w), name, reason), _("What is said of {shown} is public on your word.").format(
                shown=shown
            )
    return None


def _group(w: Wizard, name: str, most: int) -> tuple[dict, str] | None:
    length = most
    if most > 1:
        length = int(
            st.number_input(
                _("First characters to keep"),
                1,
                most,
                most,
                key=f"length_{w.edition}_{_key(w, name)}",
                help=_("What comes after them is cut off in every cell, before anything is counted."),
            )
        )
    result = app_api.grouped(own(w)["columns"][name], length)
    count = len(result["categories"]) if result else 0
    st.caption(
        _("{count} groups, every one that is possible: the list does not depend on the rows.").format(count=count)
    )
    if result is None or not st.button(
        _("Group {name}").format(name=name), key=f"group_{_key(w, name)}", icon=":material/unfold_less:"
    ):
        return None
    plain = {**own(w), "columns": {**own(w)["columns"], name: {**result, "source": "declared"}}}
    return plain, _("{name} is grouped by its first {length} characters.").format(
        name=frame.escape(name), length=length
    )


def _listed(w: Wizard, name: str) -> tuple[dict, str] | None:
    """Values from a public list; the form starts empty, since the most frequent ones of the table are private."""
    shown, key = frame.escape(name), f"{w.edition}_{_key(w, name)}"
    values = st.text_area(
        _("Values of {name} to keep, one a line").format(name=name),
        key=f"listed_{key}",
        height=120,
        help=_(
            "From a code book or another public list, not from this table: which values are frequent here is private."
        ),
    )
    other = st.text_input(_("Everything else is counted as"), value="other", key=f"other_{key}", max_chars=40)
    reason = st.text_input(
        _("Where is this list public?"),
        key=f"origin_{key}",
        max_chars=300,
        placeholder=_("the ten commonest diagnoses of the national statistics"),
        help=_("It goes onto the card of every result, with the name of the column."),
    )
    if not st.button(
        _("Keep these values of {name}").format(name=name),
        key=f"keep_{_key(w, name)}",
        icon=":material/checklist:",
        disabled=not (values.strip() and other.strip() and reason.strip()),
    ):
        return None
    try:
        result = app_api.listed(own(w)["columns"][name], values.splitlines(), other, reason)
    except ValueError as error:
        st.error(f"{frame.sentence(words.plain(str(error)))}.", icon=":material/error:")
        return None
    plain = {**own(w), "columns": {**own(w)["columns"], name: result}}
    retained = len(result["categories"]) - 1
    return plain, ngettext(
        "{shown} keeps {n} value; all others count as one.",
        "{shown} keeps {n} values; all others count as one.",
        retained,
    ).format(shown=shown)
