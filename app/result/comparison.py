"""The steward's part of the result: everything here uses real rows and stands under its banner."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from app.result import export, releasing, whole
from app.run import runs
from app.session import access, charts, frame, tasks, words, workers
from app.table import database, stored
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import Texts, _, phrase

LEVELS = Texts(
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


def part_names() -> list[str]:
    """The parts of the comparison, as their tabs are called."""
    return [_("Scores"), _("Columns"), _("Pairs"), _("Associations"), _("Three columns"), _("Groups of people")]


def verdict(result: Any) -> None:
    """The verdict, the figures that it rests on, and the worst places. ``result``: a ``Verdict``."""
    uses(result)
    if result.reconciled:
        st.caption(frame.escape(phrase(result.reconciled)))
    _worst(result)


def uses(result: Any, key: str = "why") -> None:
    """What for, in words, and the figures behind it. ``result``: a ``Verdict``; ``key``: of its panel."""
    if result.unsure:
        st.warning(frame.escape(frame.sentence(result.unsure)), icon=":material/warning:")
    for level, (colour, icon) in SIGNS.items():
        if served := "; ".join(frame.escape(u.title) for u in result.at(level)):
            st.markdown(f"{colour}:material/{icon}:] **{LEVELS[level]}** {served}.")
    frame.fold(_("Why, and what would help"), key, lambda: _table(result))


def _table(result: Any) -> None:
    """The figures beside a second sample's, as a table of Markdown."""
    head = (_("what for, and why"), _("this table"), _("a second real sample"))
    lines = [f"| {' | '.join(head)} |", "|:---|---:|---:|"]
    for use in result.uses:
        colour, icon = SIGNS[use.level]
        why = frame.escape(use.reason).replace("|", " ")
        about, measure = frame.escape(use.title), frame.escape(phrase(use.measure))
        what = f"{colour}:material/{icon}:] {about}: {why} :small[({measure})]"
        figures = " | ".join(v.replace(" ", NARROW) for v in use.shown)
        lines.append(f"| {what} | {figures} |")
    st.markdown("\n".join(lines))


def _worst(result: Any) -> None:
    """The farthest columns, pairs, triples and groups; a click shows them. Keys by rank: names could be alike."""
    st.markdown(_("**Farthest from the real table** (share of rows in the wrong place; a click shows where)"))
    kinds = (
        (_("Columns"), "column"),
        (_("Pairs"), "pair"),
        (_("Three columns"), "triple"),
        (_("Groups"), "group"),
    )
    for title, kind in kinds:
        if not (places := result.worst.get(kind)):
            continue
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.caption(title, width=96)
            for rank, place in enumerate(places):
                join = ": " if kind == "group" else " × "
                st.button(
                    f"{frame.escape(join.join(place.names))} **{100 * place.distance:.1f}{NARROW}%**",
                    on_click=SHOW[kind],
                    args=place.names,
                    key=f"worst_{kind}_{rank}",
                )


def show_column(name: str) -> None:
    """Opens a column in both tables."""
    st.session_state["compared_part"], st.session_state["compare_column"] = part_names()[1], name


def show_pair(first: str, second: str) -> None:
    """Opens two columns together."""
    st.session_state["compared_part"] = part_names()[2]
    st.session_state["pair_first"], st.session_state["pair_second"] = first, second


def show_triple(first: str, second: str, third: str) -> None:
    """Opens two columns among the rows of one group of a third."""
    st.session_state["compared_part"] = part_names()[4]
    for place, name in zip(("first", "second", "third"), (first, second, third), strict=True):
        st.session_state[f"three_{place}"] = name
    st.session_state.pop("three_group", None)


def show_group(name: str, value: str) -> None:
    """Opens a group of people."""
    st.session_state["compared_part"] = part_names()[5]
    st.session_state["group_column"], st.session_state["group_value"] = name, value


SHOW: dict[str, Any] = {"column": show_column, "pair": show_pair, "triple": show_triple, "group": show_group}


