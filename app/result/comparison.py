"""The steward's part of the result, with the full report: all of it uses real rows and stands under its banner."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

import synth
from app.result import export, releasing
from app.run import runs
from app.session import access, charts, frame, tasks, workers
from app.session.state import TABLES, wizard
from app.table import database, intake, stored
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import Texts, _, current, numerals, prose

SIGNS = {
    "good for": (":green[", "check_circle"),
    "usable with care for": (":orange[", "error"),
    "not for": (":red[", "cancel"),
}
NARROW = "\u00a0"  # a space at which no line is broken


def part_names() -> list[str]:
    """The parts of the comparison, as their tabs are called."""
    return [_("Scores"), _("Columns"), _("Pairs"), _("Associations"), _("Three columns"), _("Groups of people")]


def verdict(result: Any, key: str = "why") -> None:
    """The verdict, the figures that it rests on, and the worst places. ``result``: a ``Verdict``."""
    uses(result)
    figures(result, key)
    if result.reconciled:
        st.caption(frame.escape(prose(result.reconciled)))
    st.markdown(_("**Farthest from the real table** (share of rows that would have to change; a click shows where)"))
    titles = {"column": _("Columns"), "pair": _("Pairs"), "triple": _("Three columns"), "group": _("Groups")}
    for kind, title in titles.items():
        if not (places := result.worst.get(kind)):
            continue
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.caption(title, width=96)
            # keys by rank: names could be alike
            for rank, place in enumerate(sorted(places, key=lambda p: -p.distance)):
                named = frame.escape((": " if kind == "group" else " × ").join(place.names))
                label = f"{named} **{numerals(f'{100 * place.distance:.1f}')}{NARROW}%**"
                st.button(label, on_click=show, args=(kind, *place.names), key=f"worst_{kind}_{rank}")


def uses(result: Any) -> None:
    """What for, in words. ``result``: a ``Verdict``."""
    if result.unsure:
        st.warning(frame.escape(frame.sentence(result.unsure)), icon=":material/warning:")
    for level, (colour, icon) in SIGNS.items():
        if served := result.at(level):
            titles = "; ".join(map(frame.escape, result.in_short(level)))
            st.markdown(f"{colour}:material/{icon}:] **{served[0].heading}** {titles}.")


def figures(result: Any, key: str) -> None:
    """Why, in the panel ``key``: the figures beside a second sample's."""
    frame.fold(_("Why, and what would help"), key, lambda: _figures(result))


def _figures(result: Any) -> None:
    """A table of Markdown."""
    head = (_("what for, and why"), _("this table"), _("another sample of real rows"))
    lines = [f"| {' | '.join(head)} |", "|:---|---:|---:|"]
    for use in result.uses:
        colour, icon = SIGNS[use.level]
        why = frame.escape(use.reason).replace("|", " ")
        about, measure = frame.escape(use.title), frame.escape(prose(use.measure))
        figures = " | ".join(v.replace(" ", NARROW) for v in use.shown)
        lines.append(f"| {colour}:material/{icon}:] {about}: {why} :small[({measure})] | {figures} |")
    st.markdown("\n".join(lines))


FIELDS = {
    "column": (1, ("compare_column",)),
    "pair": (2, ("pair_first", "pair_second")),
    "triple": (4, ("three_first", "three_second", "three_third")),
    "group": (5, ("group_column", "group_value")),
}  # of each kind of place the part that shows it, and the fields that name it there


def show(kind: str, *names: str) -> None:
    """Opens a place of the comparison: a column, a pair, two columns among the rows of a group of a third, a group."""
    part, fields = FIELDS[kind]
    st.session_state["compared_part"] = part_names()[part]
    st.session_state.update(zip(fields, names, strict=True))
    if kind == "triple":
        st.session_state.pop("three_group", None)


def _picked(key: str) -> None:
    """A click on a cell of a map shows the pair."""
    cells = st.session_state[key]["selection"].get(charts.CELL) or []
    if cells and cells[0]["row"] != cells[0]["column"]:
        show("pair", cells[0]["row"], cells[0]["column"])


