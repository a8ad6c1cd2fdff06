"""What a run would take of a prior, and what it would refuse: said before any spend, without the private table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from synth.errors import SynthError, likely
from synth.pipeline.methods import generator_named
from synth.pipeline.priors import encoded, stated
from synth.privacy.relation import relation_named
from synth.schema.dataset import ONE
from synth.schema.table import Schema

METHOD = "mixture"


@dataclass(frozen=True, kw_only=True)
class PriorLook:
    """A prior as the schema reads it. ``refused``: why a run would not take it, in one line; then no more is known.

    ``columns``: covered; ``lacking``: of the schema, which it has not; ``left_out``: its own, which the schema has not.
    ``alike``: of those, by name, the column of the schema that may be meant. ``lost``: by column, cells that hold none
    of the schema's values. ``epsilon``: of an earlier release.

    Privacy: public only.
    """

    name: str
    sha256: str = ""
    rows: int = 0
    reason: str = ""
    columns: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    alike: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    epsilon: float | None = None
    refused: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    def in_words(self) -> str:
        """A line or two."""
        if self.refused:
            return self.refused
        reported = [f"prior {self.name}: {self.rows:,} rows, {len(self.columns)} columns as the schema has them"]
        reported += [f"not in it: {', '.join(self.lacking)}"] if self.lacking else []
        reported += [f"left out: {', '.join(self.left_out)}"] if self.left_out else []
        reported += [f"{theirs} may be {ours}: rename it" for theirs, ours in self.alike.items()]
        reported += [f"{n}: {many:,} cells hold none of the schema's values" for n, many in self.lost.items()]
        return "; ".join(reported)


def look(
    prior: Sequence[Any],
    *,
    schema: Schema,
    prior_reason: str | Sequence[str] | None = None,
    method: str = METHOD,
    relation: str = "add_remove",
    ledger: Any = None,
) -> list[PriorLook]:
    """Each prior as a run with this schema would take it, or why it would not. Opens no private table.

    ``prior``, ``prior_reason``, ``method``, ``relation``, ``ledger``: as of ``run``; the schema is complete. Errors:
    UsageError for a method or relation that there is not. Privacy: public only.
    """
    questions = generator_named(method, relation_named(relation))
    said = [prior_reason] * len(prior) if prior_reason is None or isinstance(prior_reason, str) else prior_reason
    paths = [str(path) for path in prior]
    how: dict[str, Any] = {"beside": paths, "ledger": ledger}
    return [_one(path, why, schema, questions, how) for path, why in zip(paths, said, strict=True)]


def _one(path: str, why: str | None, schema: Schema, questions: Any, how: Mapping[str, Any]) -> PriorLook:
    try:
        (one,) = stated([path], why, schema, questions, **how)
        (rows,) = encoded([one], schema)
    except SynthError as error:
        return PriorLook(name=path.rsplit("/", 1)[-1], refused=str(error))
    lacking = tuple(n for n in schema.measured() if n not in one.columns[ONE])
    meant = {n: likely(n, lacking).removeprefix("did you mean ").rstrip("?") for n in one.others if lacking}
    return PriorLook(
        name=one.name,
        sha256=rows.sha256,
        rows=rows.num_rows,
        reason=one.reason,
        columns=one.columns[ONE],
        lacking=lacking,
        left_out=one.others,
        alike={theirs: ours for theirs, ours in meant.items() if ours},
        lost=rows.lost_by,
        epsilon=one.cards[0]["epsilon"] if one.cards else None,
    )
