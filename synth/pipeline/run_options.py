"""The keywords of ``synth.run`` beside table, schema, epsilon and delta, with their types."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class RunOptions(TypedDict, total=False):
    """Fields of ``synth.RunRequest``, which says what each means and checks it.

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
