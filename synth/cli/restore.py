"""`synth ledger backup`, `restore`, `import`, `grant`: copies of ledgers, and a ledger's way onto a server."""

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
    from synth.privacy.ledger import copies
    from synth.privacy.ledger.copies import backup

    lines = backup(copies.at(ledger), out)
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

    from synth.privacy.ledger import copies
    from synth.privacy.ledger.copies import restore

    made = restore(copies.at(ledger), backup)
    if as_json:
        say(asdict(made))
        return
    print(f"{made.lines} lines restored" + (f"; the damaged file is {made.aside}" if made.aside else ""))
    for name, (epsilon, delta) in made.charged.items():
        print(f"{name}: epsilon {epsilon:g}, delta {delta:g} charged for runs that the backup does not hold")


def ledger_import(
    old: Annotated[Path, typer.Argument(help="The ledger's file; it takes no spend afterwards.")],
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Move a ledger's file onto a server.

    Lines, hashes, key and notes stay as they are. The file takes no spend afterwards: no budget is there twice.
    """
    from dataclasses import asdict

    from synth.privacy.ledger import copies
    from synth.privacy.ledger.copies import take_over

    made = take_over(copies.at(ledger), old)
    if as_json:
        say(asdict(made))
        return
    print(f"{made.lines} lines are on the server; the file takes no spend any more")


def ledger_grant(
    role: Annotated[str, typer.Argument(help="The server's role for runs and the application.")],
    ledger: LedgerOpt = None,
    as_json: JsonOpt = False,
) -> None:
    """Let a server's role add lines to its ledger.

    Makes the ledger where there is none. Asked by the role that is to own its tables; the other one can then add and
    read lines, and neither alter nor remove any.
    """
    from synth.privacy.ledger.ledger import Ledger

    book = Ledger(ledger)
    book.grant(role)
    if as_json:
        say({"role": role, "lines": book.page(size=1)[1]})
        return
    print(f"{role} may add lines to the ledger and read them")
