"""What stands between a result and the world: how it was chosen, who approves, and the bundle itself."""

import io
import json
import threading
import zipfile
from concurrent.futures import Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

import synth
from app.result import papers, releasing
from app.run import runs
from app.session import access, frame, words, workers
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import _, as_now, as_said, current, ngettext, numerals, prose

PATIENCE = 600.0  # seconds that counting and packing may take
TALL = 700  # height of a page that is shown inside one, pixels


def standing(release: Path) -> None:
    """What somebody confirmed and stands in the result word for word: bounds and values; from the release alone."""
    if bounds := app_api.standing_bounds(release):
        said = _(
            "**Bounds in the description, because somebody confirmed that they are public:** {listed}. A bound that "
            "is no round number may be one person's value."
        )
        listed = "; ".join(frame.escape(f"{name} {bound}") for name, bound in bounds.items())
        st.info(said.format(listed=listed), icon=":material/straighten:")
    there = standing_begun(release).result()
    if not there:
        st.caption(_("This result contains no list of values that somebody confirmed as public."))
        return
    said = _(
        "**Word for word, because somebody confirmed that they are public:** {sum:,} values are in this result "
        "({listed}). Is each of them public knowledge?"
    )
    ordered = sorted(there.items(), key=lambda pair: -pair[1])
    listed = ", ".join(f"{frame.escape(name)} {numerals(f'{many:,}')}" for name, many in ordered)
    st.info(said.format(sum=sum(there.values()), listed=listed), icon=":material/visibility:")


def standing_rare(few: dict[str, int] | None, release: Path) -> None:
    """How many of them fewer than 10 real rows have; an exact count, for the steward alone."""
    if few is None:
        return
    there, of = standing_begun(release).result(), _("{n} {k} of {get}")
    named = ", ".join(of.format(n=frame.escape(n), k=k, get=there.get(n, k)) for n, k in few.items() if k) or _("none")
    said = _("**Values that somebody confirmed as public and that occur in fewer than 10 real rows:** {named}.")
    st.markdown(said.format(named=named))


def standing_begun(release: Path) -> Future[dict[str, int]]:
    """How many such values there are, by column, counted beside the page. It depends on the release alone."""
    return workers.of_release(release, "app_api.standing", seconds=PATIENCE)


_ALL, _LOCKS = threading.Lock(), dict[str, threading.Lock]()
PDF = "release.pdf"
FIXED = ("before", "all", "private")  # ways of choosing to which later charges add nothing


def may_leave(job: jobs.Job) -> bool:
    """Says what stands in the way of a download, with the way out; returns whether nothing does."""
    if reason := releasing.barrier(job):
        st.subheader(_("How was this run chosen?"), anchor=False)
        st.error(f"{frame.escape(frame.sentence(reason))}.", icon=":material/block:")
        said = _(
            "Scores against the real rows are exact, so choosing the best of several results by them reveals "
            "something about those rows that epsilon does not cover. Settle this before any download."
        )
        st.markdown(said)
        if looks.choice(job) is None:
            releasing.ask_choice([job], "", looks.CHOICES)
        _all(job)
        releasing.deciding(job, looks.rivals(job))
        return False
    if access.me().alone or looks.released(job) is not None:
        return True
    st.subheader(_("A reviewer releases it"), anchor=False)
    _ask_reviewer([job])
    return False


def _ask_reviewer(own: list[jobs.Job]) -> None:
    """Of the visitor's own runs, which leave together: their release is asked of a reviewer, or was."""
    if all(releasing.asked(one) is not None or looks.released(one) is not None for one in own):
        st.info(_("A reviewer has been asked to release it."), icon=":material/hourglass_top:")
    elif st.button(
        ngettext("Ask a reviewer to release it", "Ask a reviewer to release all {n} runs", len(own)),
        key="ask_release",
        type="primary",
        icon=":material/send:",
        help=_("It can be downloaded once a reviewer has released it; what leaves together only, once all is."),
    ):
        for one in own:
            releasing.ask(one)
        st.rerun()


