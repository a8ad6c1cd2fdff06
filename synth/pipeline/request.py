"""What is asked for, from page or command line to ledger: immutable, checked, stored in the job's folder."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.errors import InputError, UsageError, likely
from synth.languages import Said
from synth.schema.names import MAX_CATEGORIES, is_text

VERSION = 1
MOST_ROWS = 1_000_000_000  # of a synthetic table
TEXTS = ("dataset", "target", "unit", "actor", "approved_by", "prior_reason")
Note = Callable[[str], None]


def means(what: str, default: Any = None) -> Any:
    """A field with what its option means: one line, which the command line's help shows."""
    return Field(default, description=what)


class Stored(BaseModel):
    """What a job's folder keeps of what is asked for: immutable, checked, plain. Errors: UsageError.

    Privacy: public only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    version: Literal[1] = 1

    def __init__(self, **facts: Any) -> None:
        try:
            super().__init__(**facts)
        except ValidationError as error:
            raise refused(error) from None

    @model_validator(mode="before")
    @classmethod
    def _plainly(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """Paths as text and numpy's numbers as Python's; no options and no reasons are empty ones.

        Errors: UsageError where a field that takes numbers is given a text, or a truth, which Python counts as 1.
        """
        plain = {n: v.item() if getattr(v, "shape", None) == () else v for n, v in facts.items()}
        plain = {n: os.fspath(v) if isinstance(v, os.PathLike) else v for n, v in plain.items()}
        for name, about in cls.model_fields.items():
            kinds = get_args(about.annotation) or (about.annotation,)
            if isinstance(plain.get(name), bool | str) and {int, float} & set(kinds):
                raise UsageError("`{}=`: must be a number, no text and no truth", name)
        return {n: v for n, v in plain.items() if not (n in ("options", "reasons") and v is None)}

    def stored(self) -> dict[str, Any]:
        """The request as a job's folder keeps it: JSON data, without a password."""
        from synth.sources import named_databases
        from synth.sources.engines.addresses import has_password

        plain = self.model_dump(mode="json", by_alias=True)
        if (source := plain["source"]) is not None and not source.startswith("@") and has_password(source):
            plain["source"] = named_databases.shown(source)
        return plain

    @classmethod
    def read(cls, plain: Mapping[str, Any], *, name: str = "request") -> Self:
        """The request that ``stored`` wrote, or a command of before there were versions. Errors: InputError."""
        if plain.get("version", VERSION) != VERSION:
            raise InputError("{}: it was written by another version of synth; start it anew", name)
        try:
            return cls(**plain)
        except UsageError as error:
            raise InputError("{}: holds no request that can be read ({}); ask for it anew", name, error) from None


