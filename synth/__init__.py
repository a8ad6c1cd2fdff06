"""Synthetic tables with a differential-privacy guarantee that is true end to end.

This file is the library's interface: whatever it does not name is an implementation detail.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth import jobs
    from synth.card import meaning, odds
    from synth.drafting import draft
    from synth.errors import BudgetError, InputError, SpentError, SynthError, UsageError
    from synth.evaluate.fidelity import compare
    from synth.pipeline import learn_schema, refit, run, sample
    from synth.planning import plan
    from synth.privacy.ledger import Ledger
    from synth.request import methods
    from synth.result import Result
    from synth.schema import Schema, load, parse

__version__ = "0.1.0"

# Name -> module. Loaded when first used: torch and pandas cost seconds that `synth ledger show` does not need.
_HOME = {
    "BudgetError": "errors", "InputError": "errors", "SpentError": "errors", "SynthError": "errors",
    "UsageError": "errors", "Schema": "schema", "load": "schema", "parse": "schema", "draft": "drafting",
    "run": "pipeline", "refit": "pipeline", "sample": "pipeline", "Result": "result",
    "learn_schema": "pipeline", "plan": "planning",
    "Ledger": "privacy.ledger", "meaning": "card", "odds": "card", "methods": "request",
    "compare": "evaluate.fidelity",
}  # fmt: skip

__all__ = [
    "BudgetError",
    "InputError",
    "Ledger",
    "Result",
    "Schema",
    "SpentError",
    "SynthError",
    "UsageError",
    "compare",
    "draft",
    "jobs",
    "learn_schema",
    "load",
    "meaning",
    "methods",
    "odds",
    "parse",
    "plan",
    "refit",
    "run",
    "sample",
]


def __getattr__(name: str) -> Any:
    if name == "jobs":
        return importlib.import_module("synth.jobs")
    if name in _HOME:
        return getattr(importlib.import_module(f"synth.{_HOME[name]}"), name)
    raise AttributeError(f"module 'synth' has no attribute {name!r}")
