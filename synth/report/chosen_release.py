"""How a release was chosen, worked out for its card: what was compared, what was charged, and what may be said.

**Guarantee**: a release that was chosen by anything that looked at rows carries the sum of all that was looked at
(privacy/accounting/chosen.md); one chosen by exact scores carries none and is refused by whoever packs it.
"""

import getpass
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import InputError, UsageError
from synth.evaluate.read_sample import read
from synth.generators import GENERATORS
from synth.pipeline.statistics import MOST_CELLS, Asked, counted
from synth.privacy.accounting.guarantee import Guarantee
from synth.privacy.ledger.ledger import Entry
from synth.release.card import choice
from synth.release.card.card import CHOICES, Card
from synth.release.card.choice import CHOICE, Charge
from synth.release.chosen import (
    APART,
    WAYS,
    Candidate,
    ChoiceLedger,
    Note,
    add_note,
    charge,
    compared,
    everything,
    looks,
    notes,
    releases,
    same,
    unstated,
)
from synth.release.statistics_file import load as load_statistics
from synth.report.noisy_tables import NoisyTable
from synth.schema import table as schemas
from synth.schema.table import Schema

MOST_ROWS = 1_000_000  # synthetic rows counted of each table


def look(release: str | Path, *, ledger: str | Path | None = None) -> None:
    """Notes that somebody compared a release with the real rows.

    ``ledger``: as of ``run``, the one that paid for the release; the note lies beside it. Errors: UsageError for
    another one, InputError where it cannot be noted.

    Privacy: public only.
    """
    one, book = Candidate.at(release), ChoiceLedger(ledger)
    _note(one, "look", book)


def compared_elsewhere(releases: Sequence[str | Path], *, dataset: str, ledger: str | Path | None = None) -> int:
    """How many releases of the dataset, other than these, somebody compared with the real rows.

    ``ledger``: as of ``run``, the one that paid for them.

    Errors: UsageError for another one, InputError where the notes cannot be read: they must not read as no look at all.

    Privacy: public only.
    """
    book, ours = ChoiceLedger(ledger), [Candidate.at(one) for one in releases]
    for one in ours:
        book.dataset(one)
    return len(looks(book.store, dataset, but={one.release for one in ours}))


def settle(
    release: str | Path,
    how: str | None,
    *,
    candidates: Sequence[str | Path] = (),
    paid: str | Path | None = None,
    ledger: str | Path | None = None,
) -> Card:
    """The release's card with how it was chosen and what that costs.

    ``how``: a key of ``card.CHOICES``; None asks whether it can be left open. ``candidates``: the other
    candidates' folders. ``paid``: counts by which a paid selection decides. Errors: UsageError where the choice must be
    stated or does not fit what was noted, and for a ledger without the lines that paid for the releases; InputError
    where the counts chose another release, or guarantees of different relations or units would be added up.
    """
    one = Candidate.at(release)
    book = ChoiceLedger(ledger, one)
    if one.signed is not None and (was := one.signed["how"]) not in (how, None, "only"):
        if how is not None:
            raise UsageError("`how={}`: a reviewer released it as {}; what he signed stands", how, was)
        how = was
    others = [Candidate.at(b) for b in candidates]
    for candidate in (one, *others):
        book.dataset(candidate)
    if how is None:
        return unstated(one, book, compared(one, book), f"say how this one was chosen with `how=`: {WAYS}")
    if how not in CHOICES:
        raise UsageError("choice {!r}: say one of {}", how, ", ".join(CHOICES))
    charges = _charges(one, how, others, compared(one, book), paid, book)
    if how not in ("unstated", "only"):
        paid_by = next((c.hash for c in charges if c.what == CHOICE), "")
        try:
            _note(one, "choice", book, how=how, paid=paid_by, among=_among(one, others) if how == "private" else ())
        except InputError:
            if how == "private":  # or whoever asks again until his favourite wins would choose by what he saw
                raise
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
                "other runs or learnings were charged to this dataset, so it is not the only candidate; say how it "
                "was chosen: {}",
                WAYS,
            )
        return [] if how == "only" else lines
    if missing := {n.release for n in looked} - {o.release for o in others}:
        raise UsageError(
            "{} compared with the real rows and not named; name each with `candidates=`", releases(len(missing))
        )
    if not others:
        raise UsageError("`how={}`: name the other candidates with `candidates=`", how)
    charges = [c for o in others for c in _of(o, one, book)]
    return charges if how == "all" else [*_decided(one, others, paid, book), *charges]


def _of(other: Candidate, one: Candidate, book: ChoiceLedger) -> list[Charge]:
    """What another candidate cost: its run, and the schema that was learnt before."""
    if (kind := other.card.guarantee).kind != one.card.guarantee.kind:
        raise InputError("candidates under different relations or units have guarantees that do not add up")
    line, own = other.card["ledger_entry"], other.card.own
    share = other.card.get("of_which_schema") or {"epsilon": 0.0, "delta": 0.0}
    alone: dict[str, Any] = {name: choice.exact([own[name], -share[name]]) for name in ("epsilon", "delta")}
    charges = [Charge(number=int(line["number"]), hash=other.line, guarantee=replace(kind, **alone))]
    if (paid := book.schema(other)) is not None:  # of a run that learnt and measured, all of it
        most = {name: max(share[name], getattr(paid, name)) for name in ("epsilon", "delta")}
        charges.append(Charge(number=paid.number, hash=paid.hash, guarantee=replace(kind, **most)))
    return charges


