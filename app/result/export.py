"""What stands between a result and the world: how it was chosen, who approves, and the bundle itself."""

import contextlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import papers, releasing
from app.run import recent, runs
from app.session import access, frame, tasks, words, workers
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import _, as_now, current, ngettext, phrase

PATIENCE = 600.0  # seconds that counting and packing may take


def standing(release: Path) -> None:
    """How many such values there are, by column; follows from the release alone."""
    limits(release)
    there = standing_counted(release)
    if not there:
        st.caption(_("This result contains no list of values that somebody vouched for."))
        return
    message = ", ".join(f"{frame.escape(n)} {k:,}" for n, k in sorted(there.items(), key=lambda pair: -pair[1]))
    st.info(
        _(
            "**Word for word, because somebody vouched for them:** {sum:,} values are in this result ({reported}). "
            "Is each of them public knowledge?"
        ).format(sum=sum(there.values()), reported=message),
        icon=":material/visibility:",
    )


def limits(release: Path) -> None:
    """The bounds of numbers and dates in the description; from the release alone."""
    result = app_api.standing_bounds(release)
    if result:
        listed = "; ".join(f"{frame.escape(n)} {frame.escape(b)}" for n, b in result.items())
        st.info(
            _(
                "**Bounds in the description, because somebody vouched for them:** {listed}. A bound that is no "
                "round number may be one person's value."
            ).format(listed=listed),
            icon=":material/straighten:",
        )


def standing_rare(few: dict[str, int] | None, release: Path) -> None:
    """How many of them fewer than 10 real rows have; an exact count, for the steward alone."""
    if few is None:
        return
    there = standing_counted(release)
    named = ", ".join(
        _("{n} {k} of {get}").format(n=frame.escape(n), k=k, get=there.get(n, k)) for n, k in few.items() if k
    )
    st.markdown(
        _("**Values that somebody vouched for and that occur in fewer than 10 real rows:** {named}.").format(
            named=named or _("none")
        )
    )


def standing_counted(release: Path) -> dict[str, int]:
    """Vouched-for values in the result, by column; counted once for each state of the table."""
    return dict(standing_begun(release).result())


def standing_begun(release: Path) -> Future[dict[str, int]]:
    """The count of ``counted``, beside the page. It depends on the release alone."""
    card = release / "card.json"  # which names the tables' bytes
    key = ("standing", str(card), card.stat().st_mtime_ns)
    return workers.once(key, lambda: workers.ask(tasks.standing, str(release), seconds=PATIENCE))


_ALL, _LOCKS = threading.Lock(), dict[str, threading.Lock]()
PDF = "release.pdf"
FIXED = ("before", "all", "private")  # ways of choosing to which later charges add nothing


def may_leave(job: jobs.Job) -> bool:
    """Says what stands in the way of a download, with the way out; returns whether nothing does."""
    reason = releasing.barrier(job)
    if reason:
        _chosen(job, reason)
        return False
    who = access.me()
    if who.alone or looks.released(job) is not None:
        return True
    _ask(job)
    return False


def _chosen(job: jobs.Job, reason: str) -> None:
    st.subheader(_("How was this run chosen?"), anchor=False)
    st.error(f"{frame.escape(frame.sentence(reason))}.", icon=":material/block:")
    st.markdown(
        _(
            "Scores against the real rows are exact, so choosing the best of several results by them reveals "
            "something about those rows that epsilon does not cover. Settle this before any download."
        )
    )
    said = looks.choice(job)
    if said is None:
        how = st.radio(
            _("This run was chosen"),
            list(looks.CHOICES),
            key="how",
            index=None,
            format_func=lambda k: words.CHOSEN[k],
            help=_("Your answer is recorded with your name and goes into the bundle."),
        )
        if st.button(_("Record this answer"), key="choose", disabled=how is None) and how is not None:
            releasing.state_choice(job, how)
            st.rerun()
    _all(job)
    releasing.deciding(job, looks.rivals(job))


