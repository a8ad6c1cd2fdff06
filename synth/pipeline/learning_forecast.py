"""A forecast of the facts that a run is to learn first: the share of the budget, and what is too rare to be learnt."""

from math import sqrt

from synth.generators.method import Method
from synth.mechanisms import values as stability
from synth.pipeline import rehearsal
from synth.pipeline.learn_schema import CLEAR, lacking, noise_of
from synth.pipeline.plan_result import LearningForecast
from synth.pipeline.schema_approval import AnySchema, check_left, learning_share, to_learn
from synth.privacy.accounting.composition import Event, epsilon_of
from synth.privacy.curator import Grant
from synth.schema.dataset import Dataset
from synth.schema.table import CATEGORICAL, Schema


def to_be_learnt(schema: AnySchema, asked: float | None) -> tuple[AnySchema, float]:
    """The schema without what nobody vouches for, and the share of the budget for it. Errors: UsageError, InputError.

    Privacy: public only.
    """
    if asked is None:
        return schema, 0.0
    check_left(asked)
    bare = to_learn(schema, False, lambda _: None)
    return bare, learning_share(bare, asked)


def rehearsed(
    questions: Method, schema: Schema | Dataset, grant: Grant, share: float
) -> tuple[Schema | Dataset, LearningForecast, tuple[Event, ...], Grant]:
    """A schema with made-up facts, what is said of learning them, its price, and the grant that is left.

    Errors: UsageError for what the run would be refused for. Privacy: public only.
    """
    own, mu = rehearsal.share(grant, share, failures=True, alone=False), grant.mu * sqrt(share)
    result, events = rehearsal.learning(questions, schema, own, mu)
    names = lacking(schema)
    words = sum(schema.all_columns[n].type in CATEGORICAL for n in names)
    sigma = noise_of(len(names), grant.adjacency, mu=mu)
    part = {"sigma": sigma, "failure_delta": grant.failure_delta / max(words, 1)}
    said = LearningForecast(
        share=share,
        epsilon=epsilon_of(events, own.left_delta),
        columns=names,
        category=stability.threshold(grant.adjacency, **part) if words else None,
        bound=CLEAR * sigma,
        seen=grant.adjacency.max_rows,
    )
    return result, said, events, rehearsal.share(grant, 1 - share, failures=False, alone=False)