def _pickable(chart: Any, key: str) -> None:
    charts.draw(st, charts.pickable(chart), key=key, on_select=partial(_picked, key), selection_mode=charts.CELL)


BREAKS = "_\u200b"  # a long name is broken after an underscore, and not within a word
FIRST = 10  # small charts in sight at once
MOST = 31  # groups of a column that divides people
NUMBERS = Texts(empty="empty", mean="mean", spread="spread")
ONE = "There are too few columns for this."
PLACES = Texts(
    first=("First column", "Down the side."),
    second=("Second column", "Along the bottom."),
    third=("Third column", "Whose groups cut slices."),
)


def grid(ordered: list[Any], key: str, *, shows: bool = False) -> None:
    """Small charts; ``shows``: a click on a name shows the column."""
    label = _("All {number} columns")
    every = len(ordered) <= FIRST or st.toggle(label.format(number=len(ordered)), key=f"{key}_every")
    st.caption(_(charts.SMALL_LEGEND))
    with st.container(horizontal=True, key=f"{key}_charts"):
        for i, one in enumerate(ordered if every else ordered[:FIRST]):
            with st.container(width=144, gap=None):
                off = numerals(f"{100 * one.distance:.1f}")
                label = f"{frame.escape(one.column).replace('_', BREAKS)} **{off}{NARROW}%**"
                if shows:
                    st.button(label, key=f"{key}_{i}", on_click=show, args=("column", one.column), type="tertiary")
                else:
                    st.markdown(label)
                charts.draw(st, charts.small(one), key=f"{key}_chart_{i}")
    if not every:
        st.caption(_("The {first} that differ most, of {number}.").format(first=FIRST, number=len(ordered)))


def _columns(result: Any) -> None:
    """The columns of a comparison, and one of them in full."""
    worst, names = result.worst_first(), list(result.columns)
    frame.held("compare_column", worst[0].column, names)
    grid(worst, "small", shows=True)
    name = st.selectbox(_("Column"), names, key="compare_column", help=_("Shares of its values in both tables."))
    one = result.one_way[name]
    charts.draw(st, charts.one_way(one), key="one_way")
    if text := charts.rest(one):
        st.caption(frame.escape(text))
    if rows := app_api.column_lines(one.numbers):
        lines = [f"| {' | '.join(frame.escape(_cell(cell)) for cell in row)} |" for row in rows]
        st.markdown("\n".join([f"| | {_('real')} | {_('synthetic')} |", "|:---|---:|---:|", *lines]))
    said = _("{own:.1f} % of the rows would have to change to make the two equal (mean over all columns {mean:.1f} %).")
    notes = [said.format(own=100 * one.distance, mean=100 * result.one_way_mean)]
    if one.pooled:
        notes.append(_("The {number} commonest values are shown one by one.").format(number=len(one.chart().labels)))
    if one.kind != "bars":
        notes.append(_("The outermost bins take in the half percent of rows beyond them."))
    st.caption(" ".join(notes))


def _cell(cell: str) -> str:
    """A cell of a column's numbers: its name, a figure, or one of dates in days."""
    if cell.endswith(" days"):
        return _("{n} days").format(n=cell.removesuffix(" days"))
    return NUMBERS.get(cell) or prose(cell)


