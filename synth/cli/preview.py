"""`synth preview`: the whole way of a run on public rows, before anything is spent."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import (
    DeltaOpt,
    EpsilonOpt,
    JsonOpt,
    LanguageOpt,
    LedgerOpt,
    OptionOpt,
    PriorOpt,
    PriorReasonOpt,
    RelationOpt,
    SchemaOpt,
    SeedOpt,
    TargetOpt,
    one_or_each,
    parse_options,
)


def preview(
    schema: SchemaOpt,
    rows: Annotated[int, typer.Option("--rows", help="Rows expected in the private table; a guess will do.")],
    prior: PriorOpt = None,
    prior_reason: PriorReasonOpt = None,
    epsilon: EpsilonOpt = 1.0,
    delta: DeltaOpt = 1e-5,
    relation: RelationOpt = "add_remove",
    target: TargetOpt = None,
    option: OptionOpt = None,
    seed: SeedOpt = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the preview.")] = Path("preview"),
    ledger: LedgerOpt = None,
    language: LanguageOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """See a run's pages, made of public rows; spends nothing.

    The private table is not read: public rows stand in for it, the whole way.
    """
    from synth.pipeline.priors import look
    from synth.report.preview import preview as previewed
    from synth.report.words import written
    from synth.schema import dataset as schemas

    facts, why = schemas.load_any(schema), one_or_each(prior_reason)
    with written(language):
        result = previewed(
            facts,
            out,
            prior=prior or (),
            prior_reason=why,
            rows=rows,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            target=target,
            options=parse_options(option or []),
            seed=seed,
            ledger=ledger,
        )
    looks = look(prior or (), schema=facts.tables[facts.root], prior_reason=why, relation=relation, ledger=ledger)
    if as_json:
        say({**result.plain(), "priors": [one.plain() for one in looks]})
        return
    print(result.statement)
    for one in looks:
        print(one.in_words())
    for name in ("comparison", "report", "card_page"):
        print(result.paths[name])