def _all(job: jobs.Job) -> None:
    """All runs that a choice by scores was among: released together, or asked of a reviewer, each by its owner."""
    own, others = releasing.mine(job), len(releasing.together(job)) - len(releasing.mine(job))
    st.markdown(_("Or release all of them together: ") + frame.escape("; ".join(recent.named(j) for j in own)))
    if others:
        st.caption(
            _(
                "Compared too: {runs} of other stewards on this dataset. Whoever made them asks for their release."
            ).format(runs=words.runs(others))
        )
    if access.me().alone:
        if st.button(
            _("Release all {number} runs").format(number=len(own)),
            key="release_all",
            icon=":material/library_add_check:",
            help=_("Marks each of them as released; one zip then holds them all."),
        ):
            releasing.release_all(job)
            st.rerun()
    elif all(releasing.asked(one) is not None or looks.released(one) is not None for one in own):
        st.info(_("A reviewer has been asked to release all of yours."), icon=":material/hourglass_top:")
    elif st.button(
        ngettext("Ask a reviewer to release {n} run", "Ask a reviewer to release all {n} runs", len(own)),
        key="ask_release_all",
        icon=":material/send:",
        help=_("None of them can be downloaded before a reviewer has released all."),
    ):
        releasing.ask_all(job)
        st.rerun()


def _ask(job: jobs.Job) -> None:
    """In a shared installation a reviewer lets a result out."""
    st.subheader(_("A reviewer releases it"), anchor=False)
    if releasing.asked(job) is not None:
        st.info(_("A reviewer has been asked to release this result."), icon=":material/hourglass_top:")
    elif st.button(
        _("Ask a reviewer to release it"),
        key="ask_release",
        type="primary",
        icon=":material/send:",
        help=_("Analysts can download it once a reviewer has approved."),
    ):
        releasing.ask(job)
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


def _pack(job: jobs.Job, place: Path) -> Path:
    """The zip file, whose card counts what the choice rests on: that is looked up anew after each charge."""
    with _packing(job):
        return _packed_once(job, place)


@contextlib.contextmanager
def _packing(job: jobs.Job) -> Iterator[None]:
    """One at a time for each run, in this server."""
    with _ALL:
        lock = _LOCKS.setdefault(str(job.path), threading.Lock())
    with lock:
        yield


def _packed_once(job: jobs.Job, place: Path, *, as_pdf: bool = False) -> Path:
    """The zip: one of its own with a PDF, and for each language."""
    how, language = looks.how(job), current()
    out = job.path / f"bundle-{how or 'unstated'}{'-pdf' * as_pdf}{'' if language == 'en' else f'-{language}'}.zip"
    if not out.exists() or out.stat().st_mtime < _newest(job, place, how):
        facts, unfinished = papers.answers(job), papers.read(job)[1]
        asked = {**_said(job, how), "facts": facts, "unfinished": unfinished, "as_pdf": as_pdf, "language": language}
        workers.ask(tasks.bundle, str(place), str(out), seconds=PATIENCE, **asked)
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
    if not releasing.barrier(job):
        with zipfile.ZipFile(_pack(job, place)) as archive:
            return dict(json.loads(archive.read("card.json")))
    return own(place)


def own(place: Path) -> dict[str, Any]:
    """The card of the run alone."""
    return dict(json.loads((place / "card.json").read_text(encoding="utf-8")))


