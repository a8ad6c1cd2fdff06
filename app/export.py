"""What stands between a result and the world: how it was chosen, who approves, and the bundle itself."""

import json
import zipfile
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app import access, deciding, frame, recent, runs, words, work
from synth import jobs
from synth.jobs import selection

ASKED = "asked.json"
FIXED = ("before", "all", "private")  # ways of choosing to which later charges add nothing


def may_leave(job: jobs.Job) -> bool:
    """Says what stands in the way of a download, with the way out; returns whether nothing does."""
    reason = selection.barrier(job)
    if reason:
        _chosen(job, reason)
        return False
    who = access.me()
    if who.alone or selection.released(job) is not None:
        return True
    _ask(job)
    return False


def _chosen(job: jobs.Job, reason: str) -> None:
    st.subheader("How was this run chosen?", anchor=False)
    st.error(f"{frame.escape(frame.sentence(reason))}.", icon=":material/block:")
    st.markdown("Scores against the real rows are exact, so picking the best of several results by them tells "
                "something about those rows that epsilon does not cover. Settle this before any download.")  # fmt: skip
    said = selection.choice(job)
    if said is None:
        how = st.radio("This run was chosen", list(selection.CHOICES), key="how", index=None,
                       format_func=lambda k: words.CHOSEN[k],
                       help="Your answer is recorded with your name and goes into the bundle.")  # fmt: skip
        if st.button("Record this answer", key="choose", disabled=how is None) and how is not None:
            selection.choose(job, how, by=access.me().name)
            st.rerun()
    others = selection.rivals(job)
    st.markdown("Or release all of them together: " + frame.escape("; ".join(recent.named(j) for j in [job, *others])))
    if st.button(f"Release all {len(others) + 1} runs", key="release_all", icon=":material/library_add_check:",
                 help="Marks each of them as released. Download each from this page."):  # fmt: skip
        for one in [job, *others]:
            selection.release(one, by=access.me().name)
        st.rerun()
    deciding.section(job, others)


def _ask(job: jobs.Job) -> None:
    """In a shared installation a reviewer lets a result out."""
    st.subheader("A reviewer releases it", anchor=False)
    if (job.path / ASKED).exists():
        st.info("A reviewer has been asked to release this result.", icon=":material/hourglass_top:")
    elif st.button("Ask a reviewer to release it", key="ask_release", type="primary", icon=":material/send:",
                   help="Analysts can download it once a reviewer has approved."):  # fmt: skip
        (job.path / ASKED).write_text(json.dumps({"by": access.me().name}), encoding="utf-8")
        st.rerun()


def bundle(job: jobs.Job, place: Path) -> Path:
    """The zip file of everything that may be released, checked and packed once for each way of choosing.

    Its card counts what the choice rests on, which is looked up anew after each charge. Errors: InputError for a
    release that may not leave or is damaged.
    """
    how = selection.how(job)
    out = job.path / f"bundle-{how or 'unstated'}.zip"
    newest = max(p.stat().st_mtime for p in place.iterdir())
    if how not in FIXED and synth.Ledger().path.exists():
        newest = max(newest, synth.Ledger().path.stat().st_mtime)
    if not out.exists() or out.stat().st_mtime < newest:
        work.answer("bundle", str(place), "--out", str(out), *_said(job, how), "--json")
    return out


def _said(job: jobs.Job, how: str | None) -> list[str]:
    """How the run was chosen, as the command line takes it; where nothing was said it works out what is counted."""
    if how in (None, "only"):
        return []
    among = selection.rivals(job) if how == "all" else []
    if how == "private":
        named = (selection.choice(job) or {}).get("among", ())
        among = [jobs.Job(job.path.parent / n) for n in named if n != job.path.name]
    told = ["--choice", str(how), *(x for one in among for x in ("--with", str(runs.release(one))))]
    return [*told, "--paid", str(deciding.counts(job, among))] if how == "private" else told


