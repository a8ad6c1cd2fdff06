"""Whose datasets a visitor reads in the ledger: a steward's own, all for a reviewer and for the only user.

A dataset's name is often that of a file, so that names alone would tell what others work on.
"""

import synth
from app.session import access
from synth.app_api import jobs


def seen(names: list[str]) -> list[str]:
    """Those of the datasets whose lines the visitor may read. Errors: UsageError."""
    who = access.allow("read_ledger")
    if who.may("read_any_dataset"):
        return names
    rules, book, own = access.rules(), synth.Ledger(), _with_runs_of(who.name)
    return [n for n in names if n in own or rules.named(who, n) or getattr(book.policy(n), "actor", None) == who.name]


def _with_runs_of(person: str) -> set[str]:
    result = set()
    for job in jobs.listing():
        try:
            request = job.request()
        except synth.SynthError:
            continue
        if request.get("owner") == person:
            result.add(str(request.get("dataset")))
    return result
