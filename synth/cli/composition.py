"""`synth ledger composition`: the same spends under five calculi."""

from pathlib import Path
from typing import Annotated, Any

import typer

from synth.cli.answer import say
from synth.cli.ledger import _ledger_name as ledger_name
from synth.cli.options import DatasetOpt, JsonOpt, LedgerOpt

NAMES = {"basic": "basic", "advanced": "advanced", "zcdp": "zCDP", "rdp": "RDP", "exact": "exact"}


def ledger_composition(
    table: Annotated[str, typer.Argument(help="Only this table's spends.")] = "",
    schema: Annotated[Path | None, typer.Option("--schema", help="Schema that may name the dataset.")] = None,
    dataset: DatasetOpt = None,
    ledger: LedgerOpt = None,
    delta: Annotated[float, typer.Option("--delta", help="Delta at which runs are composed that have none.")] = 1e-6,
    as_json: JsonOpt = False,
) -> None:
    """Compare the spends under five ways of accounting.

    Basic, advanced, zCDP, RDP and exact; for information only, the ledger adds up as before.
    """
    from synth.errors import UsageError
    from synth.privacy.accounting import compare_runs
    from synth.privacy.ledger.ledger import Ledger

    if not 0 < delta < 1:
        raise UsageError(f"delta {delta:g}: must lie between 0 and 1; 1e-6 is usual")
    book = Ledger(ledger)
    lines, wanted = book.entries(), ledger_name(table, dataset, schema, book) if table or dataset else None
    names = [wanted] if wanted else [t.dataset for t in book.summary() if t.runs]
    results = [compare_runs.ledger_composition(lines, name, at=delta) for name in names]
    if as_json:
        say({"ledger": book.store.shown, "datasets": results})
        return
    for one in results:
        _tell(one)
    print("for information: a policy caps the basic sum, which alone holds for runs chosen in sight of earlier results")


def _tell(one: dict[str, Any]) -> None:
    if one["reason"]:
        print(f"{one['dataset']}: {one['reason']}")
        return
    last = one["steps"][-1]
    print(f"{one['dataset']}: {last['runs']} runs together, at delta {last['delta']:g}")
    print("runs  " + "".join(f"{NAMES[c]:>10s}" for c in one["calculi"]))
    for step in one["steps"]:
        print(f"{step['runs']:4d}  " + "".join(f"{step[c]:10.4f}" for c in one["calculi"]))
