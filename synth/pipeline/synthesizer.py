"""A method as an object that is fitted, drawn from and saved: the convention of SDV and scikit-learn, over `run`."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from synth.errors import InputError, UsageError
from synth.pipeline.private_rows import Source
from synth.pipeline.request import RunRequest
from synth.pipeline.run import run
from synth.pipeline.sample import sample
from synth.release import folder
from synth.schema import codec
from synth.schema.given import check_schema
from synth.schema.related import Related
from synth.schema.table import Schema

if TYPE_CHECKING:
    import pandas as pd

    from synth.pipeline.result import Result

OWN = ("table", "schema_file", "epsilon", "out")  # fields of a request that this object fills in itself


class Synthesizer:
    """A method under names that harnesses know: ``fit``, ``sample``, ``save``, ``load``, ``get_params``.

    ``schema``: the public facts of the table. ``method``, ``delta`` and ``options``: the fields of
    ``synth.RunRequest``, as of ``run``: ``relation``, ``unit``, ``dataset``, ``ledger``, ``seed`` and others; the
    method's own options are ``options=...``. Nothing is checked against a table before ``fit``, which refuses whatever
    ``run`` refuses, before the spend.

    Until it is saved, the release lies in a temporary folder that goes with the object: what was paid for and not
    saved is lost. There is nothing in it but released answers, and what was made of them.

    **Guarantee**: each ``fit`` is a run of its own, (epsilon, delta)-DP, charged to the dataset's ledger; two are two
    charges. All else is free. Errors: UsageError for several tables, or an option that ``run`` does not have.

    Privacy: reads rows, under noise.
    """

    def __init__(self, schema: Schema, *, method: str = "mixture", delta: float = 1e-5, **options: Any) -> None:
        if isinstance(schema, Related):
            raise UsageError("Synthesizer: is for one table; make related tables with synth.run")
        check_schema(schema)
        _known(options)
        self.schema, self.method, self.delta, self._options = schema, method, delta, options
        self.result: Result | None = None
        self._place: Path | None = None
        self._held: tempfile.TemporaryDirectory[str] | None = None

    def fit(self, table: Source, *, epsilon: float, **handed: Any) -> Self:
        """Charges the ledger with epsilon and delta, measures the table and fits the method.

        ``table``: a path, or a frame, for which a ``dataset`` must be named. ``handed``: ``reporter`` and what else
        ``run`` takes beside its options. Errors: as of ``run``. A fit that is refused leaves the one before.
        """
        held = tempfile.TemporaryDirectory(prefix="synthesizer-")
        params = {n: v for n, v in self.get_params().items() if n != "schema"}
        result = run(table, schema=self.schema, epsilon=epsilon, out=held.name, **params, **handed)
        self.result, self._held, self._place = result, held, Path(held.name)
        return self

    def sample(
        self, num_rows: int | None = None, conditions: Mapping[str, str] | None = None, *, seed: int | None = None
    ) -> "pd.DataFrame":
        """Rows of the fitted model, free: numbers and dates as such, categories as text, a missing number as null.

        ``num_rows``: default the model's own number, times the probability of the conditions. ``conditions``: by column
        a value, ``a|b``, or ``low..high``. Errors: UsageError before a fit, or for a condition that cannot be met.
        """
        import pandas as pd
        import pyarrow as pa

        texts, _ = sample(self._fitted(), num_rows=num_rows, where=conditions, seed=seed)
        schema = self.release_schema
        typed = codec.typed({n: pa.array(texts[n], type=pa.string()) for n in texts.columns}, schema)
        return pd.DataFrame({n: a.to_pandas() for n, a in typed.items()})

    def save(self, place: str | Path) -> None:
        """Writes the release into a new folder: what ``synth run --out`` writes, so ``synth bundle`` packs it.

        Errors: UsageError before a fit, where something lies there already, or nothing can be written.
        """
        found, place = self._fitted(), Path(place)
        if place.exists():
            raise UsageError(f"{place}: exists already; name a new folder")
        folder.check_out(place)
        try:
            shutil.copytree(found, place)
        except OSError as error:
            raise UsageError(f"{place}: cannot be written ({error.strerror}); name another folder") from None

    @classmethod
    def load(cls, place: str | Path) -> Self:
        """The fitted object from a folder that ``save`` or ``synth run`` wrote, read in place. Errors: InputError."""
        stored = folder.load_release(place)
        folder.load_model(place)
        try:
            delta, relation = float(stored.card["delta"]), str(stored.card["relation"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{place}: the card is damaged; make it again or use another copy") from None
        made = cls(
            stored.setting.schema,
            method=stored.method,
            delta=delta,
            relation=relation,
            dataset=stored.card["dataset"],
            options=dict(stored.options),
        )
        made._place = Path(place)
        return made

    @property
    def release(self) -> Path:
        """The release's folder, temporary where it was not loaded. Errors: UsageError before a fit."""
        return self._fitted()

    @property
    def release_schema(self) -> Schema:
        """The schema of the release: what was learnt is in it. Errors: UsageError before a fit."""
        return folder.load_model(self._fitted()).schema

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the object was made with, by name, as scikit-learn asks for. ``deep``: there is nothing deeper."""
        del deep
        return {"schema": self.schema, "method": self.method, "delta": self.delta, **self._options}

    def set_params(self, **params: Any) -> Self:
        """Changes some of them for the next ``fit``. Errors: UsageError for an unknown one."""
        _known({n: v for n, v in params.items() if n not in ("schema", "method", "delta")})
        for name, value in params.items():
            if name in ("schema", "method", "delta"):
                setattr(self, name, value)
            else:
                self._options = {**self._options, name: value}
        return self

    def _fitted(self) -> Path:
        if self._place is None:
            raise UsageError("Synthesizer: is not fitted yet; call fit(table, epsilon=...) or load(folder)")
        return self._place


def _known(options: Mapping[str, Any]) -> None:
    """Errors: UsageError for an option that no run has, or that ``fit`` and ``save`` stand for."""
    for name in options:
        if name not in RunRequest.model_fields or name in OWN:
            raise UsageError(f"Synthesizer: {name} is none of its options; see synth.RunRequest")