def counted(job: jobs.Job, about: dict[str, Any]) -> None:
    """Says what the card counts beside the run itself; asks how it was chosen where nobody said so."""
    reported = about.get("selection", {})
    others = reported.get("charges") or []
    if not others:
        return
    lines = ", ".join(str(c["number"]) for c in others)
    more = _("one more line") if len(others) == 1 else _("{number} more lines").format(number=len(others))
    alone = reported["of_which_this_run"]["epsilon"]
    said = _("The run itself has epsilon {alone:g}; the card counts {more} of the ledger ({lines})").format(
        alone=alone, more=more, lines=lines
    )
    its = _("its result") if len(others) == 1 else _("their results")
    if reported["how"] != "unstated" or looks.signed(job):
        st.info(f"{said}: {frame.escape(phrase(reported['in_words']))}.", icon=":material/functions:")
        return
    with st.container(border=True):
        st.info(
            _("{said}, since this run may have been chosen by {its}. If it was not, say so.").format(
                said=said, its=its
            ),
            icon=":material/functions:",
        )
        how = st.radio(
            _("This run was chosen"),
            ["before", "releases"],
            key="counted_how",
            index=None,
            format_func=lambda k: words.CHOSEN[k],
            help=_("Your answer is recorded with your name and goes into the bundle."),
        )
        if st.button(_("Record this answer"), key="counted", disabled=how is None) and how is not None:
            releasing.state_choice(job, how)
            st.rerun()


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
    with _packing(job):
        zipped = _packed_once(job, place, as_pdf=True)
    with zipfile.ZipFile(zipped) as archive:
        return archive.read(PDF)


def names(job: jobs.Job, place: Path) -> list[str]:
    """The files of the bundle. Errors: as ``bundle``."""
    with zipfile.ZipFile(bundle(job, place)) as archive:
        return archive.namelist()


def part(job: jobs.Job, place: Path, name: str) -> bytes:
    """One file of the bundle. Errors: as ``bundle``."""
    with zipfile.ZipFile(bundle(job, place)) as archive:
        return archive.read(name)


def card(about: dict[str, Any]) -> None:
    """The card's main lines as a table, the whole of it behind a fold."""
    facts = {
        _("Made by"): f"{about['method']}, {about['created'][:10]}",
        _("Guarantee"): _("epsilon {epsilon:g}, delta {delta}: {meaning}").format(
            epsilon=about["epsilon"], delta=words.small(about["delta"]), meaning=phrase(about["meaning"])
        ),
        _("Relation"): phrase(str(about["relation_in_words"])),
        _("Mechanisms"): "; ".join(_mechanisms(about["mechanisms"])),
        _("Noise"): f"{about['noise_source']}; {about['floating_point']}",
        _("Accountant"): _("{name} (derived epsilon {epsilon_derived:.4g})").format(
            name=about["accountant"]["name"], epsilon_derived=about["epsilon_derived"]
        ),
        _("Rows"): _("{synthetic:,} synthetic; the real number is {source_count}").format(
            synthetic=about["rows"]["synthetic"], source_count=about["rows"]["source_count"]
        ),
    }
    st.table({"": list(facts), _("The card says"): [frame.escape(t) for t in facts.values()]}, hide_index=True)
    with st.popover(_("The whole card"), icon=":material/data_object:", help=_("As its file holds it.")):
        st.json(about)


def _mechanisms(reported: list[dict[str, Any]]) -> list[str]:
    """Each kind of mechanism once, with how often it was used and its scales of noise."""
    scales: dict[str, list[float]] = {}
    for m in reported:
        results = [m[k] for k in ("sigma", "scale", "rho", "epsilon") if isinstance(m.get(k), float)]
        scales.setdefault(str(m.get("mechanism", m.get("name", "mechanism"))), []).append(
            results[0] if results else 0.0
        )
    return [
        _("{name}, {number} times").format(name=name, number=len(of)) * (len(of) > 1)
        + name * (len(of) == 1)
        + (_(", scales {min:.4g} to {max:.4g}").format(min=min(of), max=max(of)) if max(of) > 0 else "")
        for name, of in scales.items()
    ]


def shown(job: jobs.Job) -> None:
    """What a reviewer decides on: the card, without any figure about the real rows."""
    with st.expander(_("The card")):
        card(claimed(job, runs.release(job)))
        standing(runs.release(job))
    with st.expander(_("The answers in its papers")):
        st.json(papers.read(job)[0])
    if (said := looks.choice(job)) is not None:
        st.caption(_("How it was chosen: {in_words}.").format(in_words=frame.escape(phrase(said["in_words"]))))
