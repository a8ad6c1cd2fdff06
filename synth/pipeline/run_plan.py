"""A finished plan: what will be spent, what will be asked, and of which rows; the rest of a run only carries it out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from synth.generators.method import Method
from synth.mechanisms import counts
from synth.pipeline import rehearsal
from synth.pipeline.methods import is_gaussian
from synth.pipeline.priors import Encoded, Prior
from synth.pipeline.private_rows import PrivateRows
from synth.pipeline.request import RunRequest
from synth.privacy.curator import Grant
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Schema
from synth.sources.formats.text_table import Table


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A checked request: ``questions`` of the complete schema, within ``grant``, charged to ``dataset`` in ``book``.

    ``rows``: by table; ``public``: tables to which private rows refer. ``priors``: public tables like the private one,
    encoded where the schema was complete before the run. ``preview``: what the card says of a run on public rows.
    ``checked_at``: the number of the ledger's last line by then.
    """

    request: RunRequest
    rows: Mapping[str, PrivateRows]
    schema: Schema | Dataset
    questions: Method
    grant: Grant
    learn_share: float = 0.0
    dataset: str
    device: str
    book: Ledger
    public: Mapping[str, Table] = field(default_factory=dict)
    priors: tuple[Prior | Encoded, ...] = ()
    preview: Mapping[str, Any] | None = None
    checked_at: int = 0

    @property
    def engine(self) -> str:
        """What reads the rows, for ledger and card."""
        return "+".join(sorted({r.place.engine for r in self.rows.values()}))

    def check(self) -> None:
        """All that the method and the curator would refuse, rehearsed on made-up rows. Errors: UsageError."""
        share, alone = self.learn_share, self.learn_share in (0, 1)
        learnt = None
        if share > 0:
            learnt = rehearsal.share(self.grant, share, failures=True, alone=alone), self.grant.mu * sqrt(share)
        measured = rehearsal.share(self.grant, 1 - share, failures=False, alone=alone)
        priors = tuple(p for p in self.priors if isinstance(p, Encoded))
        asked = self.questions if share < 1 else None
        rehearsal.check(asked, self.schema, measured, learnt=learnt, priors=priors)

    def spend(self, *, noise_source: str) -> Spend:
        """The ledger line that pays for the whole run."""
        request, adjacency = self.request, self.grant.adjacency
        question = {
            "method": self.questions.name,
            **_asked_of(self.schema),
            **({"learns": True} if self.learn_share == 1 else {}),
            **({"mu": self.grant.mu} if is_gaussian(self.questions) else {}),
            "sensitivity": counts.sensitivity(adjacency),
            "max_rows": adjacency.max_rows,
            **({"public_columns": adjacency.public_columns} if adjacency.public_columns else {}),
        }
        actor = request.actor or request.owner
        named = {"actor": actor} if actor else {}
        return Spend(
            dataset=self.dataset,
            epsilon=self.grant.epsilon,
            delta=self.grant.delta,
            relation=adjacency.stated,
            unit=adjacency.unit,
            engine=self.engine,
            noise_source=noise_source,
            question=question,
            approved_by=request.approved_by,
            run=request.run,
            **named,
        )


def _asked_of(schema: Schema | Dataset) -> dict[str, Any]:
    """What the ledger says of the columns."""
    if schema.several:
        return {
            "tables": {n: list(s.measured()) for n, s in schema.tables.items()},
            "keys": [k.model_dump(mode="json", exclude_none=True) for k in schema.keys],
        }
    table = schema.written[ONE]
    linked = {} if schema.tree is None else {"linked": True}
    return {"columns": list(table.measured()), "target": table.target, **linked}