def pairs(result: Any) -> None:
    """The distance of all pairs, and one of them in full."""
    if len(result.columns) < 2:
        st.info(_("There is one column only, so there are no pairs."))
        return
    said = _(
        "Mean over all pairs: **{mean:.1f} %** of the rows would have to change. Another sample of real rows would "
        "show about {chance:.1f} % by chance alone."
    )
    st.markdown(said.format(mean=100 * result.pairs_mean, chance=100 * result.pairs_by_chance))
    _pickable(charts.pairs(result), "pairs")
    left_out = len(result.columns) - len(result.chart()[1])
    st.caption(
        _(
            "A click on a cell shows the pair below. Darker is worse; the diagonal shows each column alone. "
            "Numbers are cut into 12 groups of equal size."
        )
        + (_(" {left_out} columns that differ less are left out.").format(left_out=left_out) if left_out else "")
    )
    first, second = _chosen(result, "pair", result.worst_pair)
    if first == second:
        st.info(_("Choose two different columns."))
        return
    both = result.two_way(first, second)
    _tables(both, (first, second), "two_way")
    said = _("{distance:.1f} % of the rows would have to move to make the two equal.")
    st.caption(said.format(distance=100 * both.distance))


def _associations(result: Any) -> None:
    """How strongly each two columns go together, in either table, and the difference."""
    if len(result.columns) < 2:
        st.info(_(ONE))
        return
    shown = result.association_charts()
    said = _("How strongly each two columns go together, from 0 (not at all) to 1 (one determines the other).")
    st.markdown(said, help=_("Cramer's V of their joint table, at most 12 groups a column, corrected for chance."))
    for side, name in zip(st.columns(2), (charts.REAL, charts.SYNTHETIC), strict=True):
        title = _("{name} table").format(name=_(name))
        charts.draw(side, charts.association(shown[name], title), key=f"association_{name}")
    _pickable(charts.association(shown[charts.GAP], _(charts.GAP), signed=True), "association_gap")
    st.caption(_("Orange: stronger in the synthetic table; blue: weaker. A click on a cell shows the pair."))


def _three(result: Any) -> None:
    """Two columns among the rows that have one group of a third."""
    if len(result.columns) < 3:
        st.info(_(ONE))
        return
    first, second, third = _chosen(result, "three", list(result.columns)[:3])
    if len({first, second, third}) < 3:
        st.info(_("Choose three different columns."))
        return
    labels = list(result.groups[third].labels)
    commonest = str(labels[int(np.bincount(result.codes[0][third]).argmax())])  # in the real table
    frame.held("three_group", commonest, labels)
    said = _("A slice of the table.")
    value = st.selectbox(_("Only rows whose {third} is").format(third=third), labels, key="three_group", help=said)
    both = result.two_way(first, second, where=(third, value))
    if _has_rows(both):
        _tables(both, (first, second), "slice")
        said = _("{distance:.1f} % of this slice's rows would have to move: {n[0]:,} real and {n[1]:,} synthetic.")
        st.caption(said.format(distance=100 * both.distance, n=both.used))


def _has_rows(both: Any) -> bool:
    if not all(both.used):
        st.info(_("One of the tables has no such row ({n[0]:,} real, {n[1]:,} synthetic).").format(n=both.used))
    return all(both.used)


def _groups(result: Any, said: Any) -> None:
    """A column, one of its groups, and the other columns within it. ``said``: the verdict, None without one."""
    names = list(result.columns)
    if len(names) < 2:
        st.info(_("There is one column only, so there is nothing to see within its groups."))
        return
    worst = next(iter(said.worst.get("group", ())), None) if said is not None else None
    frame.held("group_column", worst.names[0] if worst else names[0], names)
    left, right = st.columns(2)
    name = left.selectbox(_("Groups by"), names, key="group_column", help=_("The column whose values divide people."))
    labels = list(result.groups[name].labels)
    frame.held("group_value", worst.names[1] if worst and worst.names[1] in labels else labels[0], labels)
    value = right.selectbox(_("Group"), labels, key="group_value", help=_("The other columns are shown for it alone."))
    inside = result.within(name, value)
    both = result.two_way(name, inside[0].column, where=(name, value))
    if _has_rows(both):
        st.markdown(
            _(
                "**{value}**, {n[0]:,} real and {n[1]:,} synthetic rows. Mean distance of the other columns within it: "
                "**{mean:.1f} %**; noise is the same for every group, so small groups lose most."
            ).format(
                value=frame.escape(f"{name}: {value}"),
                n=both.used,
                mean=100 * sum(o.distance for o in inside) / len(inside),
            )
        )
        grid(inside, "within")


