"""Public data beside a table: public files and earlier releases, what they cover, and what they are worth."""

import json
import shutil
import zipfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

import synth
from app.session import access, charts, frame, tasks, workers
from app.session.state import Wizard, checked, dataset, facts_of, together, view, wizard
from app.table import intake, stored
from synth.app_api import jobs
from synth.languages import Texts, _, ngettext, prose

PATIENCE = 600.0  # seconds that a rehearsal or preview may take
LARGEST = 4 << 30  # bytes of an earlier release's files, unpacked
CARD = "card.json"
STOPS = (0.1, 0.3, 1.0, 3.0, 10.0)  # epsilons at which the worth of priors is rehearsed; between them it is read off
PREVIEW = "preview"  # folder of the preview, beside the note of the table


def asked(w: Wizard) -> dict[str, Any]:
    """The options of a request about priors, with why each is public and who confirms it, as it stands on the card;
    nothing without any. Errors: UsageError for another's."""
    if together(w) or not w.priors:
        return {}
    for one in w.priors:
        if not _open_to_visitor(w, Path(one["path"])):
            raise synth.UsageError(_("{name}: it is somebody else's, or gone; take it out").format(name=one["name"]))
    reasons = tuple(f"{k['why']}; confirmed by {k['who']}" if k["who"] else k["why"] for k in w.priors)
    return {"prior": tuple(one["path"] for one in w.priors), "prior_reason": reasons}


def barred(w: Wizard) -> str:
    """Why the chosen method cannot take the priors, empty where it can."""
    if not w.priors or together(w) or w.method == "mixture":
        return ""
    said = _("{method} takes no public data. Choose mixture under Experts, or take it out on the page The table.")
    return said.format(method=w.method)


def add_file(w: Wizard, upload: Any, *, why: str = "", who: str = "") -> None:
    """An uploaded public table, or a release as zip. Errors: UsageError, InputError; then nothing is kept."""
    try:
        access.allow("add_prior")
        place = _room(w, upload.name)
        try:
            retained = stored.keep(upload, upload.name, place)
            if retained.suffix == ".zip":
                _unpacked(retained, place)
                retained, why, who = place, "", ""
            _take(w, retained, upload.name, why=why, who=who)
        except synth.SynthError:
            shutil.rmtree(place, ignore_errors=True)
            raise
    finally:
        intake.forget(upload)


def add_run(w: Wizard, path: str) -> None:
    """A release that was made here, of one's own. Errors: UsageError, InputError."""
    access.allow("add_prior")
    job = access.job("watch", path)
    _take(w, release_place(job), release_named(job))


def add_place(w: Wizard, path: str, *, why: str, who: str) -> None:
    """A file or a release's folder on this computer, which stays where it is. Errors: UsageError."""
    access.allow("add_prior")
    chosen = Path(path).expanduser().absolute()
    if chosen not in stored.mounted():
        access.allow("read_path")
    if not chosen.exists():
        raise synth.InputError(_("{name}: no such file on this computer; check the path").format(name=chosen.name))
    said = {} if (chosen / CARD).is_file() else {"why": why, "who": who}
    _take(w, chosen, chosen.name, **said)


def drop(w: Wizard, at: int) -> None:
    """Takes one out; an uploaded copy is removed."""
    access.allow("add_prior")
    gone = Path(w.priors[at]["path"])
    w.priors = [one for i, one in enumerate(w.priors) if i != at]
    room = gone if gone.is_dir() else gone.parent
    if w.place is not None and room.parent == w.place / "priors":
        shutil.rmtree(room, ignore_errors=True)


def own_releases(w: Wizard) -> list[jobs.Job]:
    """Releases of one table that the visitor made here, those of the same dataset first, the newest before others."""

    def there(job: jobs.Job) -> bool:
        made = job.status().state == "done" and jobs.looks.makes_rows(job) and access.mine(job)
        return made and not isinstance(job.result().get("num_rows"), dict) and release_place(job).is_dir()

    return sorted(jobs.those(there), key=lambda job: job.request().get("dataset") != dataset(w))


def release_named(job: jobs.Job) -> str:
    """A release made here, as one knows it."""
    card = json.loads((release_place(job) / CARD).read_text(encoding="utf-8"))
    return _("release of {dataset}, {day}, epsilon {epsilon:g}").format(
        dataset=card.get("dataset") or "?", day=str(card["created"])[:10], epsilon=card["epsilon"]
    )


