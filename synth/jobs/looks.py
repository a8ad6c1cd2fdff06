"""Results that were compared with the real rows, and what that means for exporting one of them.

A result chosen among several by scores that no noise protects is covered by no finite epsilon, however small its own.
So a look at the comparison is noted beside the run. Once other runs on the same dataset were looked at, one run may
leave only when all of them are released, somebody states that the choice does not rest on those scores, or noisy
counts that were paid for decided among all of them.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synth.errors import SynthError, UsageError
from synth.files import whole_files
from synth.jobs.job import Job, listing, read_json
from synth.schema import names

LOOKED, CHOICE, RELEASED = "looked.json", "choice.json", "released.json"
CHOICES = {
    "before": "the run to release was fixed before any comparison with the real rows",
    "releases": "the run was chosen by released figures alone: forecast, card, publishable report",
    "scores": "the run was chosen by its comparison with the real rows",
}
OF_SEVERAL = ("releases", "scores")  # what may be said of several at once: of these one alone was fixed before
PAID = "noisy counts that were paid for decided among all runs that were compared with the real rows"
UNCOVERED = "selection not covered"


def look(job: Job, *, by: str = "") -> None:
    """Notes that somebody saw this run's comparison with the real rows. The first look stays on record."""
    if not (job.path / LOOKED).exists():
        _note(job, LOOKED, {"by": by})


def looked(job: Job) -> bool:
    """Whether somebody saw this run's comparison with the real rows."""
    return (job.path / LOOKED).exists()


def choose(chosen: Sequence[Job], how: str, *, by: str = "") -> None:
    """Records how a run was chosen, or of several each: a key of ``CHOICES``, of several one of ``OF_SEVERAL``.

    Errors: UsageError for another, or once one was signed; then nothing is recorded of any.
    """
    if how not in (ways := CHOICES if len(chosen) == 1 else OF_SEVERAL):
        raise UsageError("choice {!r}: say one of {}", how, ", ".join(ways))
    if any(map(signed, chosen)):
        raise UsageError("a reviewer has released this run as it was chosen; what he signed stands")
    for job in chosen:
        _note(job, CHOICE, {"how": how, "in_words": CHOICES[how], "by": by})


def decide(job: Job, losers: list[Job], *, line: int, by: str = "") -> None:
    """Records that a paid private selection, charged in the ledger's ``line``, took this run before ``losers``.

    Errors: UsageError where a run that was compared with the real rows did not take part, or where the same runs were
    decided between before: whoever asks again until his favourite wins chooses by what he saw.
    """
    if any(signed(one) for one in (job, *losers)):
        raise UsageError("a reviewer has released one of these runs as it was chosen; what he signed stands")
    if decided(job, losers):
        raise UsageError("noisy counts have already decided between these runs; that decision stands")
    part = {job.path.name, *(one.path.name for one in losers)}
    if left_out := [one.path.name for one in rivals(job) if one.path.name not in part]:
        raise UsageError("{} compared runs were left out of the choice; include all of them", len(left_out))
    _note(job, CHOICE, {"how": "private", "in_words": PAID, "by": by, "line": line, "among": sorted(part)})
    for one in losers:
        if (choice(one) or {}).get("how") == "private":
            (one.path / CHOICE).unlink()  # a later decision holds instead of an earlier one


def decided(job: Job, others: list[Job]) -> bool:
    """Whether a paid private selection among exactly these runs was recorded."""
    part = sorted({job.path.name, *(one.path.name for one in others)})
    return any((choice(one) or {}).get("among") == part for one in (job, *others))


def choice(job: Job) -> dict[str, Any] | None:
    """How this run was chosen, None where nobody said."""
    return read_json(job.path / CHOICE)


def release(job: Job, *, by: str = "", approved_by: str = "", shown: Mapping[str, Any] | None = None) -> None:
    """Marks the run as released. ``shown``: what the reviewer saw, by which a later change is found."""
    _note(job, RELEASED, {"by": by, "approved_by": approved_by, **({} if shown is None else {"shown": shown})})


def signed(job: Job) -> bool:
    """Whether a reviewer released this run: nothing that he signed changes afterwards."""
    return bool((released(job) or {}).get("approved_by"))