def _chosen(result: Any, key: str, usual: Iterable[str]) -> list[str]:
    """A menu of columns for each place."""
    names, usual, out = list(result.columns), list(usual), []
    for side, place, default in zip(st.columns(len(usual)), PLACES, usual, strict=False):
        label, said = PLACES[place]
        out.append(side.selectbox(label, names, key=frame.held(f"{key}_{place}", default, names), help=said))
    return out


def _tables(both: Any, names: tuple[str, str], key: str) -> None:
    for side, table in zip(st.columns(2), (charts.REAL, charts.SYNTHETIC), strict=True):
        charts.draw(side, charts.two_way(both, names, table), key=f"{key}_{table}")
    *at, share = both.charts()[charts.GAP].strongest()
    said = _("Farthest apart at {at}: {share:+.1f} % of rows.")
    st.caption(said.format(at=frame.escape(", ".join(at)), share=100 * share))


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
    st.subheader(_("Compare with the real rows (for your eyes)"), anchor=False)
    with st.container(border=True):
        st.warning(_(BANNER), icon=":material/lock_person:")
        if not database.real_there(job):
            st.info(_("The real table is no longer stored here. The result above is complete without it."))
            return
        _outside(job)
        made = held(job)
        if made is None:
            st.caption(_(WHY))
            if undecided([job]):
                said = _(
                    "Another run on this dataset was compared already. Say first how you choose between them: "
                    "afterwards the figures have been seen, and the answer is no longer free."
                )
                st.markdown(said)
                releasing.ask_choice([job], "_before", looks.CHOICES)
                return
            said = _("Reads the real rows again, for your eyes; spends nothing.")
            if st.button(_("Show the comparison"), key="compare", icon=":material/compare:", help=said):
                with st.spinner(_("Comparing the tables")):
                    make([job])
                st.rerun()  # draws the page without the button
        elif runs.is_several(job):
            _across(made[0])
            _one_table(job, release)
        else:
            result, said, rare = made
            verdict(said)
            parts(result, said)
            export.standing_rare(rare, release)
        full_report(job, release)


def held(job: jobs.Job) -> Any:
    """The run's comparison where this session has made it, else None."""
    return st.session_state.get("comparisons", {}).get(str(job.path))


def undecided(wanted: Sequence[jobs.Job]) -> list[jobs.Job]:
    """The runs of which somebody has to say first how he chooses: figures of several of a dataset would be seen."""
    new = [one for one in wanted if not (looks.looked(one) or looks.choice(one) or looks.signed(one))]
    return [one for one in new if len(wanted) > 1 or looks.rivals(one)]


def make(wanted: Sequence[jobs.Job]) -> None:
    """Compares runs with the real rows, for this session alone. Errors: InputError; UsageError before any, where
    nobody has said how one chooses between them."""
    if undecided(wanted):
        raise synth.UsageError(
            _("say first how you choose between these runs; afterwards their figures have been seen")
        )
    for job in wanted:
        across, release = runs.is_several(job), runs.release(job)
        result = _ask(job, release, tasks.compared_across if across else tasks.compared)
        st.session_state.setdefault("comparisons", {})[str(job.path)] = (result,) if across else result


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
    parsed = jobs.read_json(job.path / "steward.json") or {}
    kinds = {"clamped": _("beyond smallest or largest"), "unreadable": _("not among the values")}
    parts = [f"{name}: {n:,} {said}" for kind, said in kinds.items() for name, n in parsed.get(kind, {}).items() if n]
    if parts:
        about = _(
            "Cells that do not fit the description: {parts}. They were moved to the nearest bound, to "
            "missing, or to a random value. If they are many, correct the description."
        )
        st.caption(about.format(parts=frame.escape("; ".join(parts))))


