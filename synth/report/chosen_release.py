"""How a release was chosen, worked out for its card: what was compared, what was charged, and what may be said.

**Guarantee**: a release that was chosen by anything that looked at rows carries the sum of all that was looked at
(privacy/accounting/chosen.md); one chosen by exact scores carries none and is refused by whoever packs it.
"""

import getpass
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.errors import InputError, UsageError
from synth.privacy.ledger import places
from synth.privacy.ledger.ledger import ANSWERED, Entry, Ledger
from synth.privacy.ledger.store import Store
from synth.release import comparison_notes
from synth.release.card import choice, verify
from synth.release.card.choice import CHOICE, Charge
from synth.release.card.statements import CHOICES
from synth.release.comparison_notes import Note
from synth.release.statistics_file import load as load_statistics
from synth.report import private_selection
from synth.schema import names

WAYS = "before, releases, private (with `paid=` and `candidates=`) or all (with `candidates=`)"


@dataclass(frozen=True)
class Candidate:
    """A release's folder with its card, known by the ledger's ``line`` that paid for it and its ``table``'s hash."""

    folder: Path
    card: dict[str, Any]
    line: str
    table: str

    @classmethod
    def at(cls, folder: str | Path) -> "Candidate":
        """The release there. Errors: InputError without a card."""
        folder = Path(folder)
        folder = folder.parent if folder.is_file() else folder
        card = verify.load(folder)
        try:
            line, table = str(card["ledger_entry"]["hash"]), card.get("synthetic_sha256")
            if table is None and "tables_sha256" in card:  # of related tables: one hash for all
                table = hashlib.sha256(repr(sorted(card["tables_sha256"].items())).encode()).hexdigest()
            if table is None:
                table = hashlib.sha256((folder / "synthetic.csv").read_bytes()).hexdigest()
        except (KeyError, TypeError, OSError):
            raise InputError(f"{folder}: holds no release with a card; name the folder that a run wrote") from None
        return cls(folder, card, line, str(table))


class ChoiceLedger:
    """The ledger as a choice needs it; a ledger that is not there has no lines and is not made.

    A spend counts whatever became of its run, unless all that is recorded of its end says that nothing was answered.
    """

    def __init__(self, ledger: str | Path | None) -> None:
        self.store = places.at(ledger)
        lines = Ledger(self.store).entries() if self.store.there() else []
        ends = [e for e in lines if e.kind == "outcome"]
        unanswered = {e.run for e in ends if _left_nothing(e)} - {e.run for e in ends if not _left_nothing(e)}
        self.spends = [e for e in lines if e.kind == "spend" and e.run not in unanswered]

    def line(self, number: int, seal: str | None = None) -> Entry | None:
        """The spend of that number, and of that hash where one is given."""
        result = (e for e in self.spends if e.number == number)
        return next((e for e in result if seal is None or e.hash == seal), None)

    def of(self, one: Candidate) -> Entry | None:
        """The spend that paid for a release, None where another ledger did."""
        return self.line(int(one.card["ledger_entry"]["number"]), one.line)

    def dataset(self, one: Candidate) -> str:
        """What a release was charged to. Errors: UsageError where another ledger was charged."""
        paid = self.of(one)
        if paid is None:
            raise self._strange(one, f"its run (line {one.card['ledger_entry']['number']})")
        return paid.dataset

    def schema(self, one: Candidate) -> Entry | None:
        """The spend that paid for a release's schema, None for one that was not learnt before.

        Errors: UsageError where another ledger was charged.
        """
        learnt = one.card.get("of_which_schema")
        if learnt is None:
            return None
        paid = next((e for e in self.spends if choice.pays(e, learnt)), None)
        if paid is None:
            raise self._strange(one, f"the learning of its schema (line {learnt['ledger_entry']})")
        return paid

    def _strange(self, one: Candidate, what: str) -> UsageError:
        return UsageError(
            f"{one.folder}: {what} is not in the ledger {self.store.shown}, so that what was charged cannot be added "
            "up; name the ledger that paid for it with `ledger=`"
        )


def _left_nothing(outcome: Entry) -> bool:
    """Whether a run ended before its first answer."""
    reported = outcome.question
    detail = reported.get("detail")
    return (
        reported.get("state") in ("failed", "cancelled") and isinstance(detail, dict) and detail.get(ANSWERED) is False
    )


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
    results, known = _looks(book.store, dataset, but=set()), {(one.line, one.table) for one in ours}
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
    one, book = Candidate.at(release), ChoiceLedger(ledger)
    others = [Candidate.at(b) for b in candidates]
    for candidate in (one, *others):
        book.dataset(candidate)
    compared = _compared(one, book)
    if how is not None and how not in CHOICES:
        raise UsageError(f"choice {how!r}: say one of {', '.join(CHOICES)}")
    if how is None and (one.card.get("selection") or {}).get("how") == "releases":
        how = "releases"  # what was charged since may have decided as well
    if how is None and (reported := _stated_before(one, compared)) is not None:
        return reported
    if how is None and compared:
        raise UsageError(
            f"{_releases(len(compared))} compared with the real rows; say how this one was chosen with `how=`: {WAYS}"
        )
    charges = _charges(one, how or "unstated", others, compared, paid, book)
    if how is None:
        how = "only" if all(choice.counted(c, one.card) for c in charges) else "unstated"
    if how not in ("unstated", "only"):
        _note(one, how, book, charges, others)
    return choice.chosen(one.card, how, charges, [o.table for o in others])