def _all(job: jobs.Job) -> None:
    """All runs that a choice by scores was among: released together, or asked of a reviewer, each by its owner."""
    own, others = releasing.mine(job), len(releasing.together(job)) - len(releasing.mine(job))
    st.markdown(_("Or release all of them together: ") + frame.escape("; ".join(runs.named(j) for j in own)))
    if others:
        said = _("Compared too: {runs} of other stewards on this dataset. Whoever made them asks for their release.")
        st.caption(said.format(runs=words.runs(others)))
    label, about = _("Release all {number} runs"), _("Marks each of them as released; one zip then holds them all.")
    if not access.me().alone:
        _ask_reviewer(own)
    elif st.button(label.format(number=len(own)), key="release_all", icon=":material/library_add_check:", help=about):
        releasing.release_all(job)
        st.rerun()


def begun(job: jobs.Job) -> list[Future[Path]]:
    """The bundle, packed beside the pages once the run is done; nothing while it may not leave."""
    if releasing.barrier(job):
        return []
    place, how = runs.release(job), looks.how(job)
    key = ("bundle", str(job.path), how, current(), _newest(job, place, how))
    return [workers.once(key, as_now(lambda: _pack(job, place)))]


def bundle(job: jobs.Job, place: Path, action: str = "take_result") -> Path:
    """The zip file of everything that may be released, checked and packed once for each way of choosing.

    Errors: UsageError for somebody who may not have it, InputError for a release that is damaged.
    """
    releasing.allow(action, job)
    return _pack(job, place)


def _pack(job: jobs.Job, place: Path, *, as_pdf: bool = False) -> Path:
    """The zip: one of its own with a PDF, and for each language; packed by one at a time for each run.

    Its card counts what the choice rests on: that is looked up anew after each charge.
    """
    with _ALL:
        lock = _LOCKS.setdefault(str(job.path), threading.Lock())
    with lock:
        how, language = looks.how(job), current()
        out = job.path / f"bundle-{how or 'unstated'}{'-pdf' * as_pdf}{'' if language == 'en' else f'-{language}'}.zip"
        if not out.exists() or out.stat().st_mtime < _newest(job, place, how):
            facts, unfinished = papers.answers(job), papers.read(job)[1]
            asked: dict[str, Any] = {"facts": facts, "unfinished": unfinished, "as_pdf": as_pdf, "language": language}
            workers.ask("bundle", str(place), str(out), seconds=PATIENCE, **_said(job, how), **asked)
        return out


def _newest(job: jobs.Job, place: Path, how: str | None) -> float:
    """When anything last changed that a bundle is made of."""
    newest = max(papers.changed(job), *(p.stat().st_mtime for p in place.iterdir()))
    return newest if how in FIXED or looks.signed(job) else max(newest, synth.Ledger().changed())


def _said(job: jobs.Job, how: str | None) -> dict[str, Any]:
    """How the run was chosen, as packing takes it; where nothing was said it works out what is counted."""
    if how in (None, "only"):
        return {}
    among = looks.rivals(job) if how == "all" else []
    if how == "private":
        named = (looks.choice(job) or {}).get("among", ())
        among = [jobs.Job(job.path.parent / n) for n in named if n != job.path.name]
    paid = {"paid": str(releasing.counts(job, among))} if how == "private" else {}
    return {"how": str(how), "candidates": [str(runs.release(one)) for one in among], **paid}


def claimed(job: jobs.Job, place: Path) -> dict[str, Any]:
    """The card as it would leave, with what the choice costs; the run's own while it may not leave."""
    if releasing.barrier(job):
        return own(place)
    with zipfile.ZipFile(_pack(job, place)) as archive:
        return as_said(json.loads(archive.read("card.json")))


def own(place: Path) -> dict[str, Any]:
    """The card of the run alone."""
    return as_said(json.loads((place / "card.json").read_text(encoding="utf-8")))


