"""A finished plan: what will be spent, what will be asked, and of which rows; the rest of a run only carries it out."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, cast

from synth.generators.base import Generator, Questions
from synth.mechanisms import counts
from synth.pipeline import rehearsal
from synth.pipeline.methods import is_gaussian
from synth.pipeline.private_rows import Rows
from synth.pipeline.request import RunRequest
from synth.privacy.curator import Grant
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.schema.table import Schema


def spend_line(plan: Any, question: dict[str, Any], *, engine: str, noise_source: str) -> Spend:
    """The ledger line of a plan, of one table or of several."""
    request, adjacency = plan.request, plan.grant.adjacency
    named = {"actor": request.actor} if request.actor else {}
    return Spend(
        dataset=plan.dataset,
        epsilon=plan.grant.epsilon,
        delta=plan.grant.delta,
        relation=str(adjacency.relation),
        unit=adjacency.unit,
        engine=engine,
        noise_source=noise_source,
        question=question,
        approved_by=request.approved_by,
        run=request.run,
        **named,
    )


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A checked request: ``questions`` of the complete schema, within ``grant``, charged to ``dataset`` in ``book``."""

    request: RunRequest
    rows: Rows
    schema: Schema
    questions: Questions
    grant: Grant
    learn_share: float
    dataset: str
    device: str
    book: Ledger

    @property
    def generator(self) -> Generator:
        """The questions' method, which also makes rows of their answers; only where a table is asked for."""
        return cast("Generator", self.questions)

    def check(self) -> None:
        """All that the method and the curator would refuse, rehearsed on made-up rows. Errors: UsageError."""
        share, alone = self.learn_share, self.learn_share in (0, 1)
        learnt = None
        if share > 0:
            learnt = rehearsal.share(self.grant, share, failures=True, alone=alone), self.grant.mu * sqrt(share)
        measured = rehearsal.share(self.grant, 1 - share, failures=False, alone=alone)
        rehearsal.check(self.questions if share < 1 else None, self.schema, measured, learnt=learnt)

    def spend(self, *, noise_source: str) -> Spend:
        """The ledger line that pays for the whole run."""
        question = {
            "method": self.questions.name,
            "columns": list(self.schema.measured()),
            "target": self.schema.target,
            **({"learns": True} if self.learn_share == 1 else {}),
            **({"mu": self.grant.mu} if is_gaussian(self.questions) else {}),
            "sensitivity": counts.sensitivity(self.grant.adjacency),
            "max_rows": self.grant.adjacency.max_rows,
        }
        return spend_line(self, question, engine=self.rows.place.engine, noise_source=noise_source)