def _charges(
    one: Candidate, how: str, others: list[Candidate], compared: list[Note], paid: str | Path | None, book: ChoiceLedger
) -> list[Charge]:
    """The ledger's lines that this way of choosing rests on."""
    if how in ("before", "scores"):
        return []
    if how in ("releases", "unstated", "only"):
        lines = [_charge(e) for e in _everything(one, book)]
        if how == "only" and (compared or not all(choice.counted(c, one.card) for c in lines)):
            raise UsageError(
                "other runs or learnings were charged to this dataset, so it is not the only candidate; say how it was "
                f"chosen: {WAYS}"
            )
        return [] if how == "only" else lines
    known = {(o.line, o.table) for o in others}
    if missing := {(c.line, c.table) for c in compared} - known:
        raise UsageError(
            f"{_releases(len(missing))} compared with the real rows and not named; name each with `candidates=`"
        )
    if not others:
        raise UsageError(f"`how={how}`: name the other candidates with `candidates=`")
    charges = [c for o in others for c in _of(o, one, book)]
    return charges if how == "all" else [*charges, _decided(one, others, paid, book)]


def _everything(one: Candidate, book: ChoiceLedger) -> list[Entry]:
    """All that was charged to the release's dataset: whatever was answered may have decided."""
    mine, _ = book.dataset(one), book.schema(one)
    lines = [e for e in book.spends if _same(e.dataset, mine)]
    _alike(one, lines)
    return lines


def _of(other: Candidate, one: Candidate, book: ChoiceLedger) -> list[Charge]:
    """What another candidate cost: its run, and the schema that was learnt before."""
    if any(other.card.get(n) != one.card.get(n) for n in ("relation", "unit")):
        raise InputError("candidates under different relations or units have guarantees that do not add up")
    line, own = other.card["ledger_entry"], choice.own(other.card)
    share = other.card.get("of_which_schema") or {"epsilon": 0.0, "delta": 0.0}
    epsilon, delta = (_less(own[name], share[name]) for name in ("epsilon", "delta"))
    charges = [Charge(number=int(line["number"]), hash=other.line, epsilon=epsilon, delta=delta)]
    if (paid := book.schema(other)) is not None:  # of a run that learnt and measured, all of it
        most = {name: max(share[name], getattr(paid, name)) for name in ("epsilon", "delta")}
        charges.append(Charge(number=paid.number, hash=paid.hash, **most))
    return charges


def _less(whole: float, part: float) -> float:
    return choice.exact([whole, -part])


def _decided(one: Candidate, others: list[Candidate], paid: str | Path | None, book: ChoiceLedger) -> Charge:
    """The line of the counts that chose this release among the others. Errors: InputError where they chose another."""
    if paid is None:
        raise UsageError("`how=private`: name the counts that decide, which `synth.statistics` wrote, with `paid=`")
    about = load_statistics(paid)["card"]
    number, seal = int(about["ledger_entry"]["number"]), str(about["ledger_entry"]["hash"])
    if any(about.get(n) != one.card.get(n) for n in ("relation", "unit")):
        raise InputError(f"{paid}: paid for under another relation or unit, so it does not add up with the candidates")
    among = tuple(sorted({one.table, *(o.table for o in others)}))
    before = [
        n for n in comparison_notes.notes(book.store) if n.how == "private" and n.among == among and n.paid != seal
    ]
    if before:
        raise UsageError("noisy counts have already decided between these releases; that decision stands")
    if book.line(number, seal) is None:
        raise UsageError(
            f"{paid}: line {number} is not in the ledger {book.store.shown}; name the one that paid with `ledger=`"
        )
    gaps = private_selection.distances(paid, [one.folder, *(o.folder for o in others)])
    if gaps[0] > min(gaps):
        winner = others[gaps.index(min(gaps)) - 1].folder
        raise InputError(f"{paid}: these counts chose {winner}, not {one.folder}; release that one, or all")
    return Charge(number=number, hash=seal, epsilon=float(about["epsilon"]), delta=float(about["delta"]), what=CHOICE)


def _compared(one: Candidate, book: ChoiceLedger) -> list[Note]:
    """Looks at other releases of the same dataset, each release once."""
    dataset = book.dataset(one)
    return _looks(book.store, dataset, but={(one.line, one.table)})


def _looks(ledger: Store, dataset: str, *, but: set[tuple[str, str]]) -> list[Note]:
    """Looks at the dataset's releases but these (by line and table), each release once."""
    result = {
        (n.line, n.table): n for n in comparison_notes.notes(ledger) if n.what == "look" and _same(n.dataset, dataset)
    }
    return [n for key, n in result.items() if key not in but]


def _same(one: str, other: str) -> bool:
    return names.canonical(one) == names.canonical(other)


def _stated_before(one: Candidate, compared: list[Note]) -> dict[str, Any] | None:
    """The card as it stands, where it states a choice that still takes in all that was compared since."""
    reported = one.card.get("selection") or {}
    how = reported.get("how", "unstated")
    if how in ("before", "scores"):
        return one.card
    if how in ("private", "all") and "charges" in reported:
        return one.card if {c.table for c in compared} <= set(reported.get("tables", ())) else None
    return None


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


def _charge(line: Entry) -> Charge:
    return Charge(number=line.number, hash=line.hash, epsilon=line.epsilon, delta=line.delta)


def _alike(one: Candidate, lines: Sequence[Entry]) -> None:
    if any((e.relation, e.unit) != (one.card.get("relation"), one.card.get("unit")) for e in lines):
        raise InputError(
            "runs of this dataset were charged under different relations or units, whose guarantees do not add up; "
            "name the candidates with `how=all` or private, or say `how=before`"
        )


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
            or not _same(line.dataset, mine.dataset)
            or (line.epsilon, line.delta) != (c["epsilon"], c["delta"])
        ):
            raise InputError(f"the card does not hold: line {c['number']} of this ledger is not what it counts")


def _releases(count: int) -> str:
    return f"{count} other release{'s' if count > 1 else ''} of this dataset {'were' if count > 1 else 'was'}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