def counted(job: jobs.Job, about: dict[str, Any]) -> None:
    """Says what the card counts beside the run itself; asks how it was chosen where nobody said so."""
    reported = about.get("selection", {})
    others = reported.get("charges") or []
    if not others:
        return
    said = _("The run itself has epsilon {alone:g}; the card counts {more} of the ledger ({lines})").format(
        alone=reported["of_which_this_run"]["epsilon"],
        more=_("one more line") if len(others) == 1 else _("{number} more lines").format(number=len(others)),
        lines=", ".join(str(c["number"]) for c in others),
    )
    if reported["how"] != "unstated" or looks.signed(job):
        st.info(f"{said}: {frame.escape(prose(reported['in_words']))}.", icon=":material/functions:")
        return
    its = _("its result") if len(others) == 1 else _("their results")
    asked = _("{said}, since this run may have been chosen by {its}. If it was not, say so.")
    with st.container(border=True):
        st.info(asked.format(said=said, its=its), icon=":material/functions:")
        releasing.ask_choice([job], "_counted", ("before", "releases"))


def all_packed(job: jobs.Job) -> bytes:
    """One zip with the bundle of each run that was released together with this one. Errors: as ``bundle``."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i, one in enumerate(released_together(job), 1):
            place, request = runs.release(one), one.request()
            with zipfile.ZipFile(bundle(one, place)) as inner:
                for name in inner.namelist():
                    archive.writestr(f"{i}-{request.get('method')}/{name}", inner.read(name), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def released_together(job: jobs.Job) -> list[jobs.Job]:
    """The visitor's own runs that were released with this one, itself first; itself alone where it was alone."""
    others = [one for one in looks.rivals(job) if access.mine(one)] if looks.how(job) == "all" else []
    return [job, *others]


def packed(job: jobs.Job, place: Path, action: str = "take_result") -> bytes:
    """The bundle's bytes, asked for when somebody downloads them. Errors: as ``bundle``."""
    return bundle(job, place, action).read_bytes()


def pdf(job: jobs.Job, place: Path) -> bytes:
    """Card, report and papers as one PDF, made when somebody asks for it. Errors: as ``bundle``."""
    releasing.allow("take_result", job)
    with zipfile.ZipFile(_pack(job, place, as_pdf=True)) as archive:
        return archive.read(PDF)


def names(job: jobs.Job, place: Path) -> list[str]:
    """The files of the bundle. Errors: as ``bundle``."""
    with zipfile.ZipFile(bundle(job, place)) as archive:
        return archive.namelist()


def part(job: jobs.Job, place: Path, name: str) -> bytes:
    """One file of the bundle. Errors: as ``bundle``."""
    with zipfile.ZipFile(bundle(job, place)) as archive:
        return archive.read(name)


def converted(job: jobs.Job, place: Path, name: str, mark: bool) -> bytes:
    """The released rows as a file of another program's, by its name; ``mark``: with the column that says what they are.

    Errors: as ``bundle``; UsageError for what such a file has no room for.
    """
    bundle(job, place)
    with TemporaryDirectory() as folder:
        out = Path(folder) / name
        asked: dict[str, Any] = {"released": True, "mark": mark}
        workers.ask("app_api.sample_to", str(place), str(out), seconds=PATIENCE, **asked)
        return out.read_bytes()


def shown(job: jobs.Job) -> None:
    """What a reviewer decides on: the card, without any figure about the real rows."""
    place = runs.release(job)
    card = claimed(job, place)
    with st.expander(_("The card")):
        st.iframe(str(app_api.card_html(card)), height=TALL, alt=_("The card"))
        standing(place)
    with st.expander(_("The whole card, as its file holds it")):
        st.json(card)
    with st.expander(_("The answers in its papers")):
        st.json(papers.read(job)[0])
    if (said := looks.choice(job)) is not None:
        st.caption(_("How it was chosen: {in_words}.").format(in_words=frame.escape(prose(said["in_words"]))))