BREAKS = "_\u200b"  # a long name is broken after an underscore, and not within a word
FIRST = 10  # small charts in sight at once
NUMBERS = Texts({"empty": "empty", "mean": "mean", "spread": "spread"})


def columns(result: Any) -> None:
    """The columns of a comparison."""
    name = st.session_state.setdefault("compare_column", result.worst_first()[0].column)
    if name not in result.one_way:  # of another run
        st.session_state["compare_column"] = result.worst_first()[0].column
    grid(result.worst_first(), "small", show_column)
    _one(result)


def grid(ordered: list[Any], key: str, shows: Any = None) -> None:
    """Small charts; a click on a name calls ``shows`` with it."""
    every = len(ordered) <= FIRST or st.toggle(
        _("All {number} columns").format(number=len(ordered)), key=f"{key}_every"
    )
    shown = ordered if every else ordered[:FIRST]
    st.caption(_(charts.SMALL_LEGEND))
    with st.container(horizontal=True, key=f"{key}_charts"):
        for i, one in enumerate(shown):
            with st.container(width=144, gap=None):
                label = f"{frame.escape(one.column).replace('_', BREAKS)} **{100 * one.distance:.1f}{NARROW}%**"
                if shows is not None:
                    st.button(label, key=f"{key}_{i}", on_click=shows, args=(one.column,), type="tertiary")
                else:
                    st.markdown(label)
                st.altair_chart(charts.small(one), key=f"{key}_chart_{i}")
    if not every:
        st.caption(_("The {first} that differ most, of {number}.").format(first=FIRST, number=len(ordered)))


def _written(cell: str) -> str:
    """A cell of a column's numbers: its name, a figure, or one of dates in days."""
    if cell.endswith(" days"):
        return _("{n} days").format(n=cell.removesuffix(" days"))
    return NUMBERS.get(cell) or phrase(cell)


def _one(result: Any) -> None:
    name = st.selectbox(
        _("Column"), list(result.columns), key="compare_column", help=_("Shares of its values in both tables.")
    )
    one = result.one_way[name]
    st.altair_chart(charts.one_way(one), key="one_way")
    if text := charts.rest(one):
        st.caption(frame.escape(text))
    if rows := app_api.column_lines(one.numbers):
        lines = [f"| {' | '.join(frame.escape(_written(cell)) for cell in row)} |" for row in rows]
        st.markdown("\n".join([f"| | {_('real')} | {_('synthetic')} |", "|:---|---:|---:|", *lines]))
    notes = [
        _(
            "{distance:.1f} % of the rows would have to change their value to make the two equal (mean over all "
            "columns {one_way_mean:.1f} %)."
        ).format(distance=100 * one.distance, one_way_mean=100 * result.one_way_mean)
    ]
    if one.pooled:
        notes.append(_("The {number} commonest values are shown one by one.").format(number=len(one.chart().labels)))
    if one.kind != "bars":
        notes.append(_("The outermost bins take in the half percent of rows beyond them."))
    st.caption(" ".join(notes))


MOST = 31  # groups of a column that divides people


