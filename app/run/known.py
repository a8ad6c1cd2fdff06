"""Prior knowledge of a table: public files and earlier releases, taken in, looked at, and handed to a run."""

import json
import shutil
import zipfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import synth
from app.run import background
from app.session import access
from app.session.aside import TooLongError, worker
from app.session.state import Wizard, dataset, facts, together
from app.table import work
from synth.app_api import jobs
from synth.languages import _

PATIENCE = 600.0  # seconds that a rehearsal or preview may take
LARGEST = 4 << 30  # bytes of an earlier release's files, unpacked
CARD = "card.json"
STOPS = (0.1, 0.3, 1.0, 3.0, 10.0)  # epsilons at which the worth of priors is rehearsed; between them it is read off
PREVIEW = "preview"  # folder of the preview, beside the note of the table
Known = dict[str, str]  # path; name, as the page shows it; why it is public; who vouches


def reasons(w: Wizard) -> tuple[str, ...]:
    """Of each prior why it is public, and who vouches, as it stands on the card."""
    return tuple(f"{k['why']}; vouched for by {k['who']}" if k["who"] else k["why"] for k in w.priors)


def asked(w: Wizard) -> dict[str, Any]:
    """The options of a request about priors; nothing without any. Errors: UsageError for another's."""
    if together(w) or not w.priors:
        return {}
    for one in w.priors:
        if not _open_to_visitor(w, Path(one["path"])):
            raise synth.UsageError(_("{name}: it is somebody else's, or gone; take it out").format(name=one["name"]))
    return {"prior": tuple(one["path"] for one in w.priors), "prior_reason": reasons(w)}


def barred(w: Wizard) -> str:
    """Why the chosen method cannot take the priors, empty where it can."""
    if not w.priors or together(w) or w.method == "mixture":
        return ""
    return _(
        "{method} takes no prior knowledge. Choose mixture on the page Method, or take it out on Describe."
    ).format(method=w.method)


def add_file(w: Wizard, upload: Any, *, why: str, who: str) -> None:
    """An uploaded public table, or a release as zip. Errors: UsageError, InputError; then nothing is kept."""
    access.allow("add_prior")
    place = _room(w)
    try:
        retained = work.keep(upload, upload.name, place)
        if retained.suffix == ".zip":
            _unpacked(retained, place)
            _take(w, place, upload.name, why="", who="")
        else:
            _take(w, retained, upload.name, why=why, who=who)
    except synth.SynthError:
        shutil.rmtree(place, ignore_errors=True)
        raise


def add_run(w: Wizard, path: str) -> None:
    """A release that was made here, of one's own. Errors: UsageError, InputError."""
    access.allow("add_prior")
    job = access.job("watch", path)
    _take(w, place(job), named(job), why="", who="")


def add_place(w: Wizard, path: str, *, why: str, who: str) -> None:
    """A file or a release's folder on this computer, which stays where it is. Errors: UsageError."""
    access.allow("add_prior")
    chosen = Path(path).expanduser().absolute()
    if chosen not in work.mounted():
        access.allow("read_path")
    if not chosen.exists():
        raise synth.InputError(_("{name}: no such file on this computer; check the path").format(name=chosen.name))
    released = (chosen / CARD).is_file()
    _take(w, chosen, chosen.name, why="" if released else why, who="" if released else who)


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
    results = []
    for job in jobs.listing():
        try:
            made = job.status().state == "done" and jobs.looks.makes_rows(job) and access.mine(job)
            if made and not isinstance(job.result().get("num_rows"), dict) and place(job).is_dir():
                results.append(job)
        except synth.SynthError:
            continue
    return sorted(results, key=lambda job: job.request().get("dataset") != dataset(w))


def named(job: jobs.Job) -> str:
    """A release made here, as one knows it."""
    card = json.loads((place(job) / CARD).read_text(encoding="utf-8"))
    return _("release of {dataset}, {day}, epsilon {epsilon:g}").format(
        dataset=card.get("dataset") or "?", day=str(card["created"])[:10], epsilon=card["epsilon"]
    )


def looked(w: Wizard) -> Future[Any] | None:
    """What each prior covers and lacks, under way or known; None while the description is not complete."""
    result, _problem = facts(w)
    if result is None or not w.priors or together(w):
        return None
    about, text = asked(w), result.to_json()
    paths, why = list(about["prior"]), list(about["prior_reason"])
    key = ("prior_look", access.me().name, text, *paths, *why)
    return background.once(key, lambda: worker.ask("prior_look", text, paths, seconds=PATIENCE, prior_reason=why))