def _decided(one: Candidate, others: list[Candidate], paid: str | Path | None, book: ChoiceLedger) -> list[Charge]:
    """The line of the counts that chose this release among the others, and every other answer that was bought since
    the first of them was made: who buys until a favourite wins has looked at all. Errors: InputError where the counts
    chose another."""
    if paid is None:
        raise UsageError("`how=private`: name the counts that decide, which `synth.statistics` wrote, with `paid=`")
    about = load_statistics(paid)["card"]
    entry, mine = about["ledger_entry"], book.dataset(one)
    if Guarantee.of(about).kind != one.card.guarantee.kind:
        raise InputError("{}: paid for under another relation or unit, so it does not add up with the candidates", paid)
    before = [n for n in notes(book.store) if n.how == "private" and n.paid != entry["hash"]]
    if any(n.among == _among(one, others) for n in before):
        raise UsageError("noisy counts have already decided between these releases; that decision stands")
    if (decided := book.line(entry)) is None:
        number, shown = entry["number"], book.store.shown
        raise UsageError(
            "{}: line {} is not in the ledger {}; name the one that paid with `ledger=`", paid, number, shown
        )
    gaps = distances(paid, [one.folder, *(o.folder for o in others)])
    if gaps[0] > min(gaps):
        winner = others[gaps.index(min(gaps)) - 1].folder
        raise InputError("{}: these counts chose {}, not {}; release that one, or all", paid, winner, one.folder)
    opened = min(int(c.card["ledger_entry"]["number"]) for c in (one, *others))
    bought = [e for e in book.spends if e.number > opened and same(e.dataset, mine) and _answers(e)]
    charges = [charge(e, CHOICE) for e in (decided, *(e for e in bought if e != decided))]
    if any(c.guarantee.kind != one.card.guarantee.kind for c in charges):
        raise InputError(APART)
    return charges


def _answers(line: Entry) -> bool:
    """Whether a line paid for answers, no table and no schema."""
    return line.question.get("method") not in GENERATORS and not line.question.get("learns")


def _among(one: Candidate, others: list[Candidate]) -> tuple[str, ...]:
    return tuple(sorted({one.table, *(o.table for o in others)}))


def _note(one: Candidate, what: str, book: ChoiceLedger, **more: Any) -> None:
    seen: dict[str, Any] = {"line": one.line, "table": one.table, "dataset": book.dataset(one)}
    with suppress(OSError, KeyError):
        seen["by"] = getpass.getuser()
    add_note(book.store, Note(what=what, **seen, **more))


def check_lines(card: Card, *, ledger: str | Path) -> None:
    """Whether the ledger holds every line that the card counts. Errors: InputError, one line."""
    book = ChoiceLedger(ledger)
    if (mine := book.line(card["ledger_entry"])) is None:
        number = card["ledger_entry"]["number"]
        raise InputError("the card does not hold: its ledger line {} is not in this ledger", number)
    for c in card.charges:
        line, price = book.line(c), (c["epsilon"], c["delta"])
        if line is None or not same(line.dataset, mine.dataset) or (line.epsilon, line.delta) != price:
            raise InputError("the card does not hold: line {} of this ledger is not what it counts", c["number"])


def shared(releases: Sequence[str | Path]) -> list[str]:
    """The measured columns that all releases describe alike, in the order of the first. Errors: InputError.

    Privacy: released answers only.
    """
    results = [schemas.load(Path(r) / "schema.json").measured() for r in releases]
    return [n for n, c in results[0].items() if all(n in other and other[n] == c for other in results[1:])]


def questions(schema: Schema, columns: Sequence[str]) -> list[str]:
    """What to ask about these columns, as `synth statistics --ask` takes it: pairs; a column alone where none fits.

    Privacy: public only.

    >>> from synth.schema.table import parse
    >>> facts = {"type": "integer", "min": 0, "max": 9}
    >>> questions(parse({"columns": {"a": facts, "b": facts, "c": facts}}), ["a", "b"])
    ['count:a*b']
    """
    cells = {n: counted(n, schema.columns[n]).size for n in columns}
    pairs = [p for p in combinations(columns, 2) if prod(cells[n] for n in p) <= MOST_CELLS]
    alone = [n for n in columns if not any(n in p for p in pairs)]
    return [f"count:{'*'.join(p)}" for p in pairs] + [f"count:{n}" for n in alone]


def distances(paid: str | Path, releases: Sequence[str | Path]) -> list[float]:
    """How far each release's synthetic table is from counts that `synth statistics` wrote: 0 to 1, a mean over tables.

    Distances are total variation to the noisy shares, so noise adds about the same to all of them. Errors: InputError
    where the file holds no counts, or a release lacks their columns.

    **Guarantee**: post-processing of the paid counts and of releases. A choice by these figures is covered by the sum
    of what was charged for both.

    Privacy: released answers only.
    """
    reported = [s for s in load_statistics(paid)["statistics"] if s["kind"] == "count"]
    common = set(shared(releases))
    if not reported or any(set(s["columns"]) - common for s in reported):
        raise InputError("{}: holds no counts of columns that all these releases describe alike; ask for some", paid)
    return [_distance(Path(r), reported) for r in releases]


def _distance(release: Path, reported: Sequence[dict[str, Any]]) -> float:
    schema = schemas.load(release / "schema.json")
    rng = np.random.default_rng(0)  # no privacy noise: a synthetic table may be sampled with a seed
    made = read(release / "synthetic.csv", schema, limit=MOST_ROWS, rng=rng, synthetic=True).positions
    gaps = []
    for one in reported:
        bins = tuple(counted(n, schema.columns[n]) for n in Asked.read(one["ask"]).columns)
        noisy = np.clip([float(c["count"]) for c in one["cells"]], 0, None).reshape([b.size for b in bins])
        counts = NoisyTable(bins=bins, values=noisy, sigma=0.0).counted(made)
        gaps.append(0.5 * np.abs(noisy / max(noisy.sum(), 1.0) - counts / max(counts.sum(), 1.0)).sum())
    return float(np.mean(gaps))