def signature(release: str | Path) -> dict[str, Any] | None:
    """What a reviewer signed of the release in a folder, None where none did.

    Errors: UsageError where a file of it, or how it was chosen, was changed since: then it does not leave.
    """
    place = Path(release).resolve()
    job = Job(place.parent)
    if (noted := released(job)) is None and os.path.lexists(job.path / RELEASED):
        raise UsageError(
            "{} beside it cannot be read, so nothing shows what a reviewer signed; ask him again", RELEASED
        )
    shown: dict[str, Any] | None = (noted or {}).get("shown")
    if shown is not None and (files(place) != shown["files"] or (choice(job) or {}).get("how") != shown["choice"]):
        raise UsageError("it was changed after a reviewer had released it; make it again, and ask for another release")
    return shown


def files(release: Path) -> dict[str, str]:
    """Every file of a release by its digest, a link by where it leads."""
    there = (p for p in sorted(release.rglob("*")) if p.is_symlink() or p.is_file())
    found = {}
    for path in there:
        if path.is_symlink():
            found[str(path.relative_to(release))] = f"link to {path.readlink()}"
            continue
        with path.open("rb") as opened:
            found[str(path.relative_to(release))] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found


def released(job: Job) -> dict[str, Any] | None:
    """Who released the run and when, None where nobody did."""
    return read_json(job.path / RELEASED)


def rivals(job: Job) -> list[Job]:
    """Other finished runs on this run's dataset whose comparison was seen, newest first; those signed with it alone."""
    if "among" in (shown := (released(job) or {}).get("shown") or {}):
        return [Job(job.path.parent / name) for name in shown["among"]]
    return [one for one in listing() if one.path != job.path and looked(one) and alike(one, job) and _done(one)]


def alike(one: Job, other: Job) -> bool:
    """Whether two runs are on one dataset, however its name was written."""
    return names.canonical(_about(one, "dataset")) == names.canonical(_about(other, "dataset"))


def barrier(job: Job) -> str:
    """Why this run may not leave, in one line; empty when it may.

    **Source**: a selection among candidates is itself a query; see Liu and Talwar 2019, arXiv 1811.07971.
    """
    others = rivals(job)
    if not others or _all_released(job):
        return ""
    said = choice(job) or {}
    made = said.get("how")
    if made in ("before", "releases"):
        return ""
    if made == "private" and {one.path.name for one in others} <= set(said.get("among", ())):
        return ""
    beside = f"{len(others)} other run{'s' if len(others) > 1 else ''} on this dataset"
    if made == "scores":
        return (
            f"{UNCOVERED}: it was chosen by comparison with the real rows; release it together with {beside} that "
            "were compared, or not at all"
        )
    return (
        f"{beside} {'were' if len(others) > 1 else 'was'} compared with the real rows; say how this one was chosen, or "
        "release all of them"
    )


def how(job: Job) -> str | None:
    """How this run was chosen, as a card says it: only, all, or what the steward said; None where unstated.

    What a reviewer signed stands, whatever else was made since.
    """
    if "how" in (shown := (released(job) or {}).get("shown") or {}):
        return None if shown["how"] is None else str(shown["how"])
    if (said := choice(job)) is not None and not _all_released(job):
        return str(said["how"])
    if _all_released(job):
        return "all"
    same = [o for o in listing() if o.path != job.path and alike(o, job)]
    return None if any(_done(o) and makes_rows(o) for o in same) else "only"


def _all_released(job: Job) -> bool:
    others = rivals(job)
    return bool(others) and all(released(one) is not None for one in [job, *others])


def _about(job: Job, what: str) -> str:
    try:
        return str(job.request().get(what))
    except SynthError:
        return ""


def makes_rows(job: Job) -> bool:
    """Whether a job makes a synthetic table, rather than learn facts, decide between tables, report or answer."""
    return all(_about(job, other) == str(None) for other in ("learns", "decides", "reports", "questions"))


def _done(job: Job) -> bool:
    try:
        return job.status().state == "done"
    except SynthError:
        return False


def _note(job: Job, name: str, plain: dict[str, Any]) -> None:
    text = json.dumps({**plain, "time": datetime.now(UTC).isoformat(timespec="seconds")}, ensure_ascii=False)
    whole_files.write(job.path / name, text)