def claimed(job: jobs.Job, place: Path) -> dict[str, Any]:
    """The card as it would leave, with what the choice costs; the run's own while it may not leave."""
    if not selection.barrier(job):
        return dict(json.loads(part(bundle(job, place), "card.json")))
    return dict(json.loads((place / "card.json").read_text(encoding="utf-8")))


def counted(job: jobs.Job, about: dict[str, Any]) -> None:
    """Says what the card counts beside the run itself; asks how it was chosen where nobody said so."""
    told = about.get("selection", {})
    others = told.get("charges") or []
    if not others:
        return
    lines = ", ".join(str(c["number"]) for c in others)
    more = "one more line" if len(others) == 1 else f"{len(others)} more lines"
    alone = told["of_which_this_run"]["epsilon"]
    said = f"The run itself has epsilon {alone:g}; the card counts {more} of the ledger ({lines})"
    if told["how"] != "unstated":
        st.info(f"{said}: {frame.escape(told['in_words'])}.", icon=":material/functions:")
        return
    with st.container(border=True):
        st.info(f"{said}, since this run may have been chosen by their results. If it was not, say so.",
                icon=":material/functions:")  # fmt: skip
        how = st.radio("This run was chosen", ["before", "releases"], key="counted_how", index=None,
                       format_func=lambda k: words.CHOSEN[k],
                       help="Your answer is recorded with your name and goes into the bundle.")  # fmt: skip
        if st.button("Record this answer", key="counted", disabled=how is None) and how is not None:
            selection.choose(job, how, by=access.me().name)
            st.rerun()


def part(bundled: Path, name: str) -> bytes:
    """One file of a bundle."""
    with zipfile.ZipFile(bundled) as archive:
        return archive.read(name)


def card(about: dict[str, Any]) -> None:
    """The card's main lines as a table, the whole of it behind a fold."""
    facts = {
        "Made by": f"{about['method']}, {about['created'][:10]}",
        "Guarantee": f"epsilon {about['epsilon']:g}, delta {words.small(about['delta'])}: {about['meaning']}",
        "Relation": str(about["relation_in_words"]),
        "Mechanisms": "; ".join(_mechanisms(about["mechanisms"])),
        "Noise": f"{about['noise_source']}; {about['floating_point']}",
        "Accountant": f"{about['accountant']['name']} (derived epsilon {about['epsilon_derived']:.4g})",
        "Rows": f"{about['rows']['synthetic']:,} synthetic; the real number is {about['rows']['source_count']}",
    }
    st.table({"": list(facts), "The card says": [frame.escape(t) for t in facts.values()]}, hide_index=True)
    with st.popover("The whole card", icon=":material/data_object:", help="As its file holds it."):
        st.json(about)


def _mechanisms(told: list[dict[str, Any]]) -> list[str]:
    """Each kind of mechanism once, with how often it was used and its scales of noise."""
    scales: dict[str, list[float]] = {}
    for m in told:
        found = [m[k] for k in ("sigma", "scale", "rho", "epsilon") if isinstance(m.get(k), float)]
        scales.setdefault(str(m.get("mechanism", m.get("name", "mechanism"))), []).append(found[0] if found else 0.0)
    return [
        f"{name}, {len(of)} times" * (len(of) > 1) + name * (len(of) == 1)
        + (f", scales {min(of):.4g} to {max(of):.4g}" if max(of) > 0 else "")
        for name, of in scales.items()
    ]  # fmt: skip


def shown(job: jobs.Job) -> None:
    """What a reviewer decides on: the card, without any figure about the real rows."""
    with st.expander("The card"):
        card(claimed(job, runs.release(job)))
    if (said := selection.choice(job)) is not None:
        st.caption(f"How it was chosen: {frame.escape(said['in_words'])}.")


def approved(job: jobs.Job) -> None:
    """Releases a result in the reviewer's name. Errors: UsageError for his own, or one that may not leave."""
    asked = json.loads((job.path / ASKED).read_text(encoding="utf-8"))["by"]
    if not access.me().may_decide(asked) or selection.barrier(job):
        raise synth.UsageError("a result is released by a reviewer who did not ask for it")
    selection.release(job, by=asked, approved_by=access.me().name)