def groups(result: Any, said: Any) -> None:
    """A column, one of its groups, and the other columns within it. ``said``: the verdict, None without one."""
    if len(result.columns) < 2:
        st.info(_("There is one column only, so there is nothing to see within its groups."))
        return
    names = list(result.columns)
    worst = next(iter(said.worst.get("group", ())), None) if said is not None else None
    if st.session_state.get("group_column") not in names:
        st.session_state["group_column"] = worst.names[0] if worst else names[0]
    left, right = st.columns(2)
    name = left.selectbox(_("Groups by"), names, key="group_column", help=_("The column whose values divide people."))
    labels = list(result.groups[name].labels)
    if st.session_state.get("group_value") not in labels:
        st.session_state["group_value"] = worst.names[1] if worst and worst.names[1] in labels else labels[0]
    value = right.selectbox(_("Group"), labels, key="group_value", help=_("The other columns are shown for it alone."))
    inside = result.within(name, value)
    real, synthetic = result.two_way(name, inside[0].column, where=(name, value)).used
    if not real or not synthetic:
        st.info(
            _("One of the tables has no such row ({real:,} real, {synthetic:,} synthetic).").format(
                real=real, synthetic=synthetic
            )
        )
        return
    mean = sum(o.distance for o in inside) / len(inside)
    st.markdown(
        _(
            "**{name}: {value}**, {real:,} real and {synthetic:,} synthetic rows. Mean distance of the other "
            "columns within it: **{mean:.1f} %**; noise is the same for every group, so small groups lose most."
        ).format(name=frame.escape(name), value=frame.escape(value), real=real, synthetic=synthetic, mean=100 * mean)
    )
    grid(inside, "within")


ONE = "There are too few columns for this."
GAP = "synthetic minus real"
PLACES = Texts(
    {
        "first": ("First column", "Down the side."),
        "second": ("Second column", "Along the bottom."),
        "third": ("Third column", "Whose groups cut slices."),
    }
)


def pairs(result: Any) -> None:
    """The distance of all pairs, and one of them in full."""
    if len(result.columns) < 2:
        st.info(_("There is one column only, so there are no pairs."))
        return
    st.markdown(
        _(
            "Mean distance over all pairs: **{pairs_mean:.1f} %** of rows in the wrong place. Two samples of the "
            "same population would show about {pairs_by_chance:.1f} % by chance alone."
        ).format(pairs_mean=100 * result.pairs_mean, pairs_by_chance=100 * result.pairs_by_chance)
    )
    picked = charts.pickable(charts.pairs(result))
    st.altair_chart(picked, key="pairs", on_select=_picked, selection_mode=charts.CELL)
    left_out = len(result.columns) - len(result.chart()[1])
    st.caption(
        _(
            "A click on a cell shows the pair below. Darker is worse; the diagonal shows each column alone. "
            "Numbers are cut into 12 groups of equal size."
        )
        + (_(" {left_out} columns that differ less are left out.").format(left_out=left_out) if left_out else "")
    )
    first, second = _chosen(result, "pair", dict(zip(("first", "second"), result.worst_pair, strict=True))).values()
    if first == second:
        st.info(_("Choose two different columns."))
        return
    both = result.two_way(first, second)
    _tables(both, (first, second), "two_way")
    st.caption(
        _("{distance:.1f} % of the rows would have to move to make the two equal.").format(distance=100 * both.distance)
    )


def associations(result: Any) -> None:
    """How strongly each two columns go together, in either table, and the difference."""
    if len(result.columns) < 2:
        st.info(_(ONE))
        return
    shown = result.association_charts()
    st.markdown(
        _("How strongly each two columns go together, from 0 (not at all) to 1 (one determines the other)."),
        help=_("Cramer's V of their joint table, at most 12 groups a column, corrected for chance."),
    )
    for side, name in zip(st.columns(2), (charts.REAL, charts.SYNTHETIC), strict=True):
        side.altair_chart(
            charts.association(shown[name], _("{name} table").format(name=name)), key=f"association_{name}"
        )
    gap = charts.pickable(charts.association(shown[_(GAP)], _(GAP), signed=True))
    st.altair_chart(gap, key="association_gap", on_select=_picked_gap, selection_mode=charts.CELL)
    st.caption(_("Orange: stronger in the synthetic table; blue: weaker. A click on a cell shows the pair."))


