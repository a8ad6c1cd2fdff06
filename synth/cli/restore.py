"""`synth ledger backup` and `restore`: a copy; a backup in a lost ledger's place, with what was lost charged."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import JsonOpt, LedgerOpt


def ledger_backup(
    out: Annotated[Path, typer.Argument(help="A new file; the key goes beside it, as FILE.key.")],
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Copy the ledger, even while runs are spending.

    Keep the copy elsewhere, encrypted.
    """
    from synth.privacy.ledger.backup import backup
    from synth.privacy.ledger.ledger import default_path

    lines = backup(ledger or default_path(), out)
    if as_json:
        say({"lines": lines, "ledger": str(out), "key": f"{out}.key"})
        return
    print(f"{lines} lines copied to {out}, the key to {out}.key")


def ledger_restore(
    backup: Annotated[Path, typer.Argument(help="A copy of the ledger, made earlier.")],
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Put a backup in the ledger's place.

    Spends that the backup lacks are charged again as far as they are known.
    """
    from dataclasses import asdict

    from synth.privacy.ledger.ledger import default_path
    from synth.privacy.ledger.restore import restore

    made = restore(ledger or default_path(), backup)
    if as_json:
        say(asdict(made))
        return
    print(f"{made.lines} lines restored" + (f"; the damaged file is {made.aside}" if made.aside else ""))
    for name, (epsilon, delta) in made.charged.items():
        print(f"{name}: epsilon {epsilon:g}, delta {delta:g} charged for runs that the backup does not hold")