def parts(result: Any, said: Any = None) -> None:
    """The pictures and scores of a comparison. ``said``: its verdict, which knows the worst groups."""
    used = _(
        "Uses {r.real_rows_used:,} of {r.real_rows:,} real and {r.synthetic_rows_used:,} synthetic rows, drawn with a "
        "fixed seed where not all are used."
    )
    st.caption(used.format(r=result))
    _weighted(result)
    draws: Sequence[Any] = (_scores, _columns, pairs, _associations, _three, partial(_groups, said=said))
    shown = {name: partial(draw, result) for name, draw in zip(part_names(), draws, strict=True)}
    if not result.scorable:
        del shown[part_names()[0]]
    frame.tabs(shown, "compared_part")


def _weighted(result: Any) -> None:
    """How close the tables are to an analyst who weights rows, where the description names a weight."""
    if (reported := result.weighted) is not None:
        pairs = ""
        if reported.pairs is not None:
            pairs = _(", tables of two columns by {pairs:.1f} %").format(pairs=100 * reported.pairs)
        said = _(
            "Rows weighted by {by}: columns differ by {mean:.1f} % on average{pairs}; each row once, columns differ by "
            "{once:.1f} %. A real row weighs {w.means[0]:,.4g}, a synthetic one {w.means[1]:,.4g}. The charts below "
            "count each row once."
        )
        mean, once = 100 * reported.mean, 100 * float(result.pairs.trace()) / len(result.columns)
        st.caption(said.format(by=frame.escape(reported.by), mean=mean, pairs=pairs, once=once, w=reported))


def _scores(result: Any) -> None:
    quality = result.quality
    if quality is None:
        st.info(_("Not scored: {unscored}.").format(unscored=result.unscored))
        return
    st.markdown(_("Scores of SDMetrics' quality report, 100 % is best."))
    scores = (
        (_("Overall"), quality.score, _("The mean of the two others.")),
        (_("Columns"), quality.shapes, _("How alike each column is in both tables.")),
        (_("Pairs"), quality.pairs, _("How alike correlations and tables of two columns are.")),
    )
    with st.container(horizontal=True):
        for label, score, said in scores:
            st.metric(label, percent(score), border=True, width=155, help=said)
    said = _("On {n[0]:,} real and {n[1]:,} synthetic rows, drawn with a fixed seed.")
    st.caption(said.format(n=quality.rows["table"]))
    if quality.left_out:
        st.caption(_("Left out for their many categories: ") + frame.escape(", ".join(quality.left_out)))
    worst = sorted(quality.by_column.items(), key=lambda pair: pair[1])
    frame.table((_("Column"), _("Score")), [(n, percent(s)) for n, s in worst])


def percent(share: float | None) -> str:
    """A share of rows, or a score; a dash where there is none."""
    return "–" if share is None else numerals(f"{100 * share:.1f} %")


MOST_BINS = 12  # of numbers of rows in a chart
PAIRS_SHOWN = 8  # pairs that are listed of one kind, the farthest first


