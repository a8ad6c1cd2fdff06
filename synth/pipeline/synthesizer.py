"""A method as an object that is fitted, drawn from and saved: the convention of SDV and scikit-learn, over `run`."""

import inspect
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from synth.errors import InputError, UsageError, meant
from synth.pipeline.private_rows import Source
from synth.pipeline.reporting import Reporter
from synth.pipeline.request import RunOptions, RunRequest
from synth.pipeline.run import run
from synth.pipeline.sample import sample
from synth.release import folder
from synth.schema.dataset import check_schema
from synth.schema.table import Schema
from synth.sources.named_databases import shown

if TYPE_CHECKING:
    import pandas as pd

    from synth.pipeline.result import Result


NOT_HERE = ("version", "out", "ask", "run", "owner", "label")  # fields of a request


class Synthesizer:
    """A method under names that harnesses know: ``fit``, ``sample``, ``save``, ``load``, ``get_params``.

    ``schema``: the public facts of the table. ``epsilon``, ``delta``: of each fit. All else as of ``synth.run``, the
    method's own options as ``options``. As scikit-learn has it, what is given is kept untouched and first looked at by
    ``fit``, which refuses whatever ``run`` refuses, before the spend.

    Until it is saved, the release lies in a temporary folder that goes with the object: what was paid for and not
    saved is lost. There is nothing in it but released answers, and what was made of them.

    **Guarantee**: each ``fit`` is a run of its own, (epsilon, delta)-DP, charged to the dataset's ledger; two are two
    charges. All else is free. Errors: UsageError.

    Privacy: reads rows, under noise.

    >>> Synthesizer(epsilon=1.0, method="mst")
    Synthesizer(epsilon=1.0, method='mst')
    """

    schema: Schema | None
    epsilon: float | None
    source: str | None
    result: "Result | None" = None
    _place: Path | None = None
    _held: "tempfile.TemporaryDirectory[str] | None" = None

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        **options: Unpack[RunOptions],
    ) -> None:
        given = SIGNATURE.bind(schema, epsilon=epsilon, delta=delta, **options)
        given.apply_defaults()
        vars(self).update(given.arguments)

    def fit(
        self,
        X: Source,
        y: None = None,
        *,
        epsilon: float | None = None,
        reporter: Reporter | None = None,
        **handed: Any,
    ) -> Self:
        """Charges the ledger with epsilon and delta, measures the table and fits the method.

        ``X``: a path, or a frame, for which a ``dataset`` must be named; ``y``: nothing, as scikit-learn has it.
        ``epsilon``: in place of the object's own. ``reporter``: is told of progress; by default a line in a terminal
        or a notebook. ``handed``: what else ``run`` takes beside its options. Errors: as of ``run``; UsageError without
        a schema or an epsilon. A fit that is refused leaves the one before.
        """
        del y
        epsilon = self.epsilon if epsilon is None else epsilon
        check_schema(self.schema, tree=True)
        assert self.schema is not None
        if self.schema.several:
            raise UsageError("Synthesizer: is for one table; make related tables with synth.run")
        if epsilon is None:
            raise UsageError("Synthesizer: epsilon is missing; name it when the object is made, or by set_params")
        folder = tempfile.TemporaryDirectory(prefix="synthesizer-")
        params = {**self.get_params(), "epsilon": epsilon}
        result = run(X, out=folder.name, reporter=reporter, **params, **handed)
        self.result, self._held, self._place = result, folder, Path(folder.name)
        return self

    def sample(
        self, num_rows: int | None = None, conditions: Mapping[str, str] | None = None, *, seed: int | None = None
    ) -> "pd.DataFrame":
        """Rows of the fitted model, free: numbers and dates as such, categories as text, missing values as null.

        ``num_rows``: default the model's own number, times the probability of the conditions. ``conditions``: by column
        a value, ``a|b``, or ``low..high``. Errors: UsageError before a fit, or for a condition that cannot be met.
        """
        return sample(self._fitted(), num_rows=num_rows, where=conditions, seed=seed)[0]

    def save(self, place: str | Path) -> None:
        """Writes the release into a new folder, as ``synth.run`` writes it, so that ``synth.bundle`` packs it.

        Errors: UsageError before a fit, where something lies there already, or nothing can be written.
        """
        release, place = self._fitted(), Path(place)
        if place.exists():
            raise UsageError(f"{place}: exists already; name a new folder")
        folder.check_out(place)
        try:
            shutil.copytree(release, place)
        except OSError as error:
            raise UsageError("{}: cannot be written ({}); name another folder", place, error) from None

    @classmethod
    def load(cls, place: str | Path) -> Self:
        """The fitted object from a folder that ``save`` or ``run`` wrote, read in place. Errors: InputError."""
        stored = folder.load_release(place)
        folder.load_model(place)
        try:
            epsilon, delta = float(stored.card["epsilon"]), float(stored.card["delta"])
            relation = str(stored.card["relation"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{place}: the card is damaged; make it again or use another copy") from None
        made = cls(
            stored.setting.schema,
            epsilon=epsilon,
            delta=delta,
            method=stored.method,
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the object was made with, by name, as scikit-learn asks for. ``deep``: there is nothing deeper."""
        del deep
        return {name: getattr(self, name) for name in SIGNATURE.parameters}

    def set_params(self, **params: Any) -> Self:
        """Changes some of them for the next ``fit``. Errors: UsageError for an unknown one."""
        for name in params:
            if name not in SIGNATURE.parameters:
                raise UsageError(f"Synthesizer: {name} is none of its parameters; {meant(name, SIGNATURE.parameters)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {n: p.default for n, p in SIGNATURE.parameters.items()}
        changed = {n: v for n, v in self.get_params().items() if v is not usual[n] and v != usual[n]}
        if "source" in changed:
            changed["source"] = shown(str(self.source))  # without a password
        return f"Synthesizer({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def _fitted(self) -> Path:
        if self._place is None:
            raise UsageError("Synthesizer: is not fitted yet; call fit(table) or load(folder)")
        return self._place


def _signature() -> inspect.Signature:
    """The constructor's: the fields of a request, but for what ``fit`` and ``save`` stand for, with their defaults."""
    fields = {n: f for n, f in RunRequest.model_fields.items() if n not in ("table", "schema_file", *NOT_HERE)}
    usual = {n: None if f.default == {} else f.default for n, f in fields.items()}
    named = {"schema": None, **usual, "epsilon": None, "delta": 1e-5}
    kinds = {"schema": inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return inspect.Signature(
        [inspect.Parameter(n, kinds.get(n, inspect.Parameter.KEYWORD_ONLY), default=d) for n, d in named.items()]
    )


SIGNATURE = _signature()
Synthesizer.__signature__ = SIGNATURE  # type: ignore[attr-defined]
