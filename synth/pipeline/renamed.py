"""Functions of 0.1.0 for related tables alone, for one release more: what they did is done for one table as well."""

from typing import Any

from synth.pipeline.plan import plan
from synth.pipeline.sample import sample_to
from synth.schema.dataset import Dataset


def plan_related(schema: Dataset, *, roots: int, seconds: float = 30.0, **asked: Any) -> Any:
    """``plan``; a rehearsal of ``seconds`` is ``synth plan``'s. Errors: UsageError. Privacy: public only."""
    del seconds
    return plan(schema, rows=roots, **asked)


def sample_related(model: Any, out: Any, *, num_roots: int | None = None, **asked: Any) -> Any:
    """``sample_to`` of ``num_roots`` roots. Errors: InputError, UsageError. Privacy: released answers only."""
    return sample_to(model, out, num_rows=num_roots, **asked)
