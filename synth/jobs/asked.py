"""Questions that somebody asked about a release and a steward decides on: a folder for each, beside the jobs.

``question.json`` says who asks what and why; ``decision-N.json``, each written once, what became of it: a refusal with
its reason, or the job that answers; after a job that failed there can be another. No private value belongs in either.
"""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synth.errors import InputError, SynthError, UsageError
from synth.files import whole_files
from synth.jobs.job import Job, home, read_json
from synth.schema.names import is_text

QUESTION, DECISION = "question.json", "decision-{}.json"
AGAIN = ("failed", "cancelled", "gone")  # states of a job after which it is decided anew
MOST_WORDS = 2000  # letters of a reason


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that waits or was decided on. ``job``: the name of the run whose release it was asked about.

    ``epsilon``: the privacy loss that is asked for, of all its ``questions`` together.

    Privacy: public only.
    """

    path: Path
    by: str
    why: str
    job: str
    questions: Any
    epsilon: float
    time: str

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def run(self) -> Job:
        """The run whose release it was asked about."""
        return Job(home() / self.job)

    @property
    def decision(self) -> dict[str, Any] | None:
        """What was decided, by whom; None while it waits."""
        return read_json(self.path / DECISION.format(self._decisions()))

    def _decisions(self) -> int:
        return len(list(self.path.glob(DECISION.format("*"))))

    @property
    def answer(self) -> Job | None:
        """The job that answers it, where the decision was that."""
        name = (self.decision or {}).get("job")
        return Job(home() / str(name)) if name else None

    def state(self) -> str:
        """waits, refused, withdrawn, gone (its job was removed), or the state of the job that answers it."""
        decided, job = self.decision, self.answer
        if decided is None:
            return "waits"
        if job is None:
            return str(decided.get("how"))
        try:
            return job.status().state
        except SynthError:
            return "gone"

    def decide(self, how: str, *, by: str, why: str = "", job: Job | None = None) -> None:
        """Records the decision: answered, refused or withdrawn. Errors: UsageError where there is one that stands."""
        count, stands = self._decisions(), self.state() not in ("waits", *AGAIN)
        decided = {"how": how, "by": by, "why": _words(why), "job": job.path.name if job else None, "time": _now()}
        draft = self.path / f".{secrets.token_hex(6)}"
        whole_files.write(draft, json.dumps(decided, ensure_ascii=False))
        try:
            if stands:
                raise FileExistsError
            os.link(draft, self.path / DECISION.format(count + 1))  # of two at once, one
        except FileExistsError:
            raise UsageError("this question was decided on already; look at it again") from None
        finally:
            draft.unlink()


def _home() -> Path:
    """Where questions lie: beside the jobs."""
    return home().parent / "questions"


def ask(*, by: str, why: str, job: Job, questions: Any, epsilon: float) -> Asked:
    """Stores a question. Errors: UsageError for a reason that is none; InputError where it cannot be stored."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    path = _home() / f"{stamp}-{secrets.token_hex(3)}"
    stored = Asked(
        path=path, by=by, why=_words(why), job=job.path.name, questions=questions, epsilon=epsilon, time=_now()
    )
    try:
        path.mkdir(mode=0o700, parents=True)
        plain = {n: v for n, v in asdict(stored).items() if n != "path"}
        whole_files.write(path / QUESTION, json.dumps(plain, ensure_ascii=False))
    except OSError as error:
        raise InputError("the question cannot be stored ({}); name a writable place in SYNTH_HOME", error) from None
    return stored


def listing() -> list[Asked]:
    """All questions, newest first; damaged ones are left out.

    Privacy: public only.
    """
    stored = []
    for file in sorted(_home().glob(f"*/{QUESTION}"), reverse=True):
        with suppress(TypeError):
            stored.append(Asked(path=file.parent, **(read_json(file) or {})))
    return stored


def _words(text: str) -> str:
    if not is_text(text) or len(text) > MOST_WORDS:
        raise UsageError("the reason: at most {} letters; write it shorter", MOST_WORDS)
    return text.strip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