def three(result: Any) -> None:
    """Two columns among the rows that have one group of a third."""
    if len(result.columns) < 3:
        st.info(_(ONE))
        return
    names = list(result.columns)
    chosen = _chosen(result, "three", dict(zip(("first", "second", "third"), names[:3], strict=True)))
    first, second, third = chosen.values()
    if len({first, second, third}) < 3:
        st.info(_("Choose three different columns."))
        return
    labels = list(result.groups[third].labels)
    if st.session_state.get("three_group") not in labels:
        st.session_state["three_group"] = _common(result, third)
    value = st.selectbox(
        _("Only rows whose {third} is").format(third=third), labels, key="three_group", help=_("A slice of the table.")
    )
    both = result.two_way(first, second, where=(third, value))
    if not all(both.used):
        st.info(
            _("One of the tables has no such row ({used:,} real, {used2:,} synthetic).").format(
                used=both.used[0], used2=both.used[1]
            )
        )
        return
    _tables(both, (first, second), "slice")
    st.caption(
        _(
            "{distance:.1f} % of the rows of this slice would have to move: {used:,} real and {used2:,} synthetic rows."
        ).format(distance=100 * both.distance, used=both.used[0], used2=both.used[1])
    )


def _common(result: Any, name: str) -> str:
    """The commonest group of a column in the real table."""
    return str(result.groups[name].labels[int(np.bincount(result.codes[0][name]).argmax())])


def _chosen(result: Any, key: str, usual: dict[str, str]) -> dict[str, str]:
    """A menu of columns for each place."""
    names, out = list(result.columns), {}
    for side, (place, default) in zip(st.columns(len(usual)), usual.items(), strict=True):
        if st.session_state.get(f"{key}_{place}") not in names:
            st.session_state[f"{key}_{place}"] = default
        label, said = PLACES[place]
        out[place] = side.selectbox(label, names, key=f"{key}_{place}", help=said)
    return out


def _tables(both: Any, names: tuple[str, str], key: str) -> None:
    for side, table in zip(st.columns(2), (charts.REAL, charts.SYNTHETIC), strict=True):
        side.altair_chart(charts.two_way(both, names, table), key=f"{key}_{table}")
    row, column, share = both.charts()[_(GAP)].strongest()
    st.caption(
        _("Farthest apart at {row}, {column}: {share:+.1f} % of rows.").format(
            row=frame.escape(row), column=frame.escape(column), share=100 * share
        )
    )


def _picked() -> None:
    _show("pairs")


def _picked_gap() -> None:
    _show("association_gap")


def _show(key: str) -> None:
    cells = st.session_state[key]["selection"].get(charts.CELL) or []
    if cells and cells[0]["row"] != cells[0]["column"]:
        show_pair(cells[0]["row"], cells[0]["column"])


MARK = "For the steward only, not for release"
PATIENCE = 600.0  # seconds that a comparison may take
BANNER = "**For the steward only - compares with the real rows. Not for release.**"
TOO_LONG = "the comparison takes too long here; use `synth report`"
WHY = (
    "Nothing below is protected by noise: charts and scores show exact shares of the real rows. Do not copy them into "
    "a report, and do not choose between several results by them unless all of those are charged and released."
)


def section(job: jobs.Job, release: Path) -> None:
    """Charts and scores, when the steward asks for them and the real table is still there."""
    st.header(_("Compare with the real rows (for your eyes)"), anchor=False)
    with st.container(border=True):
        st.warning(_(BANNER), icon=":material/lock_person:")
        if not database.real_there(job):
            st.info(
                _(
                    "The real table is no longer stored here, so there is nothing to compare with. The result "
                    "above is complete without it."
                )
            )
            return
        _outside(job)
        made = held(job)
        if made is None:
            st.caption(_(WHY))
            if not _choice_said(job):
                return
            if st.button(
                _("Show the comparison"),
                key="compare",
                icon=":material/compare:",
                help=_("Reads the real rows again, for your eyes; spends nothing."),
            ):
                with st.spinner(_("Comparing the tables")):
                    make(job, release)
                st.rerun()  # draws the page without the button
        elif runs.is_several(job):
            _across(made[0])
            _one_table(job, release)
        else:
            result, said, rare = made
            verdict(said)
            parts(result, said)
            export.standing_rare(rare, release)
        whole.section(job, release)