def looked(w: Wizard) -> Future[Any] | None:
    """What each prior covers and lacks, under way or known; None while the description is not complete."""
    result, _problem = facts_of(w)
    if result is None or not w.priors or together(w):
        return None
    about, text = asked(w), result.to_json()
    paths, why = list(about["prior"]), list(about["prior_reason"])
    key = ("prior_look", access.me().name, text, *paths, *why)
    return workers.once(key, lambda: workers.ask(tasks.prior_look, text, paths, seconds=PATIENCE, prior_reason=why))


def worth_of(w: Wizard) -> Future[Any] | None:
    """What the priors are worth around the chosen epsilon, under way or known; None where there is nothing to say."""
    result, _problem = facts_of(w)
    if result is None or not w.priors or together(w) or not w.rows or barred(w):
        return None
    below, above = [s for s in STOPS if s <= w.epsilon], [s for s in STOPS if s >= w.epsilon]
    stops = sorted({below[-1] if below else above[0], above[0] if above else below[-1]})
    about = asked(w) | {"rows": w.rows, "delta": w.delta, "relation": w.relation, "epsilons": stops}
    who = access.allow("forecast").name
    return workers.begun(who, tasks.prior_worth, result.to_json(), seconds=PATIENCE, pool=workers.BESIDE, **about)


def preview(w: Wizard) -> Future[Any]:
    """The whole way on public rows, begun or done: the comparison, and the folder. Errors: UsageError, InputError."""
    who, text = access.allow("preview").name, checked(w).to_json()
    assert w.place is not None
    out = w.place / PREVIEW
    chosen = {n: getattr(w, n) for n in ("rows", "epsilon", "delta", "relation", "method", "options")} | asked(w)

    def make() -> Any:
        shutil.rmtree(out, ignore_errors=True)
        late = _("the preview takes too long here; use `synth preview`")
        return workers.ask(tasks.previewed, text, str(out), seconds=PATIENCE, late=late, **chosen)

    return workers.once(("preview", who, text, json.dumps(chosen)), make)


def _take(w: Wizard, path: Path, name: str, *, why: str = "", who: str = "") -> None:
    if any(one["path"] == str(path) for one in w.priors):
        raise synth.UsageError(_("{name}: it is among them already").format(name=name))
    w.priors = [*w.priors, {"path": str(path), "name": name, "why": why.strip(), "who": who.strip()}]


def _room(w: Wizard, name: str) -> Path:
    """A folder of its own for one upload, beside the note of the table."""
    if w.place is None:
        raise synth.UsageError(_("choose a table first"))
    number = 1 + max([int(p.name) for p in (w.place / "priors").glob("[0-9]*")], default=0)
    place = w.place / "priors" / str(number)
    with stored.room(name, place):
        place.mkdir(mode=0o700, parents=True)
    return place


def _unpacked(archive: Path, place: Path) -> None:
    """The files of a release's zip, by name alone. Errors: InputError for anything else."""
    try:
        with zipfile.ZipFile(archive) as held:
            parts = [i for i in held.infolist() if "/" not in i.filename and "\\" not in i.filename]
            if CARD not in {i.filename for i in parts} or sum(i.file_size for i in parts) > LARGEST:
                raise ValueError
            for part in parts:
                with held.open(part) as source, open(place / stored.safe_name(part.filename), "xb") as out:
                    shutil.copyfileobj(source, out, stored.CHUNK)
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        said = _("{name}: no release of this program; choose the zip that a release was handed over as")
        raise synth.InputError(said.format(name=archive.name)) from None
    archive.unlink()


def release_place(job: jobs.Job) -> Path:
    """The folder of a finished run's files."""
    return Path(str(job.result().get("paths", {}).get("card", ""))).parent


def _open_to_visitor(w: Wizard, path: Path) -> bool:
    """Whether the visitor may still read it: his upload, his run, what is offered to him; of the only user all."""
    who = access.me()
    if who.alone or path in stored.mounted():
        return True
    if w.place is not None and w.place / "priors" in path.parents:
        return stored.owner(w.place) == who.name
    try:
        return access.mine(jobs.Job(path.parent)) and release_place(jobs.Job(path.parent)) == path
    except synth.SynthError:
        return False


KINDS = Texts({"file": "A file of mine", "run": "A release made here", "place": "A file or folder on this computer"})
SHOWN = 12  # names of columns in a line


