"""What the synthetic table is good for, in words, and its weakest places, each a click away."""

from typing import Any

import streamlit as st

from app.session import frame
from synth import app_api
from synth.languages import Texts, _, phrase

SHOWN = Texts(
    {
        "good for": "Good for",
        "usable with care for": "Usable with care for",
        "not for": "Not for",
    }
)
SIGNS = {
    "good for": (":green[", "check_circle"),
    "usable with care for": (":orange[", "error"),
    "not for": (":red[", "cancel"),
}
NARROW = "\u00a0"  # a space at which no line is broken


def parts() -> list[str]:
    """The parts of the comparison, as their tabs are called."""
    return [_("Columns"), _("Pairs"), _("Associations"), _("Three columns"), _("Groups of people"), _("Scores")]


def section(result: Any, leaving: Any = None) -> None:
    """The verdict, the figures that it rests on, and the worst places. ``result``: a ``Verdict``.

    ``leaving``: the verdict that recipients read, from the release alone.
    """
    uses(result)
    if leaving is not None:
        said = "; ".join(f"{t.lower()} {w}" for t, w in _named(leaving))
        st.caption(_("What recipients read, from the release alone: {said}.").format(said=said))
    if result.reconciled:
        st.caption(frame.escape(phrase(result.reconciled)))
    _worst(result)


def uses(result: Any) -> None:
    """What for, in words, and the figures. ``result``: ``Uses``."""
    if result.unsure:
        st.warning(frame.escape(frame.sentence(result.unsure)), icon=":material/warning:")
    for level, (colour, icon) in SIGNS.items():
        for title, words in _named(result, level):
            st.markdown(f"{colour}:material/{icon}:] **{title}** {words}.")
    st.markdown(_table(result))


def _named(result: Any, only: str | None = None) -> list[tuple[str, str]]:
    """Each level's title and what it is said of."""
    named = {
        level: "; ".join(frame.escape(phrase(u.use)) for u in result.at(level))
        for level in SHOWN
        if only in (None, level)
    }
    return [(SHOWN[level], words) for level, words in named.items() if words]


def _table(result: Any) -> str:
    """The figures beside a second sample's, as a table of Markdown."""
    head = (_("what for, and why"), _("this table"), _("a second real sample"))
    lines = [f"| {' | '.join(head)} |", "|:---|---:|---:|"]
    for use in result.uses:
        colour, icon = SIGNS[use.level]
        why = frame.escape(app_api.verdict_reason(use)).replace("|", " ")
        about, measure = frame.escape(phrase(use.use)), frame.escape(phrase(use.measure))
        what = f"{colour}:material/{icon}:] {about}: {why} :small[({measure})]"
        figures = " | ".join(v.replace(" ", NARROW) for v in use.shown)
        lines.append(f"| {what} | {figures} |")
    return "\n".join(lines)


def _worst(result: Any) -> None:
    """The farthest columns, pairs, triples and groups; a click shows them. Keys by rank: names could be alike."""
    st.markdown(_("**Farthest from the real table** (share of rows in the wrong place; a click shows where)"))
    kinds = (
        (_("Columns"), "column", [((n,), d) for n, d in result.columns]),
        (_("Pairs"), "pair", [((a, b), d) for a, b, d in result.pairs]),
        (_("Three columns"), "triple", [((a, b, c), d) for a, b, c, d in result.triples]),
        (_("Groups"), "group", [((g.column, g.group), g.distance) for g in result.groups]),
    )
    for title, kind, places in kinds:
        if not places:
            continue
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.caption(title, width=96)
            for rank, (names, distance) in enumerate(places):
                join = ": " if kind == "group" else " × "
                st.button(
                    f"{frame.escape(join.join(names))} **{100 * distance:.1f}{NARROW}%**",
                    on_click=SHOW[kind],
                    args=names,
                    key=f"worst_{kind}_{rank}",
                )


def column(name: str) -> None:
    """Opens a column in both tables."""
    st.session_state["compared_part"], st.session_state["compare_column"] = parts()[0], name


def pair(first: str, second: str) -> None:
    """Opens two columns together."""
    st.session_state["compared_part"] = parts()[1]
    st.session_state["pair_first"], st.session_state["pair_second"] = first, second


def triple(first: str, second: str, third: str) -> None:
    """Opens two columns among the rows of one group of a third."""
    st.session_state["compared_part"] = parts()[3]
    for place, name in zip(("first", "second", "third"), (first, second, third), strict=True):
        st.session_state[f"three_{place}"] = name
    st.session_state.pop("three_group", None)


def group(name: str, value: str) -> None:
    """Opens a group of people."""
    st.session_state["compared_part"] = parts()[4]
    st.session_state["group_column"], st.session_state["group_value"] = name, value


SHOW: dict[str, Any] = {"column": column, "pair": pair, "triple": triple, "group": group}
