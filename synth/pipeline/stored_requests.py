"""What a job's folder asks for beside a run: learning, statistics, answers, another fit, a report: stored models."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.errors import InputError, UsageError
from synth.pipeline.request import RunRequest, check_numbers, refused


class LearningRequest(RunRequest):
    """Facts of a schema to be learnt, as ``synth schema learn`` asks for them; ``learns``: the columns, as told.

    Errors: UsageError. Privacy: public only.
    """

    task: Literal["learn"] = "learn"
    learns: tuple[str, ...] = ()
    learn_share: float | None = 1.0
    device: str = "cpu"


class StatisticsRequest(RunRequest):
    """Statistics to be paid for; ``decides``: the names of the jobs between whose tables they decide.

    Errors: UsageError. Privacy: public only.
    """

    task: Literal["statistics"] = "statistics"
    decides: tuple[str, ...] = ()
    device: str = "cpu"


class VerifiedRequest(RunRequest):
    """Questions about the table behind ``release``; ``questions``: JSON data, as docs/verified.md has it.

    ``asks``: the name of the stored question that it answers, ``asked_by``, ``why``: as that says.
    Errors: UsageError. Privacy: public only.
    """

    task: Literal["verified"] = "verified"
    method: str = "verified"
    release: str
    questions: dict[str, Any] | tuple[Any, ...]
    asks: str | None = None
    asked_by: str | None = None
    why: str = ""
    device: str = "cpu"


class FreeRequest(BaseModel):
    """A task that charges nothing; its ``source`` without a password, as a run stores it. Errors: UsageError."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    release: str
    source: str | None = None
    owner: str | None = None

    def __init__(self, **facts: Any) -> None:
        check_numbers(type(self), facts)
        try:
            super().__init__(**facts)
        except ValidationError as error:
            raise refused(error) from None

    def stored(self) -> dict[str, Any]:
        """The request as a job's folder keeps it."""
        return self.model_dump(mode="json")

    @classmethod
    def read(cls, plain: Mapping[str, Any], *, name: str = "request") -> Self:
        """The request that ``stored`` wrote. Errors: InputError."""
        try:
            return cls(**plain)
        except UsageError as error:
            raise InputError(f"{name}: holds no request that can be read ({error}); ask for it anew") from None


class RefitRequest(FreeRequest):
    """Another fit to what a run released, as ``Release.refit`` takes it; from ``table`` on: of the run that did.

    Errors: UsageError. Privacy: public only.

    >>> RefitRequest(release="release", method="independent").arguments()["method"]
    'independent'
    """

    task: Literal["refit"] = "refit"
    free: Literal[True] = True
    method: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    target: str | None = None
    num_rows: int | None = None
    out: str | None = None
    seed: int | None = None
    device: str = "auto"
    raw_text: bool = False
    dialect: str = "same"
    table: str | None = None
    label: str | None = None
    dataset: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    relation: str | None = None

    def arguments(self) -> dict[str, Any]:
        """What ``refit`` is called with."""
        named = {"release", "method", "options", "target", "num_rows", "out", "seed", "device", "raw_text", "dialect"}
        return self.model_dump(include=named)


class ReportRequest(FreeRequest):
    """The steward's report on a release, against the real ``table``, of which a copy is made where it has a source.

    ``out``: the page; ``reports``: the name of the run's job; ``shadow_runs``: of the method, to attack it. ``test``: a
    file in this job's folder, of real rows that the run did not see; it is removed once it is read. ``language``: of
    the page.
    Errors: UsageError. Privacy: public only.
    """

    task: Literal["report"] = "report"
    reports: str
    table: str
    out: str
    shadow_runs: int = Field(default=0, ge=0)
    test: str = Field(default="", pattern=r"^[\w.-]*$")
    language: str = Field(default="en", pattern=r"^[a-z]{2,6}$")


Request = RunRequest | RefitRequest | ReportRequest
TASKS: dict[str, type[Request]] = {
    "run": RunRequest,
    "learn": LearningRequest,
    "statistics": StatisticsRequest,
    "verified": VerifiedRequest,
    "refit": RefitRequest,
    "report": ReportRequest,
}


def read(plain: Mapping[str, Any], *, name: str = "request") -> Request:
    """The request that a job's folder holds, whatever it asks for; without a task it is a run. Errors: InputError."""
    kind = TASKS.get(str(plain.get("task", "run")))
    if kind is None:
        raise InputError(f"{name}: it was written by another version of synth; start it anew")
    return kind.read(plain, name=name)
