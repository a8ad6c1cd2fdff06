"""Synthetic tables with a differential-privacy guarantee that is true end to end.

This file is the library's interface: whatever it does not name is an implementation detail.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth import app_api
    from synth.errors import BudgetError, InputError, SpentError, SynthError, UsageError
    from synth.evaluate.fidelity import compare
    from synth.pipeline.combining import combine
    from synth.pipeline.federated import Site, federated
    from synth.pipeline.inference.estimates import estimates
    from synth.pipeline.methods import methods
    from synth.pipeline.online import online
    from synth.pipeline.plan import plan
    from synth.pipeline.result import Result
    from synth.pipeline.run import learn_schema, run
    from synth.pipeline.sample import sample
    from synth.pipeline.statistics import statistics
    from synth.pipeline.synthesizer import Synthesizer
    from synth.privacy.ledger.ledger import Ledger
    from synth.release.card.verify import check
    from synth.release.card.verify import load as card
    from synth.report.bundle import bundle
    from synth.report.handed_over import Release, report
    from synth.schema.table import Schema
    from synth.sources.draft_schema import draft

__version__ = "0.2.0"

# Name -> module[:name there]; nothing behind the colon is the module itself. Loaded when first used: torch and pandas
# cost seconds that `synth ledger show` does not need.
_HOME = {
    "BudgetError": "errors",
    "InputError": "errors",
    "Ledger": "privacy.ledger.ledger",
    "Release": "report.handed_over",
    "Result": "pipeline.result",
    "Schema": "schema.table",
    "Site": "pipeline.federated",
    "SpentError": "errors",
    "SynthError": "errors",
    "Synthesizer": "pipeline.synthesizer",
    "UsageError": "errors",
    "bundle": "report.bundle",
    "card": "release.card.verify:load",
    "check": "release.card.verify",
    "combine": "pipeline.combining",
    "compare": "evaluate.fidelity",
    "draft": "sources.draft_schema",
    "estimates": "pipeline.inference.estimates",
    "federated": "pipeline.federated",
    "learn_schema": "pipeline.run",
    "methods": "pipeline.methods",
    "mixtures": "generators.core.mixtures:",
    "online": "pipeline.online",
    "plan": "pipeline.plan",
    "report": "report.handed_over",  # once the room of that name is loaded, the room: it can be called, too
    "run": "pipeline.run",
    "sample": "pipeline.sample",
    "statistics": "pipeline.statistics",
}
__all__ = sorted([*_HOME, "__version__"])


def at_home(home: str, name: str) -> Any:
    """A name's value, from a place as ``_HOME`` writes it."""
    module, colon, inside = home.partition(":")
    loaded = importlib.import_module(f"synth.{module}")
    return loaded if colon and not inside else getattr(loaded, inside or name)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return at_home(_HOME[name], name)
    if name == "app_api":
        return importlib.import_module("synth.app_api")
    raise AttributeError(f"module 'synth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "app_api"]