class RunRequest(Stored):
    """All public options of one charged run. Rows, noise and whoever is told of progress are handed over beside it.

    Each field says what it means; `RunRequest.model_fields` has it, as the help of ``synth run`` shows it. In Python,
    one text stands for a list of one, ``options`` and ``reasons`` are mappings, and ``assume_public`` is True for all
    drafted facts but the lists that tell of persons, or the columns that it confirms. ``table`` is None for rows in
    memory, ``schema_file`` (in a stored request: ``schema``) where the schema is handed over, or lies in the job's
    folder. ``learn_share`` is 1 where nothing else is asked. ``uses``: lines of text, or their JSON (schema/uses.py).
    ``num_rows``: by default the noisy total, at most ten million, or the public row count.

    Errors: UsageError, one line that names the option and the rule.
    Privacy: public only.

    >>> RunRequest(epsilon=1, delta=1e-5, table="people.csv").stored()["table"]
    'people.csv'
    """

    table: str | None = means(
        "CSV (also .gz), Parquet, .xlsx, .dta, .sav or .xpt file of private rows, a folder of Parquet files or of "
        "related tables, or "
        "the name of a table at the source."
    )
    source: str | None = means(
        "Database or cluster: postgres://user@host/db, duckdb:///file.duckdb, sqlite:///file.db, spark or "
        "spark://host:7077, or @NAME of the file that SYNTH_SOURCES names."
    )
    schema_file: str | None = Field(
        default=None,
        description="The table's schema, a JSON file.",
        validation_alias="schema",
        serialization_alias="schema",
    )
    epsilon: float = means("Privacy loss of the whole run; smaller is more private.", ...)
    delta: float = means("Probability that epsilon does not bound the loss.", ...)
    method: str = means("Method; `synth.methods()` lists them.", "mixture")
    relation: str = means("Which tables are neighbours: add_remove, replace_one or zero_out.", "add_remove")
    target: str | None = means("Column to predict; gets more of the budget.")
    unit: str | None = means("Identifier column that names a person.")
    max_rows: int | None = means("Most rows kept of one person.")
    linked: bool | None = means(
        "Rows of one person stay together in the result, or stand alone [default: as the schema asks]."
    )
    learn_share: float | None = means("Budget share for absent facts.")
    ask: tuple[str, ...] = means("mean:COL, quantile:COL:0.5, count:COL*COL, weight:COL*COL; repeatable.", ())
    prior: tuple[str, ...] = means(
        "Public table like the private one (an older file, a neighbour's) or the folder of an earlier release, "
        "used as far as the noisy answers bear it out; a release of few rows holds rows of the file; repeatable.",
        (),
    )
    prior_reason: str | tuple[str, ...] | None = means(
        "Why the prior's file is public, and who confirms it; goes on the card; once for all, or for each."
    )
    uses: tuple[str | dict[str, Any], ...] = means(
        "What the table is for: 'age by sex by district', 'income ~ age + sex*education', 'compare income across "
        "sex', 'predict income'; gets more of the budget; repeatable.",
        (),
    )
    options: dict[str, Any] = means("Option of the method, NAME=VALUE; repeatable.", {})
    num_rows: int | None = means("Rows to draw [default: the noisy number of rows].")
    out: str | None = means("Folder for the results.")
    replace: bool = means("The release that the folder for the results holds may be replaced.", False)
    ledger: str | None = means(
        "Ledger: a file, or postgresql://user@host/database [default: $SYNTH_LEDGER, else the user's own file]."
    )
    dataset: str | None = means("Dataset to charge in the ledger [default: the schema's, else the file's name].")
    seed: int | None = means("Seed of initialisation and sampling, never of privacy noise.")
    device: str = means("Where to compute: auto, cpu or cuda.", "auto")
    assume_public: bool | tuple[str, ...] = means(
        "Confirm drafted facts; for lists of values that tell of persons only where they are named.", False
    )
    reasons: dict[str, str] = means(
        "COLUMN=TEXT: why this column's list may be public; goes on the card; repeatable.", {}
    )
    max_categories: int = means("Most categories that a column may have.", MAX_CATEGORIES)
    actor: str | None = means("Who asks, for the ledger [default: the account].")
    approved_by: str | None = means("Who approved the spend.")
    run: str | None = means("An id for the ledger's line, by which the charge is found; charged once.")
    raw_text: bool = means("Write CSV text as it is, even where a spreadsheet would run it as a formula.", False)
    dialect: str = means("CSV as the schema's dialect and formats say (same), or UTF-8 with commas (plain).", "same")
    separate: bool = means("No person of this table is in another dataset, though rows look alike.", False)
    owner: str | None = means("Whose job it is.")
    label: str | None = means("How the table is called on pages.")

    if TYPE_CHECKING:

        def __init__(self, **facts: Any) -> None:
            """Paths, numbers and single texts are taken as such."""

    @model_validator(mode="before")
    @classmethod
    def _promised(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """An epsilon or delta that is none is refused first; one text is a list of one."""
        from synth.privacy.accounting.guarantee import check_promise

        check_promise(facts.get("epsilon"), facts.get("delta"))  # type: ignore[arg-type]
        lists = {n: (facts[n],) for n in ("prior", "uses") if isinstance(facts.get(n), str | os.PathLike)}
        facts = facts | lists
        if isinstance(prior := facts.get("prior") or (), Sequence):
            facts["prior"] = tuple(os.fspath(p) for p in prior)
        return facts

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        from synth.privacy.ledger import copies
        from synth.release import dialect_copy

        check_num_rows(self.num_rows)
        check_seed(self.seed)
        dialect_copy.check_choice(self.dialect)
        copies.check_bare(self.ledger)
        for name in TEXTS:
            given = getattr(self, name)
            for text in (given,) if isinstance(given, str) else given or ():
                if not is_text(text):
                    raise UsageError("`{}=`: holds half a character (a lone surrogate); write it again", name)
        if isinstance(self.prior_reason, tuple) and len(self.prior_reason) != len(self.prior):
            raise UsageError("`prior_reason=`: say it once for all priors, or once for each in their order")
        return self

    def changed(self, **facts: Any) -> Self:
        """The request with some options replaced. Errors: UsageError."""
        return type(self)(**{**self.model_dump(), **facts})


def check_num_rows(num_rows: int | None) -> None:
    """Errors: UsageError below one row, or beyond what a table may have."""
    if num_rows is not None and not 1 <= num_rows <= MOST_ROWS:
        raise UsageError("`num_rows={}`: at least 1 row is needed, and at most {}", num_rows, MOST_ROWS)


def check_seed(seed: int | None) -> None:
    """Errors: UsageError for a seed that random generators do not take."""
    if seed is not None and not 0 <= seed < 2**63:
        raise UsageError("`seed={}`: must be a whole number from 0 to 2**63 - 1", seed)


def refused(error: ValidationError) -> UsageError:
    """The error for the first fault: a check's own, which a validation wraps, or one that says option and rule; never
    the value, which may be a whole table."""
    fault = error.errors(include_url=False, include_input=False)[0]
    raised = fault.get("ctx", {}).get("error")
    if isinstance(raised, UsageError):
        return raised
    option = f"`{fault['loc'][0]}=`" if fault["loc"] else "request"
    if fault["type"] == "extra_forbidden":
        near = likely(str(fault["loc"][0]), RunRequest.model_fields)
        return UsageError("{}: no option of a run; {}", option, near or Said("see `synth.run`"))
    return UsageError("{}: {}; see `synth.run`", option, fault["msg"].removeprefix("Input should be "))


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


class FreeRequest(Stored):
    """A task that charges nothing. Errors: UsageError. Privacy: public only."""

    release: str
    source: str | None = None
    owner: str | None = None


class RefitRequest(FreeRequest):
    """Another fit to what a run released, as ``Release.refit`` takes it; from ``table`` on: of the run that did.

    Errors: UsageError. Privacy: public only.

    >>> RefitRequest(release="release", method="independent").arguments()["method"]
    'independent'
    """

    task: Literal["refit"] = "refit"
    free: Literal[True] = True
    method: str | None = None
    options: dict[str, Any] = means("As of a run.", {})
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
    language: str = Field("en", pattern=r"^[a-z]{2,6}$")


Request = RunRequest | RefitRequest | ReportRequest
TASKS: dict[str, type[Request]] = {"run": RunRequest} | {
    kind.model_fields["task"].default: kind
    for kind in (LearningRequest, StatisticsRequest, VerifiedRequest, RefitRequest, ReportRequest)
}


def read(plain: Mapping[str, Any], *, name: str = "request") -> Request:
    """The request that a job's folder holds, whatever it asks for; without a task it is a run. Errors: InputError."""
    kind = TASKS.get(str(plain.get("task", "run")))
    if kind is None:
        raise InputError("{}: it was written by another version of synth; start it anew", name)
    return kind.read(plain, name=name)


class RunOptions(TypedDict, total=False):
    """Fields of ``synth.app_api.RunRequest``, which says what each means and checks it.

    Privacy: public only.
    """

    source: str | None
    method: str
    relation: str
    target: str | None
    unit: str | None
    max_rows: int | None
    linked: bool | None
    learn_share: float | None
    ask: Sequence[str]
    prior: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    prior_reason: str | Sequence[str] | None
    uses: str | Sequence[str | Mapping[str, Any]]
    options: Mapping[str, Any] | None
    num_rows: int | None
    out: str | os.PathLike[str] | None
    replace: bool
    ledger: str | os.PathLike[str] | None
    dataset: str | None
    seed: int | None
    device: str
    assume_public: bool | Sequence[str]
    reasons: Mapping[str, str] | None
    max_categories: int
    actor: str | None
    approved_by: str | None
    run: str | None
    raw_text: bool
    dialect: str
    separate: bool
    owner: str | None
    label: str | None