def section() -> None:
    """What is named so far, each with what it covers and the way to take it out; of a table that stands alone."""
    w, boxes = wizard(), []
    if not w.priors or together(w) or w.place is None:
        return
    st.subheader(_("Is there something public like it?"), anchor="public")
    for i, one in enumerate(w.priors):
        with st.container(border=True):
            left, right = st.columns([5, 1], vertical_alignment="center")
            said = _("{why}; confirmed by {who}").format(**one) if one["who"] else _("an earlier release")
            left.markdown(f"**{frame.escape(one['name'])}**: {frame.escape(said)}")
            if right.button(_("Take out"), key=f"drop_prior_{i}", help=_("The run then does not use it.")):
                drop(w, i)
                st.rerun()
            boxes.append(st.container())
    if reason := barred(w):
        st.warning(frame.escape(reason), icon=":material/block:")
    said = _(
        "The guarantee holds given these tables: whoever confirms them says that they were not made from the private "
        "rows. Each stands on the card, with its hash. Where private rows are few, the release holds up to 4,096 "
        "rows of a public file."
    )
    st.caption(said)
    with frame.told():
        if (wanted := looked(w)) is None:
            st.caption(_("What they cover is shown once the description is complete."))
            return

        def show() -> None:
            for box, look in zip(boxes, wanted.result(), strict=True):
                with box:
                    _look(look)

        workers.then([wanted], st.container(), show, about=_("Looking at what they cover"))


def more() -> None:
    """A form for one more."""
    w = wizard()
    if not together(w) and w.place is not None:
        frame.fold(_("Name something public (optional)"), "known_open", lambda: _form(w))


def _look(look: Any) -> None:
    """What a run takes of one, and what it does not."""
    if look.refused:
        reason = frame.escape(prose(look.refused))
        st.error(_("A run would refuse it: {reason}").format(reason=reason), icon=":material/block:")
        return
    covered, whole = len(look.columns), len(look.columns) + len(look.lacking)
    said = {
        _("{rows:,} rows; **{covered} of {whole} columns**: {names}"): look.columns,
        _("Not in it: {names}"): look.lacking,
        _("Left out, for the description has no such column: {names}"): look.left_out,
    }
    about = {"rows": look.rows, "covered": covered, "whole": whole}
    st.markdown("  \n".join(line.format(names=_names(of), **about) for line, of in said.items() if of))
    notes = [
        _("Its column {theirs} may be {ours} under another name: rename it in the file to use it.").format(
            theirs=frame.escape(theirs), ours=frame.escape(ours)
        )
        for theirs, ours in look.alike.items()
    ]
    if lost := ", ".join(f"{frame.escape(n)}: {many:,}" for n, many in look.lost.items()):
        spelt = _(
            "Cells in another spelling than the description's, which tell nothing ({lost}). Write them as it does."
        )
        notes.append(spelt.format(lost=lost))
    for note in notes:
        st.warning(note, icon=":material/spellcheck:")


def _names(names: Any) -> str:
    more = len(names) - SHOWN
    reported = frame.escape(", ".join(names[:SHOWN]))
    return reported + ngettext(" and {n} more", " and {n} more", more) if more > 0 else reported


def _chosen(w: Wizard, kind: str, runs: list[Any], places: list[Any]) -> Any:
    """The release, the uploaded file, or the table or folder on this computer; nothing where none is chosen yet."""
    if kind == "run":
        named, about = (
            [release_named(one) for one in runs],
            _("Of the same dataset first. The ledger adds epsilons up."),
        )
        every = range(len(runs))
        return runs[st.selectbox(_("Which release"), every, key="prior_run", format_func=named.__getitem__, help=about)]
    if kind == "file":
        said = _("Its columns are read as this description says; others are left out. Rows may be few.")
        label = _("Public table (CSV, Excel, Parquet, SPSS, Stata or SAS), or a release (.zip)")
        return st.file_uploader(label, type=[*stored.KINDS, "zip"], key=f"prior_file_{w.uploads}", help=said)
    said = _("The full path of a public table, or of a release's folder, on this computer.")
    return frame.offered_or_typed(
        places, _("File"), _("Path"), "prior_place", show=lambda p: str(p.name), example="/data/older.csv", about=said
    )


