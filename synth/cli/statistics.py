"""`synth statistics`: means, quantiles and group counts, paid for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import charged, check_writable, names
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
from synth.cli.rights import SeparateOpt, audience


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
        audience=audience(),
    )
    lines, spent = map(_line, result.answers), {"epsilon": epsilon, "delta": delta}
    charged(out, "statistics", result.plain(), lines, spent=spent, as_json=as_json)


def _line(one: dict[str, Any]) -> str:
    if "cells" not in one:
        return f"{one['ask']}: {one['value']} ({one['low']} to {one['high']})"
    what = "weights" if one["kind"] == "weight" else "counts"
    return f"{one['ask']}: {len(one['cells'])} {what}, each give or take {one['half']:.1f}"
