"""`synth statistics`: means, quantiles and group counts, paid for."""

import json
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import check_writable, names, say, write_text
from synth.cli.options import (
    ApprovedByOpt,
    AssumeOpt,
    DatasetOpt,
    DeltaOpt,
    EpsilonOpt,
    JsonOpt,
    LedgerOpt,
    MaxRowsOpt,
    ReasonOpt,
    RelationOpt,
    SchemaOpt,
    TableArg,
    UnitOpt,
    assumed,
    reasons,
    run_id,
)
from synth.cli.rights import SeparateOpt, may_spend


def statistics(
    table: TableArg,
    schema: SchemaOpt,
    ask: Annotated[
        list[str], typer.Option("--ask", help="mean:COL, quantile:COL:0.5, count:COL*COL, weight:COL*COL; repeatable.")
    ],
    epsilon: EpsilonOpt,
    delta: DeltaOpt = 1e-5,
    relation: RelationOpt = "add_remove",
    unit: UnitOpt = None,
    max_rows: MaxRowsOpt = None,
    out: Annotated[Path, typer.Option("--out", help="The .json file to write.")] = Path("statistics.json"),
    ledger: LedgerOpt = None,
    dataset: DatasetOpt = None,
    assume_public: AssumeOpt = None,
    reason: ReasonOpt = None,
    approved_by: ApprovedByOpt = None,
    separate: SeparateOpt = False,
    as_json: JsonOpt = False,
) -> None:
    """Release noisy statistics of a table; charges the ledger.

    `synth report --publishable --statistics` shows them in the publishable report.
    """
    from synth.pipeline import statistics as paid
    from synth.schema import table as schemas

    check_writable(out)  # before anything is spent
    wanted = [part for text in ask for part in names(text)]
    result = paid.statistics(
        table,
        schema=schemas.load(schema),
        ask=wanted,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        unit=unit,
        max_rows=max_rows,
        ledger=ledger,
        dataset=dataset,
        assume_public=assumed(assume_public),
        reasons=reasons(reason),
        approved_by=approved_by,
        run=run_id(),
        separate=separate,
        may_spend=may_spend(),
    )
    write_text(out, json.dumps(result.plain(), indent=1, ensure_ascii=False) + "\n")
    if as_json:
        say({"epsilon_spent": epsilon, "delta": delta, **result.plain(), "paths": {"statistics": str(out)}})
        return
    for one in result.answers:
        if "cells" in one:
            what = "weights" if one["kind"] == "weight" else "counts"
            print(f"{one['ask']}: {len(one['cells'])} {what}, each give or take {one['half']:.1f}")
        else:
            print(f"{one['ask']}: {one['value']} ({one['low']} to {one['high']})")
    print(f"charged: epsilon {epsilon:g}, delta {delta:g}; {out}")
