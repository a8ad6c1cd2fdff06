"""How a release was chosen, worked out for its card: what was compared, what was charged, and what may be said.

**Guarantee**: a release that was chosen by anything that looked at rows carries the sum of all that was looked at
(privacy/accounting/chosen.md); one chosen by exact scores carries none and is refused by whoever packs it.
"""

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError
from synth.generators import GENERATORS
from synth.privacy.accounting.guarantee import Guarantee
from synth.privacy.ledger.ledger import Entry
from synth.release import comparison_notes
from synth.release.card import choice
from synth.release.card.choice import CHOICE, Charge
from synth.release.card.statements import CHOICES
from synth.release.chosen import (
    APART,
    WAYS,
    Candidate,
    ChoiceLedger,
    charge,
    compared,
    everything,
    looks,
    releases,
    same,
    unstated,
)
from synth.release.comparison_notes import Note
from synth.release.statistics_file import load as load_statistics
from synth.report import private_selection


def look(release: str | Path, *, ledger: str | Path | None = None) -> None:
    """Notes that somebody compared a release with the real rows.

    ``ledger``: as of ``run``, the one that paid for the release; the note lies beside it. Errors: UsageError for
    another one, InputError where it cannot be noted.

    Privacy: public only.
    """
    one, book = Candidate.at(release), ChoiceLedger(ledger)
    comparison_notes.add(
        book.store, Note(what="look", line=one.line, table=one.table, dataset=book.dataset(one), by=_user())
    )


def compared_elsewhere(releases: Sequence[str | Path], *, dataset: str, ledger: str | Path | None = None) -> int:
    """How many releases of the dataset, other than these, somebody compared with the real rows.

    ``ledger``: as of ``run``, the one that paid for them.

    Errors: UsageError for another one, InputError where the notes cannot be read: they must not read as no look at all.

    Privacy: public only.
    """
    book, ours = ChoiceLedger(ledger), [Candidate.at(one) for one in releases]
    for one in ours:
        book.dataset(one)
    results, known = looks(book.store, dataset, but=set()), {(one.line, one.table) for one in ours}
    return len({(n.line, n.table) for n in results} - known)


def settle(
    release: str | Path,
    how: str | None,
    *,
    candidates: Sequence[str | Path] = (),
    paid: str | Path | None = None,
    ledger: str | Path | None = None,
) -> dict[str, Any]:
    """The release's card with how it was chosen and what that costs.

    ``how``: a key of ``statements.CHOICES``; None asks whether it can be left open. ``candidates``: the other
    candidates' folders. ``paid``: counts by which a paid selection decides. Errors: UsageError where the choice must be
    stated or does not fit what was noted, and for a ledger without the lines that paid for the releases; InputError
    where the counts chose another release, or guarantees of different relations or units would be added up.
    """
    one = Candidate.at(release)
    book = ChoiceLedger(ledger, one)
    if one.signed is not None and (was := one.signed["how"]) not in (how, None, "only"):
        if how is not None:
            raise UsageError(f"`how={how}`: a reviewer released it as {was}; what he signed stands")
        how = was
    others = [Candidate.at(b) for b in candidates]
    for candidate in (one, *others):
        book.dataset(candidate)
    if how is None:
        return unstated(one, book, compared(one, book), f"say how this one was chosen with `how=`: {WAYS}")
    if how not in CHOICES:
        raise UsageError(f"choice {how!r}: say one of {', '.join(CHOICES)}")
    charges = _charges(one, how, others, compared(one, book), paid, book)
    if how not in ("unstated", "only"):
        _note(one, how, book, charges, others)
    return choice.chosen(one.card, how, charges, [o.table for o in others])


def _charges(
    one: Candidate, how: str, others: list[Candidate], looked: list[Note], paid: str | Path | None, book: ChoiceLedger
) -> list[Charge]:
    """The ledger's lines that this way of choosing rests on."""
    if how in ("before", "scores"):
        return []
    if how in ("releases", "unstated", "only"):
        lines = [charge(e) for e in everything(one, book)]
        if how == "only" and (looked or not all(choice.counted(c, one.card) for c in lines)):
            raise UsageError(
                "other runs or learnings were charged to this dataset, so it is not the only candidate; say how it was "
                f"chosen: {WAYS}"
            )
        return [] if how == "only" else lines
    known = {(o.line, o.table) for o in others}
    if missing := {(n.line, n.table) for n in looked} - known:
        raise UsageError(
            f"{releases(len(missing))} compared with the real rows and not named; name each with `candidates=`"
        )
    if not others:
        raise UsageError(f"`how={how}`: name the other candidates with `candidates=`")
    charges = [c for o in others for c in _of(o, one, book)]
    return charges if how == "all" else [*_decided(one, others, paid, book), *charges]


