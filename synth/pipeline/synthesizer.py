"""A method as an object that is fitted, drawn from and saved: the convention of SDV and scikit-learn, over `run`."""

import inspect
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from synth.errors import InputError, UsageError, meant
from synth.pipeline.private_rows import Source
from synth.pipeline.reporting import Reporter, watched
from synth.pipeline.run import run
from synth.pipeline.sample import sample
from synth.release import folder
from synth.schema.given import check_schema
from synth.schema.names import MAX_CATEGORIES
from synth.schema.table import Schema
from synth.sources.named_databases import shown

if TYPE_CHECKING:
    import pandas as pd

    from synth.pipeline.result import Result


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

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        method: str = "mixture",
        options: Mapping[str, Any] | None = None,
        relation: str = "add_remove",
        target: str | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        linked: bool | None = None,
        learn_share: float | None = None,
        uses: str | Sequence[Any] = (),
        prior: str | Path | Sequence[str | Path] = (),
        prior_reason: str | Sequence[str] | None = None,
        num_rows: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        dataset: str | None = None,
        ledger: str | Path | None = None,
        source: str | None = None,
        assume_public: bool | Collection[str] = False,
        reasons: Mapping[str, str] | None = None,
        max_categories: int = MAX_CATEGORIES,
        actor: str | None = None,
        approved_by: str | None = None,
        raw_text: bool = False,
        dialect: str = "same",
        separate: bool = False,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.options = options
        self.relation = relation
        self.target = target
        self.unit = unit
        self.max_rows = max_rows
        self.linked = linked
        self.learn_share = learn_share
        self.uses = uses
        self.prior = prior
        self.prior_reason = prior_reason
        self.num_rows = num_rows
        self.seed = seed
        self.device = device
        self.dataset = dataset
        self.ledger = ledger
        self.source = source
        self.assume_public = assume_public
        self.reasons = reasons
        self.max_categories = max_categories
        self.actor = actor
        self.approved_by = approved_by
        self.raw_text = raw_text
        self.dialect = dialect
        self.separate = separate
        self.result: Result | None = None
        self._place: Path | None = None
        self._held: tempfile.TemporaryDirectory[str] | None = None

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
        held = tempfile.TemporaryDirectory(prefix="synthesizer-")
        params = {**self.get_params(), "epsilon": epsilon}
        with nullcontext(reporter) if reporter else watched() as reported:
            result = run(X, out=held.name, reporter=reported, **params, **handed)
        self.result, self._held, self._place = result, held, Path(held.name)
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
        results, place = self._fitted(), Path(place)
        if place.exists():
            raise UsageError(f"{place}: exists already; name a new folder")
        folder.check_out(place)
        try:
            shutil.copytree(results, place)
        except OSError as error:
            raise UsageError(f"{place}: cannot be written ({error.strerror}); name another folder") from None

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

    @property
    def release_schema(self) -> Schema:
        """The schema of the release: what was learnt is in it. Errors: UsageError before a fit."""
        return folder.load_model(self._fitted()).schema

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the object was made with, by name, as scikit-learn asks for. ``deep``: there is nothing deeper."""
        del deep
        return {name: getattr(self, name) for name in _defaults()}

    def set_params(self, **params: Any) -> Self:
        """Changes some of them for the next ``fit``. Errors: UsageError for an unknown one."""
        for name in params:
            if name not in _defaults():
                raise UsageError(f"Synthesizer: {name} is none of its parameters; {meant(name, _defaults())}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = {n: v for n, v in self.get_params().items() if v is not _defaults()[n] and v != _defaults()[n]}
        if "source" in changed:
            changed["source"] = shown(str(self.source))  # without a password
        return f"Synthesizer({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def _fitted(self) -> Path:
        if self._place is None:
            raise UsageError("Synthesizer: is not fitted yet; call fit(table) or load(folder)")
        return self._place


def _defaults() -> dict[str, Any]:
    """The parameters of the constructor, with their defaults."""
    named = inspect.signature(Synthesizer.__init__).parameters
    return {n: p.default for n, p in named.items() if n != "self"}
