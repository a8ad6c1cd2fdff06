"""One walk of a canary's table, or tables, from file to release folder."""

import tempfile
from pathlib import Path

from synth.evaluate.audit.observed_runs import Observation, observed_run
from synth.evaluate.audit.whole_tables import placed
from synth.generators.core import related_questions as scout
from synth.pipeline.request import RunRequest
from synth.privacy.relation import Relation
from tests.planted.suspects import swapped


def once(canary, table) -> Observation:
    """What is asked twice of related tables follows noisy answers, and differs from run to run: here nothing does."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        method = "mixture" if canary.tree or canary.prior else "independent"
        request = RunRequest(epsilon=1.0, delta=1e-5, method=method)
        with placed(canary, table, place) as (written, source), swapped(scout, "FAINT", float("inf")):
            return observed_run(written, source, request, canary.schema, place)


def reported_alike(canary, *, least: int) -> None:
    """Neighbouring tables tell the same in all that no noise covers, which are so many texts at least."""
    one, other = (once(canary, table) for table in canary.tables(Relation.ADD_REMOVE))
    refused = canary.refused
    assert one.texts["exit code"] == ("2" if refused else "0"), one.texts["message"]
    assert uncovered(one) == uncovered(other)
    assert "CANARY" not in "".join(one.texts.values())
    assert len(uncovered(one)) > least or refused


def uncovered(shown: Observation) -> dict[str, str]:
    """What no noise covers: all texts but the digests of noised files."""
    return {n: t for n, t in shown.texts.items() if "sha256" not in n or "schema" in n}