def _of(other: Candidate, one: Candidate, book: ChoiceLedger) -> list[Charge]:
    """What another candidate cost: its run, and the schema that was learnt before."""
    if (kind := Guarantee.of(other.card)).kind != Guarantee.of(one.card).kind:
        raise InputError("candidates under different relations or units have guarantees that do not add up")
    line, own = other.card["ledger_entry"], choice.own(other.card)
    share = other.card.get("of_which_schema") or {"epsilon": 0.0, "delta": 0.0}
    epsilon, delta = (_less(own[name], share[name]) for name in ("epsilon", "delta"))
    alone = replace(kind, epsilon=epsilon, delta=delta)
    charges = [Charge(number=int(line["number"]), hash=other.line, guarantee=alone)]
    if (paid := book.schema(other)) is not None:  # of a run that learnt and measured, all of it
        most = {name: max(share[name], getattr(paid, name)) for name in ("epsilon", "delta")}
        charges.append(Charge(number=paid.number, hash=paid.hash, guarantee=replace(kind, **most)))
    return charges


def _less(whole: float, part: float) -> float:
    return choice.exact([whole, -part])


def _decided(one: Candidate, others: list[Candidate], paid: str | Path | None, book: ChoiceLedger) -> list[Charge]:
    """The line of the counts that chose this release among the others, and every other answer that was bought since
    the first of them was made: who buys until a favourite wins has looked at all. Errors: InputError where the counts
    chose another."""
    if paid is None:
        raise UsageError("`how=private`: name the counts that decide, which `synth.statistics` wrote, with `paid=`")
    about = load_statistics(paid)["card"]
    number, seal = int(about["ledger_entry"]["number"]), str(about["ledger_entry"]["hash"])
    if Guarantee.of(about).kind != Guarantee.of(one.card).kind:
        raise InputError(f"{paid}: paid for under another relation or unit, so it does not add up with the candidates")
    among = tuple(sorted({one.table, *(o.table for o in others)}))
    before = [
        n for n in comparison_notes.notes(book.store) if n.how == "private" and n.among == among and n.paid != seal
    ]
    if before:
        raise UsageError("noisy counts have already decided between these releases; that decision stands")
    if (decided := book.line(number, seal)) is None:
        raise UsageError(
            f"{paid}: line {number} is not in the ledger {book.store.shown}; name the one that paid with `ledger=`"
        )
    gaps = private_selection.distances(paid, [one.folder, *(o.folder for o in others)])
    if gaps[0] > min(gaps):
        winner = others[gaps.index(min(gaps)) - 1].folder
        raise InputError(f"{paid}: these counts chose {winner}, not {one.folder}; release that one, or all")
    opened, mine = min(int(c.card["ledger_entry"]["number"]) for c in (one, *others)), book.dataset(one)
    bought = [e for e in book.spends if e.number > opened and same(e.dataset, mine) and _answers(e)]
    charges = [charge(e, CHOICE) for e in (decided, *(e for e in bought if e != decided))]
    if any(c.guarantee.kind != Guarantee.of(one.card).kind for c in charges):
        raise InputError(APART)
    return charges


def _answers(line: Entry) -> bool:
    """Whether a line paid for answers, no table and no schema."""
    return line.question.get("method") not in GENERATORS and not line.question.get("learns")


def _note(one: Candidate, how: str, book: ChoiceLedger, charges: list[Charge], others: list[Candidate]) -> None:
    paid = next((c.hash for c in charges if c.what == CHOICE), "")
    among = tuple(sorted({one.table, *(o.table for o in others)})) if how == "private" else ()
    note = Note(
        what="choice",
        line=one.line,
        table=one.table,
        dataset=book.dataset(one),
        by=_user(),
        how=how,
        paid=paid,
        among=among,
    )
    try:
        comparison_notes.add(book.store, note)
    except InputError:
        if how == "private":  # or whoever asks again until his favourite wins would choose by what he saw
            raise


def check_lines(card: Mapping[str, Any], *, ledger: str | Path) -> None:
    """Whether the ledger holds every line that the card counts. Errors: InputError, one line."""
    book = ChoiceLedger(ledger)
    own = card["ledger_entry"]
    mine = book.line(int(own["number"]), str(own["hash"]))
    if mine is None:
        raise InputError(f"the card does not hold: its ledger line {own['number']} is not in this ledger")
    for c in (card.get("selection") or {}).get("charges") or []:
        line = book.line(int(c["number"]), str(c["hash"]))
        if (
            line is None
            or not same(line.dataset, mine.dataset)
            or (line.epsilon, line.delta) != (c["epsilon"], c["delta"])
        ):
            raise InputError(f"the card does not hold: line {c['number']} of this ledger is not what it counts")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