def _choice_said(job: jobs.Job) -> bool:
    """Whether another run's comparison may be shown: once one was seen, it is said first how this one was chosen."""
    if not looks.rivals(job) or looks.looked(job) or looks.choice(job) is not None:
        return True
    st.markdown(
        _(
            "Another run on this dataset was compared already. Say first how you choose between them: afterwards the "
            "figures have been seen, and the answer is no longer free."
        )
    )
    how = st.radio(
        _("This run was chosen"),
        list(looks.CHOICES),
        key="how_before",
        index=None,
        format_func=lambda k: words.CHOSEN[k],
        help=_("Your answer is recorded with your name and goes into the bundle."),
    )
    if st.button(_("Record this answer"), key="choose_before", disabled=how is None) and how is not None:
        releasing.state_choice(job, how)
        st.rerun()
    return False


def held(job: jobs.Job) -> Any:
    """The run's comparison where this session has made it, else None."""
    return st.session_state.get("comparisons", {}).get(str(job.path))


def make(job: jobs.Job, release: Path) -> None:
    """Compares a run with the real rows, for this session alone. Errors: InputError."""
    if runs.is_several(job):
        result: Any = (_ask(job, release, tasks.compared_across),)
    else:
        result = _ask(job, release, tasks.compared)
    st.session_state.setdefault("comparisons", {})[str(job.path)] = result


def _ask(job: jobs.Job, release: Path, task: Any, *arguments: str) -> Any:
    """A comparison beside the server; it is noted first, beside the ledger, that somebody looks: what cannot be noted
    is not shown. Errors: InputError."""
    who, request = access.allow("compare", job.request().get("owner")), job.request()
    stored.allow_table("use_table", Path(str(request["table"])), request.get("source"))
    with database.real(job, release) as place:
        app_api.note_look(release)
        result = workers.ask(task, str(place), str(release), *arguments, seconds=PATIENCE, late=_(TOO_LONG))
    looks.look(job, by=who.name)
    return result


