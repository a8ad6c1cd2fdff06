"""The form of a card, from which ``card_schema.json`` is made. What a card may add beside it is not fixed here."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = "facsimile-card/1"


class Part(BaseModel):
    """A part of a card: what is named here must be there, more may be."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Mechanism(Part):
    """``count`` answers with noise of ``sigma`` (Gaussian) or ``scale`` (Laplace), in the units of ``sensitivity``."""

    mechanism: str
    name: str
    sensitivity: float = Field(gt=0, allow_inf_nan=False)
    sigma: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    scale: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    count: int = Field(ge=1)
    failure_delta: float = Field(default=0.0, ge=0, lt=1)


class Accountant(Part):
    """Who composed the mechanisms, and the parts of delta kept back."""

    name: str
    library: str
    version: str | None
    delta_reserved_for_sampler: float = Field(ge=0, lt=1)
    delta_reserved_for_thresholds: float = Field(ge=0, lt=1)


class Rows(Part):
    """How many rows were made, and whether the source's number is public."""

    synthetic: int = Field(ge=0)
    source_count: Literal["public", "private"]


class Entry(Part):
    """The ledger line that paid."""

    number: int = Field(ge=1)
    hash: str


class OfSchema(Part):
    """What learning the schema took before."""

    epsilon: float = Field(gt=0)
    delta: float = Field(ge=0, lt=1)
    ledger_entry: int = Field(ge=1)
    ledger_hash: str | None = None


class Invariant(Part):
    """Something taken as public, and who says so."""

    what: str
    vouched: str


class Tuning(Part):
    """Whether choices of parameters looked at the rows, and whether that was charged."""

    charged: bool
    statement: str


class Charge(Part):
    """A ledger line that the choice rests on: another candidate's run, or the choice itself."""

    number: int = Field(ge=1)
    hash: str
    epsilon: float = Field(ge=0, allow_inf_nan=False)
    delta: float = Field(ge=0, lt=1)
    what: Literal["run", "choice"]


class OwnPart(Part):
    """The guarantee of the card's own run, before others were counted with it."""

    epsilon: float = Field(gt=0, allow_inf_nan=False)
    delta: float = Field(ge=0, lt=1)
    epsilon_derived: float = Field(ge=0, allow_inf_nan=False)


class Selection(Part):
    """How the release was chosen among candidates, and what the card counts beside its own run."""

    how: str
    in_words: str
    covered: bool | None
    of_which_this_run: OwnPart | None = None
    charges: list[Charge] | None = None


class Weight(Part):
    """The column that is the weight of its row, and what the release knows of weighted rows."""

    column: str
    statement: str


class Fit(Part):
    """How far the model is from the released answers, in squared deviations of their noise."""

    loss: float = Field(ge=0)
    expected: float = Field(ge=0)
    ratio: float = Field(ge=0)
    pairs: float = Field(ge=0)


class Prior(Part):
    """A public table, or an earlier release with its epsilon, that the model was drawn to."""

    name: str
    sha256: str
    rows: int = Field(ge=0)
    columns: list[str]
    reason: str
    epsilon: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    delta: float | None = Field(default=None, ge=0, lt=1)


class TotalsStated(Part):
    """A published table of counts that the synthetic table agrees with."""

    columns: list[str]
    cells: int = Field(ge=1)
    rows: int = Field(ge=1)
    rounded: int = Field(ge=1)
    published: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    cells_off: int = Field(ge=0)


class AreasStated(Part):
    """A level of a declared tree: each area of a column lies within one of another's."""

    table: str | None = None
    column: str
    within: str
    areas: int = Field(ge=1)
    areas_above: int = Field(ge=1)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Earlier(Part):
    """An earlier release that this one rests on, by the hash of the ledger line that paid for it, and to whom it
    guarantees what; cards of earlier versions leave unit and relation out."""

    dataset: str | None
    created: str
    unit: str | None = None
    relation: str | None = None
    max_rows_of_a_unit: int | None = Field(default=None, ge=1)
    public_columns: list[str] | None = None
    epsilon: float = Field(ge=0, allow_inf_nan=False)
    delta: float = Field(ge=0, lt=1)
    hash: str


class SiteCharge(Part):
    """A site of several to which one generator was fitted: what its own rows cost, by its own ledger."""

    site: str
    dataset: str | None
    epsilon_derived: float = Field(ge=0, allow_inf_nan=False)
    ledger_entry: Entry


class Apart(Part):
    """The sum of guarantees of one kind: the same unit, relation and public columns."""

    unit: str
    relation: str
    max_rows_of_a_unit: int = Field(ge=1)
    public_columns: list[str]
    epsilon: float = Field(gt=0, allow_inf_nan=False)
    delta: float = Field(ge=0)


class InAll(Part):
    """The sum for whoever is in a release and in all earlier ones that it rests on; unlike guarantees stand apart."""

    epsilon: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    delta: float | None = Field(default=None, ge=0)
    apart: list[Apart] | None = None
    statement: str


class Form(Part):
    """A release card."""

    model_config = ConfigDict(title="Card")

    format: Literal["facsimile-card/1"]
    product: str
    created: str
    dataset: str | None
    method: str
    relation: Literal["add_remove", "replace_one", "zero_out"]
    relation_in_words: str
    unit: str
    max_rows_of_a_unit: int = Field(ge=1)
    variant: str
    epsilon: float = Field(gt=0, allow_inf_nan=False)
    delta: float = Field(ge=0, lt=1)
    epsilon_derived: float = Field(ge=0, allow_inf_nan=False)
    meaning: str
    mechanisms: list[Mechanism] = Field(min_length=1)
    accountant: Accountant
    noise_source: str
    exportable: bool
    floating_point: str
    rows: Rows
    public_facts: dict[str, str]
    invariants: list[Invariant]
    tuning: Tuning
    selection: Selection
    randomness: dict[str, Any]
    composition: str
    trust: str
    identifiers: list[str]
    post_processing: str
    schema_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    ledger_entry: Entry
    versions: dict[str, str]
    of_which_schema: OfSchema | None = None
    weight: Weight | None = None
    fit: Fit | None = None
    priors: list[Prior] | None = None
    totals: list[TotalsStated] | None = None
    areas: list[AreasStated] | None = None
    earlier_releases: list[Earlier] | None = None
    in_all_releases: InAll | None = None
    sites: list[SiteCharge] | None = None


def json_schema() -> dict[str, Any]:
    """The JSON schema of a card."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Form.model_json_schema()}