def _across(result: Any) -> None:
    """How tables go together."""
    uses(result.verdict)
    st.subheader(_("Across tables"), anchor=False)
    counts = [(t, numerals(f"{real:,}"), numerals(f"{synthetic:,}")) for t, (real, synthetic) in result.rows.items()]
    frame.table((_("Table"), _("Real rows"), _("Synthetic")), counts)
    st.caption(_("Real rows are those that a run keeps: with a parent, and no more of one parent than its key says."))
    boxes = st.columns(2) if len(result.numbers) > 1 else [st.container()]
    for i, one in enumerate(result.numbers):
        with boxes[i % 2]:
            names = {"child": frame.escape(one.child), "parent": frame.escape(one.parent)}
            shares = {"distance": 100 * one.distance, "by_chance": 100 * one.by_chance}
            said = _(
                "**Rows of {child} of one row of {parent}**: {distance:.1f} % of the parents have another number "
                "(another sample of real rows: {by_chance:.1f} %)"
            )
            st.markdown(said.format(**names, **shares))
            charts.draw(st, _numbers(one), key=f"numbers_{i}")
    said = _(
        "**How columns relate to each other:** the share of rows that would have to change. Beside it, what another "
        "sample of real rows would show by chance, and what columns that have nothing to do with each other would "
        "show."
    )
    st.markdown(said)
    heads = (_("About"), _("This release"), _("Another sample of real rows"), _("Independent columns"))
    frame.table(heads, [(prose(about), *map(percent, result.mean(about))) for about in result.pairs])
    if result.pairs:
        said = _(
            "Each pair beside another sample of real rows, and beside columns that have nothing to do with each other."
        )
        label = _("Pairs of columns, the farthest first")
        about = st.selectbox(label, list(result.pairs), key="across_about", format_func=prose, help=said)
        pair = _("{first} and {second}")
        worst = sorted(result.pairs[about], key=lambda p: -p.distance)[:PAIRS_SHOWN]
        figures = [map(percent, (p.distance, p.by_chance, p.independent)) for p in worst]
        named = [pair.format(first=prose(p.first), second=prose(p.second)) for p in worst]
        frame.table(heads, [(name, *of) for name, of in zip(named, figures, strict=True)])
    if (quality := result.quality) is not None:
        said = _("**SDMetrics' report of related tables**, 100 % is best: {score:.1f} % in all.")
        st.markdown(said.format(score=100 * quality.score))
        relations = {_("{child} of {parent}").format(child=c, parent=p): s for (c, p), s in quality.relations.items()}
        scored = (_("Table, or relation"), _("Shapes, or numbers of rows"), _("Pairs within, or across"))
        frame.table(scored, [(n, *map(percent, scores)) for n, scores in {**quality.tables, **relations}.items()])


def _numbers(one: Any) -> Any:
    """How many rows of the child a parent has, in both tables: many numbers in few bins of equal width."""
    names, bins = charts.both(), min(len(one.real), MOST_BINS)
    edges = [round(i * len(one.real) / bins) for i in range(bins + 1)]
    shares = {n: np.add.reduceat(of, edges[:-1]) for n, of in zip(names, (one.real, one.synthetic), strict=True)}
    counts = [str(low) if high - low == 1 else f"{low} – {high - 1}" for low, high in pairwise(edges)]
    axis = _("share of the rows of {parent}").format(parent=one.parent)
    return charts.bars(counts, shares, axis=axis, colours=list(names.values())).properties(
        title=charts.headed(_("Rows of {child}").format(child=one.child)),
        description=_(
            "Share of rows of {parent} by their number of rows of {child}, in the real and the synthetic tables. "
            "{distance:.1f} % differ. {mark}."
        ).format(parent=one.parent, child=one.child, distance=100 * one.distance, mark=charts.mark()),
    )


def _one_table(job: jobs.Job, release: Path) -> None:
    """One table as if it stood alone: the comparison of single tables, all rows of the real file."""
    st.subheader(_("One table at a time"), anchor=False)
    names = list(app_api.load_related(release / "schema.json").tables)
    said = _("All rows of the real file, as for one table alone.")
    name = st.selectbox(_("Table"), names, key="across_table", help=said)
    made = st.session_state.setdefault("across_alone", {})
    if (str(job.path), name) not in made:
        if not st.button(_("Compare {name}").format(name=name), key="compare_table", icon=":material/compare:"):
            return
        with st.spinner(_("Comparing {name}").format(name=name)):
            made[str(job.path), name] = _ask(job, release, tasks.compared_alone, name)
        st.rerun()
    result, said = made[str(job.path), name]
    verdict(said, "why_alone")
    parts(result, said)


PAGE = "steward-only.html"
HELD_OUT = "held-out-"  # how the file of held-out rows begins in the report's folder, until it is read
SHADOWS = 200  # runs with a row and as many without: a leak is certain by then