def _outside(job: jobs.Job) -> None:
    """Cells that the description does not know: many of them mean that it is wrong."""
    try:
        parsed = json.loads((job.path / "steward.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    parts = [
        f"{name}: {count:,} {what}"
        for key, what in (("clamped", _("beyond smallest or largest")), ("unreadable", _("not among the values")))
        for name, count in parsed.get(key, {}).items()
        if count
    ]
    if parts:
        st.caption(
            _(
                "Cells that do not fit the description: {parts}. They were moved to the nearest bound, to "
                "missing, or to a random value. If they are many, correct the description."
            ).format(parts=frame.escape("; ".join(parts)))
        )


def parts(result: Any, said: Any = None) -> None:
    """The pictures and scores of a comparison. ``said``: its verdict, which knows the worst groups."""
    used = _("{real_rows_used:,} of {real_rows:,} real and {synthetic_rows_used:,} synthetic rows").format(
        real_rows_used=result.real_rows_used, real_rows=result.real_rows, synthetic_rows_used=result.synthetic_rows_used
    )
    st.caption(_("Uses {used}, drawn with a fixed seed where not all are used.").format(used=used))
    _weighted(result)
    shown = part_names() if result.scorable else part_names()[1:]
    tabs = st.tabs(shown, key="compared_part", on_change="rerun")
    shows = (
        *([lambda: _scores(result)] if result.scorable else []),
        lambda: columns(result),
        lambda: pairs(result),
        lambda: associations(result),
        lambda: three(result),
        lambda: groups(result, said),
    )
    for tab, show in zip(tabs, shows, strict=False):
        if tab.open is not False:
            with tab:
                show()


def _weighted(result: Any) -> None:
    """How close the tables are to an analyst who weights rows, where the description names a weight."""
    reported = result.weighted
    if reported is not None:
        pairs = (
            ""
            if reported.pairs is None
            else _(", tables of two columns by {pairs:.1f} %").format(pairs=100 * reported.pairs)
        )
        once = 100 * float(result.pairs.trace()) / len(result.columns)
        st.caption(
            _(
                "Rows weighted by {by}: columns differ by {mean:.1f} % on average{pairs}; each row once, columns "
                "differ by {once:.1f} %. A real row weighs {means:,.4g}, a synthetic one {means2:,.4g}. The "
                "charts below count each row once."
            ).format(
                by=frame.escape(reported.by),
                mean=100 * reported.mean,
                pairs=pairs,
                once=once,
                means=reported.means[0],
                means2=reported.means[1],
            )
        )


def _scores(result: Any) -> None:
    quality = result.quality
    if quality is None:
        st.info(_("Not scored: {unscored}.").format(unscored=result.unscored))
        return
    st.markdown(_("Scores of SDMetrics' quality report, 100 % is best."))
    with st.container(horizontal=True):
        st.metric(
            _("Overall"), f"{100 * quality.score:.1f} %", border=True, width=155, help=_("The mean of the two others.")
        )
        st.metric(
            _("Columns"),
            f"{100 * quality.shapes:.1f} %",
            border=True,
            width=155,
            help=_("How alike each column is in both tables."),
        )
        trends = "-" if quality.pairs is None else f"{100 * quality.pairs:.1f} %"
        st.metric(
            _("Pairs"), trends, border=True, width=155, help=_("How alike correlations and tables of two columns are.")
        )
    st.caption(
        _("On {rows:,} real and {rows2:,} synthetic rows, drawn with a fixed seed.").format(
            rows=quality.rows[0], rows2=quality.rows[1]
        )
    )
    if quality.left_out:
        st.caption(_("Left out for their many categories: ") + frame.escape(", ".join(quality.left_out)))
    worst = sorted(quality.by_column.items(), key=lambda pair: pair[1])
    st.table(
        {_("Column"): [n for n, _other in worst], _("Score"): [f"{100 * s:.1f} %" for _other, s in worst]},
        hide_index=True,
    )


PAIRS_SHOWN = 8  # pairs that are listed of one kind, the farthest first


def _across(result: Any) -> None:
    """How tables go together."""
    uses(result.verdict)
    st.subheader(_("Across tables"), anchor=False)
    st.table(
        {
            _("Table"): [frame.escape(t) for t in result.rows],
            _("Real rows"): [f"{r:,}" for r, _other in result.rows.values()],
            _("Synthetic"): [f"{s:,}" for _other, s in result.rows.values()],
        },
        hide_index=True,
    )
    st.caption(_("Real rows are those that a run keeps: with a parent, and no more of one parent than its key says."))
    boxes = st.columns(2) if len(result.numbers) > 1 else [st.container()]
    for i, one in enumerate(result.numbers):
        with boxes[i % 2]:
            st.markdown(
                _(
                    "**Rows of {child} of one row of {parent}**: {distance:.1f} % of the parents have another "
                    "number (a second real sample: {by_chance:.1f} %)"
                ).format(
                    child=frame.escape(one.child),
                    parent=frame.escape(one.parent),
                    distance=100 * one.distance,
                    by_chance=100 * one.by_chance,
                )
            )
            st.altair_chart(_numbers(one), key=f"numbers_{i}")
    st.markdown(
        _(
            "**How columns relate to each other:** the share of rows in the wrong place. A second real sample "
            "would be as far off by chance, and independent columns as far off as the relation is strong."
        )
    )
    st.table(_means(result), hide_index=True)
    kinds = list(result.pairs)
    if kinds:
        about = st.selectbox(
            _("Pairs of columns, the farthest first"),
            kinds,
            key="across_about",
            help=_("Each pair beside a second real sample and beside independent columns."),
        )
        st.table(_pairs(result.pairs[about]), hide_index=True)
    if result.quality is not None:
        _scored(result.quality)


def _scored(quality: Any) -> None:
    """SDMetrics' scores of related tables, by table and by relation."""
    st.markdown(
        _("**SDMetrics' report of related tables**, 100 % is best: {score:.1f} % in all.").format(
            score=100 * quality.score
        )
    )
    relations = {_("{child} of {parent}").format(child=c, parent=p): s for (c, p), s in quality.relations.items()}
    lines = [
        (frame.escape(name), *(r"\-" if s is None else f"{100 * s:.1f} %" for s in both))
        for name, both in {**quality.tables, **relations}.items()
    ]
    heads = (_("Table, or relation"), _("Shapes, or numbers of rows"), _("Pairs within, or across"))
    st.table(pd.DataFrame(lines, columns=list(heads)), hide_index=True)


def _numbers(one: Any) -> alt.Chart:
    """How many rows of the child a parent has, in both tables."""
    bars = [
        {"rows": str(i), "share": float(share), "table": table}
        for table, shares in ((charts.REAL, one.real), (charts.SYNTHETIC, one.synthetic))
        for i, share in enumerate(shares)
    ]
    said = _(
        "Share of rows of {parent} by their number of rows of {child}, in the real and the synthetic tables. "
        "{distance:.1f} % differ. {mark}."
    ).format(parent=one.parent, child=one.child, distance=100 * one.distance, mark=charts.MARK)
    title = alt.TitleParams(
        text=_("Rows of {child}").format(child=one.child),
        subtitle=_(charts.MARK),
        anchor="start",
        subtitleColor="#c4601e",
    )
    return (
        alt.Chart(pd.DataFrame(bars), title=title)
        .mark_bar()
        .encode(
            x=alt.X(
                "rows:N",
                sort=None,
                title=_("of one row of {parent}").format(parent=one.parent),
                axis=alt.Axis(labelAngle=0),
            ),
            xOffset=alt.XOffset("table:N", sort=[charts.REAL, charts.SYNTHETIC]),
            y=alt.Y("share:Q", title=_("share"), axis=alt.Axis(format="%")),
            color=alt.Color("table:N", scale=charts.COLOURS, legend=charts.LEGEND),
            tooltip=["rows:N", "table:N", alt.Tooltip("share:Q", format=".2%")],
        )
        .properties(height=charts.HEAD + 130, description=said)
    )


def _means(result: Any) -> pd.DataFrame:
    return _listed((about, result.mean(about)) for about in result.pairs)


def _pairs(pairs: list[Any]) -> pd.DataFrame:
    worst = sorted(pairs, key=lambda p: -p.distance)[:PAIRS_SHOWN]
    return _listed(
        (_("{first} and {second}").format(first=p.first, second=p.second), (p.distance, p.by_chance, p.independent))
        for p in worst
    )


def _listed(lines: Iterable[tuple[str, tuple[float, float, float]]]) -> pd.DataFrame:
    """A line each: what it is about, and its three distances."""
    reported = [(frame.escape(about), *(f"{100 * d:.1f} %" for d in distances)) for about, distances in lines]
    return pd.DataFrame(
        reported, columns=[_("About"), _("This release"), _("A second real sample"), _("Independent columns")]
    )


def _one_table(job: jobs.Job, release: Path) -> None:
    """One table as if it stood alone: the comparison of single tables, all rows of the real file."""
    st.subheader(_("One table at a time"), anchor=False)
    names = list(app_api.load_related(release / "schema.json").tables)
    name = st.selectbox(
        _("Table"), names, key="across_table", help=_("All rows of the real file, as for one table alone.")
    )
    made = st.session_state.setdefault("across_alone", {})
    if (str(job.path), name) not in made:
        if not st.button(_("Compare {name}").format(name=name), key="compare_table", icon=":material/compare:"):
            return
        with st.spinner(_("Comparing {name}").format(name=name)):
            made[str(job.path), name] = _ask(job, release, tasks.compared_alone, name)
        st.rerun()
    result, said = made[str(job.path), name]
    verdict(said)
    parts(result, said)