def worth(w: Wizard) -> Future[Any] | None:
    """What the priors are worth around the chosen epsilon, under way or known; None where there is nothing to say."""
    result, _problem = facts(w)
    if result is None or not w.priors or together(w) or not w.rows or barred(w):
        return None
    who, about, stops = access.allow("forecast").name, asked(w), _around(w.epsilon)
    asked_for = {**about, "rows": w.rows, "delta": w.delta, "relation": w.relation, "epsilons": stops}
    key = ("prior_worth", who, result.to_json(), json.dumps(asked_for))

    def work_out() -> Any:
        try:
            return worker.ask("prior_worth", result.to_json(), seconds=PATIENCE, keep=False, **asked_for)
        except TooLongError:
            return None

    return background.once(key, work_out)


def preview(w: Wizard) -> Future[Any]:
    """The whole way on public rows, begun or done: the comparison, and the folder. Errors: UsageError, InputError."""
    who, (results, problem) = access.allow("preview").name, facts(w)
    if results is None:
        raise synth.InputError(problem)
    assert w.place is not None
    out = w.place / PREVIEW
    asked_for = {
        **asked(w),
        "rows": w.rows,
        "epsilon": w.epsilon,
        "delta": w.delta,
        "relation": w.relation,
        "method": w.method,
        "options": w.options,
    }
    key = ("preview", who, results.to_json(), json.dumps(asked_for))

    def make() -> Any:
        shutil.rmtree(out, ignore_errors=True)
        try:
            return worker.ask("previewed", results.to_json(), str(out), seconds=PATIENCE, keep=False, **asked_for)
        except TooLongError:
            raise synth.InputError(_("the preview takes too long here; use `synth preview`")) from None

    return background.once(key, make)


def _around(epsilon: float) -> list[float]:
    """The stops next to an epsilon; one where it stands on it, or beyond an end."""
    below, above = [s for s in STOPS if s <= epsilon], [s for s in STOPS if s >= epsilon]
    return sorted({below[-1] if below else above[0], above[0] if above else below[-1]})


def _take(w: Wizard, path: Path, name: str, *, why: str, who: str) -> None:
    if any(one["path"] == str(path) for one in w.priors):
        raise synth.UsageError(_("{name}: it is among them already").format(name=name))
    w.priors = [*w.priors, {"path": str(path), "name": name, "why": why.strip(), "who": who.strip()}]


def _room(w: Wizard) -> Path:
    """A folder of its own for one upload, beside the note of the table."""
    if w.place is None:
        raise synth.UsageError(_("choose a table first"))
    number = 1 + max([int(p.name) for p in (w.place / "priors").glob("[0-9]*")], default=0)
    place = w.place / "priors" / str(number)
    try:
        place.mkdir(mode=0o700, parents=True)
    except OSError as error:
        reason = error.strerror or ""
        raise synth.InputError(_("it could not be stored ({reason}); free some space").format(reason=reason)) from None
    return place


def _unpacked(archive: Path, place: Path) -> None:
    """The files of a release's zip, by name alone. Errors: InputError for anything else."""
    try:
        with zipfile.ZipFile(archive) as held:
            parts = [i for i in held.infolist() if "/" not in i.filename and "\\" not in i.filename]
            if CARD not in {i.filename for i in parts} or sum(i.file_size for i in parts) > LARGEST:
                raise ValueError
            for part in parts:
                with held.open(part) as source, open(place / work.safe_name(part.filename), "xb") as out:
                    shutil.copyfileobj(source, out, work.CHUNK)
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        raise synth.InputError(
            _("{name}: no release of this program; choose the zip that a release was handed over as").format(
                name=archive.name
            )
        ) from None
    archive.unlink()


def place(job: jobs.Job) -> Path:
    """The folder of a finished run's files."""
    return Path(str(job.result().get("paths", {}).get("card", ""))).parent


def _open_to_visitor(w: Wizard, path: Path) -> bool:
    """Whether the visitor may still read it: his upload, his run, what is offered to him; of the only user all."""
    who = access.me()
    if who.alone or path in work.mounted():
        return True
    if w.place is not None and w.place / "priors" in path.parents:
        return work.owner(w.place) == who.name
    try:
        return access.mine(jobs.Job(path.parent)) and place(jobs.Job(path.parent)) == path
    except synth.SynthError:
        return False