def full_report(job: jobs.Job, release: Path) -> None:
    """The full report: the finished page, how far one is, or the button that begins it."""
    page, latest = job.path / PAGE, _latest_report(job)
    status = jobs.Status() if latest is None else latest.status()
    if latest is not None and not status.final:
        said = _("Writes the full report. It spends nothing, and you may leave this page.")
        runs.follow(str(latest.path), about=said)
        return
    for left in latest.path.glob(f"{HELD_OUT}*") if latest is not None else ():
        left.unlink(missing_ok=True)  # of a report that was ended before it could read them
    if page.exists():
        access.offer(
            _("Download the full report (steward only)"),
            page.name if len(_pages(job)) == 1 else "steward-only.zip",
            "get_steward",
            _read_report,
            job,
            help=_("It is marked on every page and stays with you."),
        )
    else:
        if latest is not None and status.state == "failed":
            st.error(_("No report was written: {plain}.").format(plain=frame.escape(runs.why(latest))))
        if status.state == "cancelled":
            st.caption(_("The last one was cancelled; nothing was written or spent."))
        frame.fold(_("The full report"), "full_report", lambda: _ask_report(job, release))


def _ask_report(job: jobs.Job, release: Path) -> None:
    joined = runs.is_joined(job)  # such a report tries no shadow runs and takes no held-out rows
    about = _("Runs the method {n} times on made-up rows, with and without one of them: minutes, or longer.")
    label = _("With membership attacks by shadow runs")
    tried = not joined and st.checkbox(label, key="shadow_runs", help=about.format(n=2 * SHADOWS))
    held = None if joined else _held_out(job)
    said = _("Prediction, groups of people, copies, effects of chance; about a minute.")
    if st.button(_("Make the full report"), key="make_report", icon=":material/lab_profile:", help=said):
        try:
            start_report(job, release, shadow_runs=SHADOWS if tried else 0, test=held)
        finally:
            intake.forget(held)
        st.rerun()


def _held_out(job: jobs.Job) -> Any:
    """Real rows that the run did not see, where the steward has some."""
    said = _(
        "A file like the table, of other people. The three risks (singling out, linking, inferring) are then "
        "measured against them: what is as right about people who are not in the table tells nothing of those who "
        "are. The file is removed once the report has read it."
    )
    label = _("Real rows that the run did not see (optional)")
    return st.file_uploader(label, type=stored.KINDS, key=f"held_out_{wizard().uploads}_{job.path.name}", help=said)


def start_report(job: jobs.Job, release: Path, *, shadow_runs: int = 0, test: Any = None) -> jobs.Job:
    """Puts the full report on a run in line, and notes that somebody looked. ``test``: an upload of held-out rows.

    Errors: InputError, UsageError.
    """
    request = job.request()
    who = access.allow("compare", request.get("owner"))
    stored.allow_table("use_table", Path(str(request["table"])), request.get("source"))
    asked = app_api.ReportRequest(
        reports=job.path.name,
        release=str(release),
        table=str(request["table"] or TABLES),
        source=request.get("source"),
        out=str(job.path / PAGE),
        owner=who.name,
        shadow_runs=shadow_runs,
        language=current(),
        test="" if test is None else HELD_OUT + stored.safe_name(test.name),
    )
    report = jobs.create(asked.stored())
    if test is not None:
        try:
            stored.keep(test, asked.test, report.path)
        except synth.InputError:
            report.cancel()
            raise
    jobs.looks.look(job, by=who.name)
    return runs.queued(report)


def _latest_report(job: jobs.Job) -> jobs.Job | None:
    """The newest report that was asked for on this run."""
    return next(jobs.those(lambda one: one.request().get("reports") == job.path.name and access.mine(one)), None)


def _read_report(job: jobs.Job) -> bytes:
    access.allow("compare", job.request().get("owner"))
    if len(_pages(job)) == 1:
        return (job.path / PAGE).read_bytes()
    return access.zipped(_pages(job))


def _pages(job: jobs.Job) -> list[Path]:
    """The report's pages: of several tables one across them, and one for each."""
    return sorted(job.path.glob(f"{Path(PAGE).stem}*.html"))