def _form(w: Wizard) -> None:
    """Which, why it is public, and who confirms that."""
    if not w.priors:
        said = _(
            "Nothing is named, which is the safe answer. An older public file, a neighbour's table or the last "
            "release tells much of what noise hides, and costs no budget."
        )
        st.caption(said)
    runs, places = own_releases(w), stored.mounted()
    kind = st.radio(
        _("What is it?"),
        ["file", *(["run"] if runs else []), *(["place"] if places or access.me().alone else [])],
        key="prior_kind",
        format_func=KINDS.__getitem__,
        horizontal=True,
        help=_("A table with the same columns, or some of them, or an earlier release of this program."),
    )
    chosen = _chosen(w, kind, runs, places)
    why, who, released = "", "", kind == "run"
    if kind == "file" and chosen is not None and chosen.name.lower().endswith(".zip"):
        released = True
        st.caption(_("A release needs no reason: its own card says what it guarantees."))
    if not released:
        left, right = st.columns(2)
        why = left.text_input(
            _("Why is it public?"),
            key=f"prior_why_{w.edition}",
            placeholder=_("published by the office in 2024, with a link"),
            help=_("It goes onto the card, for everybody to read."),
        ).strip()
        said = _("A person or an office. Whoever confirms it says that it was not made from the private rows.")
        label = _("Who confirms that it is public?")
        who = right.text_input(label, value=access.me().name, key=f"prior_who_{w.edition}", help=said).strip()
    if st.button(
        _("Use it as public data"),
        key="add_prior",
        disabled=chosen is None or not (released or (why and who)),
        icon=":material/library_add:",
        help=_("Nothing is spent, and the private table is not read."),
    ):
        with frame.told():
            if kind == "run":
                add_run(w, str(chosen.path))
            elif kind == "file":
                add_file(w, chosen, why=why, who=who)
            else:
                add_place(w, str(chosen), why=why, who=who)
            w.edition += 1
            st.rerun()


def line(w: Wizard) -> str:
    """The names, for the page Privacy and accuracy; empty without any."""
    return "" if together(w) else ", ".join(frame.escape(one["name"]) for one in w.priors)


def worth() -> None:
    """The errors with and without, once they are worked out; and the way to a preview."""
    w = wizard()
    if together(w) or not w.priors:
        return
    st.subheader(_("What is publicly known already"), anchor=False)
    if reason := barred(w):
        st.warning(frame.escape(reason), icon=":material/block:")
        return
    if not w.rows:
        st.caption(_("State roughly how many rows there are to see what it is worth."))
        return
    said = _("The whole way, to the finished pages, on the public table in place of yours. Nothing is spent.")
    if st.button(_("Preview on public rows"), key="to_preview", icon=":material/preview:", help=said):
        st.switch_page(view("preview"))


def worth_later(place: Any) -> None:
    """What needs a rehearsal, at a place above: drawn last, since it takes seconds."""
    w = wizard()
    with place, frame.told():
        if (wanted := worth_of(w)) is not None:
            about = _("Rehearsing on the public table what it is worth")
            workers.then([wanted], place, lambda: _shown(w, wanted.result()), about=about)


def _shown(w: Wizard, result: Any) -> None:
    if not result:
        st.info(_("The rehearsal takes too long here. The run can be made all the same."))
        return
    errors = {n: between(result, n, w.epsilon) for n in ("without", "beside", "alone")}
    what = _("tables of two columns") if result[0].without.pairs is not None else _("single columns")
    said = _(
        "For {what}, about **{beside:.2g} %** of the rows would have to change, not **{without:.2g} %**, if your "
        "table is like {like}. The public table alone: {alone:.2g} %."
    ).format(what=what, like=frame.escape(result[0].like), **{n: 100 * e for n, e in errors.items()})
    st.markdown(said)
    labels, axis = [_("without it"), _("with it"), _("public table alone")], _("rows that would have to change")
    chart = charts.bars(labels, {"": list(errors.values())}, axis=axis, colours=[charts.GREEN])
    charts.draw(st, chart.properties(description=said.replace("**", "")), key="prior_worth")
    said = _(
        "Rehearsed on rows drawn from it, with and without it; your table is not read. If yours is not like it, "
        "noisy answers show that, and it counts for less, down to nothing."
    )
    st.caption(said)


def between(result: Any, name: str, epsilon: float) -> float:
    """The error at an epsilon between those that were rehearsed, on logarithmic scales; beyond them, the nearest's."""
    errors = [max(getattr(f, name).last, 1e-9) for f in result]
    return float(np.exp(np.interp(np.log(epsilon), np.log([f.epsilon for f in result]), np.log(errors))))
