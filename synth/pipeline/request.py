"""One run as it is asked for, from page or command line to ledger: immutable, checked, stored in the job's folder."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.errors import InputError, UsageError, likely
from synth.privacy.accounting.guarantee import check_promise
from synth.privacy.ledger import places
from synth.release import dialect_copy
from synth.schema.table import MAX_CATEGORIES, is_text
from synth.sources import named_databases

VERSION = 1
MOST_ROWS = 1_000_000_000  # of a synthetic table
TEXTS = ("dataset", "target", "unit", "actor", "approved_by", "prior_reason")
PATHS = ("table", "schema", "schema_file", "out", "ledger")
Note = Callable[[str], None]


class RunRequest(BaseModel):
    """All public options of one charged run. Rows, noise and whoever is told of progress are handed over beside it.

    ``table``: a CSV (also .gz), Parquet or Excel file, a folder of Parquet files, or the name of a table at ``source``:
    postgres://user@host/database, duckdb:///file.duckdb, spark, or @NAME of a database that the installation names;
    None for rows in memory. ``schema_file``: the schema's JSON file (in a stored request: ``schema``); None where the
    schema is handed over, or lies in the job's folder. ``out``: a folder for the files of the release.

    ``epsilon``, ``delta``: of the whole run. ``method``, ``options``: ``synth.methods()`` lists them. ``unit``: the
    identifier column that names a person, of whom at most ``max_rows`` rows are kept, drawn at random; without it a row
    is the unit. ``linked``: the rows of one person stay together in the result, or not; by default as the schema asks.
    ``learn_share``: part of the noise budget for facts that the schema leaves out (categories, bounds,
    presence of missing values); 1 where nothing else is asked. ``ask``: statistics instead of a table.
    ``prior``: public tables like the private one: files, or folders of earlier releases; ``prior_reason``: why the
    files are public, and who vouches for it, which goes onto the card (priors.py): one text for all, or one for each.
    ``uses``: what the table is for, beside the schema's own: lines of text, or their JSON (schema/uses.py).
    ``num_rows``: default the noisy total (at most ten million), or the public row count. ``seed`` drives
    initialisation and sampling, never privacy noise.

    ``assume_public``: vouches for drafted facts; True for all but the lists of values that tell of persons, which must
    be named, each with one of the ``reasons`` (column to text), which goes onto the card. ``raw_text``: leaves text in
    the CSV as it is that a spreadsheet would take for a formula; else an apostrophe stands before it. ``dialect``:
    ``same`` writes the table once more as the schema says that the private one is written, where that is not the plain
    way; ``plain`` does not. ``separate``: no person is in another dataset of the ledger, though rows look alike.

    ``run``: an id for the ledger's line, by which the run's charge is found again; it is charged once. ``owner``,
    ``label``: whose job it is, and how the table is called on pages.

    Errors: UsageError, one line that names the option and the rule.
    Privacy: public only.

    >>> RunRequest(epsilon=1, delta=1e-5, table="people.csv").stored()["table"]
    'people.csv'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    version: Literal[1] = 1
    table: str | None = None
    source: str | None = None
    schema_file: str | None = Field(default=None, alias="schema")
    epsilon: float
    delta: float
    method: str = "mixture"
    relation: str = "add_remove"
    target: str | None = None
    unit: str | None = None
    max_rows: int | None = None
    linked: bool | None = None
    learn_share: float | None = None
    ask: tuple[str, ...] = ()
    prior: tuple[str, ...] = ()
    prior_reason: str | tuple[str, ...] | None = None
    uses: tuple[str | dict[str, Any], ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    num_rows: int | None = None
    out: str | None = None
    ledger: str | None = None
    dataset: str | None = None
    seed: int | None = None
    device: str = "auto"
    assume_public: bool | tuple[str, ...] = False
    reasons: dict[str, str] = Field(default_factory=dict)
    max_categories: int = MAX_CATEGORIES
    actor: str | None = None
    approved_by: str | None = None
    run: str | None = None
    raw_text: bool = False
    dialect: str = "same"
    separate: bool = False
    owner: str | None = None
    label: str | None = None

    def __init__(self, **facts: Any) -> None:
        try:
            super().__init__(**facts)
        except ValidationError as error:
            raise refused(error) from None

    @model_validator(mode="before")
    @classmethod
    def _plainly(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """Paths as text and numpy's numbers as Python's; an epsilon or delta that is none is refused first."""
        check_promise(facts.get("epsilon"), facts.get("delta"))  # type: ignore[arg-type]
        paths = {n: os.fspath(facts[n]) for n in PATHS if isinstance(facts.get(n), os.PathLike)}
        if isinstance(prior := facts.get("prior", ()), str | os.PathLike) or prior is None:
            facts = {**facts, "prior": () if prior is None else (prior,)}
        if isinstance(facts.get("uses"), str):
            facts = {**facts, "uses": (facts["uses"],)}
        if isinstance(facts.get("prior"), Sequence):
            paths["prior"] = tuple(os.fspath(p) for p in facts["prior"])
        numbers = {n: v.item() for n, v in facts.items() if isinstance(v, np.generic)}
        check_numbers(cls, {**facts, **numbers})
        return {
            **{n: v for n, v in facts.items() if not (n in ("options", "reasons") and v is None)},
            **paths,
            **numbers,
        }

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        check_num_rows(self.num_rows)
        check_seed(self.seed)
        dialect_copy.check_choice(self.dialect)
        places.check_bare(self.ledger)
        for name in TEXTS:
            reported = getattr(self, name)
            for text in (reported,) if isinstance(reported, str) else reported or ():
                if not is_text(text):
                    raise UsageError(f"`{name}=`: holds half a character (a lone surrogate); write it again")
        if isinstance(self.prior_reason, tuple) and len(self.prior_reason) != len(self.prior):
            raise UsageError("`prior_reason=`: say it once for all priors, or once for each in their order")
        return self

    def changed(self, **facts: Any) -> Self:
        """The request with some options replaced. Errors: UsageError."""
        return type(self)(**{**self.model_dump(), **facts})

    def stored(self) -> dict[str, Any]:
        """The request as a job's folder keeps it: JSON data, without a password."""
        plain = self.model_dump(mode="json", by_alias=True)
        if self.source is not None and not self.source.startswith("@"):
            parts = urlsplit(self.source)
            bare = parts.password is None and "password" not in parts.query.lower()
            plain["source"] = self.source if bare else named_databases.shown(self.source)
        return plain

    @classmethod
    def read(cls, plain: Mapping[str, Any], *, name: str = "request") -> Self:
        """The request that ``stored`` wrote, or a command of before there were versions. Errors: InputError."""
        if plain.get("version", VERSION) != VERSION:
            raise InputError(f"{name}: it was written by another version of synth; start the run anew")
        try:
            return cls(**plain)
        except UsageError as error:
            raise InputError(f"{name}: holds no request of a run ({error}); start the run anew") from None


def check_numbers(model: type[BaseModel], given: Mapping[str, Any]) -> None:
    """Errors: UsageError where a field that takes numbers is given a text, or a truth, which Python counts as 1."""
    for name, field in model.model_fields.items():
        kinds = get_args(field.annotation) or (field.annotation,)
        if isinstance(given.get(name), bool | str) and {int, float} & set(kinds):
            raise UsageError(f"`{name}=`: must be a number, no text and no truth")


def check_num_rows(num_rows: int | None) -> None:
    """Errors: UsageError below one row, or beyond what a table may have."""
    if num_rows is not None and not 1 <= num_rows <= MOST_ROWS:
        raise UsageError(f"`num_rows={num_rows}`: at least 1 row is needed, and at most {MOST_ROWS}")


def check_seed(seed: int | None) -> None:
    """Errors: UsageError for a seed that random generators do not take."""
    if seed is not None and not 0 <= seed < 2**63:
        raise UsageError(f"`seed={seed}`: must be a whole number from 0 to 2**63 - 1")


def refused(error: ValidationError) -> UsageError:
    """The error for the first fault: a check's own, which a validation wraps, or one that says option and rule."""
    raised = error.errors(include_url=False, include_input=False)[0].get("ctx", {}).get("error")
    return raised if isinstance(raised, UsageError) else UsageError(fault(error))


def fault(error: ValidationError) -> str:
    """The first fault, as option and rule; never the value, which may be a whole table."""
    fault = error.errors(include_url=False, include_input=False)[0]
    option = f"`{fault['loc'][0]}=`" if fault["loc"] else "request"
    if fault["type"] == "extra_forbidden":
        near = likely(str(fault["loc"][0]), RunRequest.model_fields)
        return f"{option}: no option of a run; {near or 'see `synth.run`'}"
    return f"{option}: {fault['msg'].removeprefix('Input should be ')}; see `synth.run`"
