"""How a release was chosen, as far as its card, the ledger and the notes beside it tell, and what that costs.

Who compared which release with the real rows is a steward's note beside the ledger, never in a release's folder; one on
a server has the notes in a table of its own, so that all machines see them. A look leaves no trace in what may leave,
and a release is known by the ledger's line that paid for it and by the hash of its table, both of which its card names.

**Guarantee**: a release that was chosen by anything that looked at rows carries the sum of all that was looked at
(privacy/accounting/chosen.md); one chosen by exact scores carries none and is refused by all that leaves.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from synth.errors import InputError, UsageError
from synth.files import regular_files
from synth.jobs.looks import signature
from synth.languages import Said
from synth.privacy.accounting.guarantee import Guarantee
from synth.privacy.ledger import copies
from synth.privacy.ledger.copies import NOTES
from synth.privacy.ledger.ledger import ANSWERED, Entry, Ledger
from synth.privacy.ledger.store import Store
from synth.release.card import choice, verify
from synth.release.card.card import Card
from synth.release.card.choice import RUN, Charge
from synth.schema import names

WAYS = "before, releases, private (with `paid=` and `candidates=`) or all (with `candidates=`)"
APART = (
    "runs of this dataset were charged under different relations, units or public columns, whose guarantees do not add "
    "up; name the candidates with `how=all` or private, or say `how=before`"
)


class Note(BaseModel):
    """``what``: look, or choice (then ``how``, and for a paid one the ledger's line in ``paid``, ``among`` tables)."""

    model_config = ConfigDict(frozen=True)

    what: str
    line: str
    table: str
    dataset: str
    by: str = ""
    how: str = ""
    paid: str = ""
    among: tuple[str, ...] = ()
    time: str = ""

    @property
    def release(self) -> tuple[str, str]:
        """By what the release is known: its line in the ledger, and its table."""
        return self.line, self.table


def place_of_notes(ledger: Store) -> Path:
    """The file of notes beside a ledger's file."""
    return ledger.beside(NOTES)


def add_note(ledger: Store, note: Note) -> None:
    """Adds a note. Errors: InputError where it cannot be written: then nothing may be looked at."""
    line = note.model_copy(update={"time": datetime.now(UTC).isoformat(timespec="seconds")}).model_dump_json()
    if ledger.shares:
        with ledger.connection() as db, db.locked():
            db.execute("INSERT INTO ledger_note (note) VALUES (?)", (line,))
        return
    try:
        place_of_notes(ledger).parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(place_of_notes(ledger), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb", buffering=0) as file:
            file.write(f"{line}\n".encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            "{}: {}, so this comparison cannot be recorded; name a writable ledger", place_of_notes(ledger), error
        ) from None


def notes(ledger: Store) -> list[Note]:
    """All notes, oldest first. Errors: InputError for a damaged file, which must not read as no look at all."""
    if not (ledger.shares or os.path.lexists(place_of_notes(ledger))):
        return []
    whose = f"ledger {ledger.shown}: its notes" if ledger.shares else str(place_of_notes(ledger))
    try:
        if ledger.shares:
            with ledger.connection() as db, db.snapshot():
                lines = [str(row["note"]) for row in db.execute("SELECT note FROM ledger_note ORDER BY number")]
        else:
            lines = regular_files.text(whose, most=regular_files.ENDLESS).splitlines()
        return [Note.model_validate_json(line) for line in lines if line.strip()]
    except UsageError:  # what the ledger's server says
        raise
    except (OSError, UnicodeDecodeError):
        raise InputError("{}: cannot be read; restore it from a backup", whose) from None
    except ValueError:
        raise InputError("{}: damaged; restore it from a backup", whose) from None


@dataclass(frozen=True)
class Candidate:
    """A release's folder with its card, known by the ledger's ``line`` that paid for it and its ``table``'s hash.

    ``signed``: what a reviewer released of it (jobs/looks.py). What was charged or compared since has not decided.
    """

    folder: Path
    card: Card
    line: str
    table: str
    signed: dict[str, Any] | None = None

    @property
    def release(self) -> tuple[str, str]:
        """By what notes know it."""
        return self.line, self.table

    @classmethod
    def at(cls, folder: str | Path) -> "Candidate":
        """The release there. Errors: InputError without a card, UsageError where it was changed since it was signed."""
        folder = Path(folder)
        folder = folder.parent if folder.is_file() else folder
        return cls.of(folder, verify.load(folder))

    @classmethod
    def of(cls, folder: Path, card: Card) -> "Candidate":
        """The release of this card there. Errors: as of ``at``."""
        try:
            line, table = str(card["ledger_entry"]["hash"]), card.get("synthetic_sha256")
            if table is None and "tables_sha256" in card:  # of related tables: one hash for all
                table = hashlib.sha256(repr(sorted(card["tables_sha256"].items())).encode()).hexdigest()
            if table is None:
                table = hashlib.sha256((folder / "synthetic.csv").read_bytes()).hexdigest()
        except (KeyError, TypeError, OSError):
            raise InputError("{}: holds no release with a card; name the folder that a run wrote", folder) from None
        return cls(folder, card, line, str(table), signature(folder))


class ChoiceLedger:
    """The ledger as a choice needs it; a ledger that is not there has no lines and is not made.

    A spend counts whatever became of its run, unless all that is recorded of its end says that nothing was answered.
    ``of``: the release whose choice it is; what was charged after that was signed does not count.
    """

    def __init__(self, ledger: str | Path | None, of: Candidate | None = None) -> None:
        self.store = copies.at(ledger)
        last = ((of.signed if of else None) or {}).get("lines", float("inf"))
        lines = [e for e in Ledger(self.store).entries() if e.number <= last] if self.store.there() else []
        ends = [e for e in lines if e.kind == "outcome"]
        unanswered = {e.run for e in ends if _left_nothing(e)} - {e.run for e in ends if not _left_nothing(e)}
        self.spends = [e for e in lines if e.kind == "spend" and e.run not in unanswered]

    def line(self, entry: Mapping[str, Any]) -> Entry | None:
        """The spend that a card names as its ledger entry, or counts; None where another ledger was charged."""
        return next((e for e in self.spends if (e.number, e.hash) == (int(entry["number"]), str(entry["hash"]))), None)

    def dataset(self, one: Candidate) -> str:
        """What a release was charged to. Errors: UsageError where another ledger was charged."""
        paid = self.line(one.card["ledger_entry"])
        if paid is None:
            raise self._strange(one, Said("its run (line {})", one.card["ledger_entry"]["number"]))
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
            raise self._strange(one, Said("the learning of its schema (line {})", learnt["ledger_entry"]))
        return paid

    def _strange(self, one: Candidate, what: str) -> UsageError:
        return UsageError(
            "{}: {} is not in the ledger {}, so that what was charged cannot be added up; name the ledger that paid "
            "for it with `ledger=`",
            one.folder,
            what,
            self.store.shown,
        )


def _left_nothing(outcome: Entry) -> bool:
    """Whether a run ended before its first answer."""
    said, detail = outcome.question, outcome.question.get("detail")
    return said.get("state") in ("failed", "cancelled") and isinstance(detail, dict) and detail.get(ANSWERED) is False


def noted(release: str | Path, *, card: Card | None = None, ledger: Any = None) -> Card:
    """The release's card, or the ``card`` of a model that lies without it. Where it is noted beside the ledger that
    exact scores chose it, its card says so too.

    Privacy: public only.
    """
    store = copies.at(ledger)
    about = verify.load(release) if card is None else card
    if not store.there():
        return about
    one, known = Candidate.of(Path(release), about), notes(store)
    said = [n.how for n in known if n.what == "choice" and n.release == one.release]
    return choice.chosen(about, "scores") if said[-1:] == ["scores"] else about


def standing(release: str | Path, *, beside: Sequence[str | Path] = (), ledger: Any = None) -> Card:
    """The release's card with what its choice costs, where nobody says now how it was chosen.

    ``beside``: other releases that leave with it; were all that were compared among them, none was chosen. One whose
    card states its choice, as a bundle's does, may have been paid for by another ledger. Errors: UsageError where the
    choice must be stated first, InputError where the charges have no sum.

    Privacy: public only.
    """
    one = Candidate.at(release)
    book = ChoiceLedger(ledger, one)
    if (card := noted(release, ledger=ledger)).uncovered:
        return card
    said = one.card["selection"]
    if book.line(one.card["ledger_entry"]) is None and ("charges" in said or said.get("how") == "before"):
        return one.card
    others = {o.release for o in map(Candidate.at, beside) if o.line != one.line}
    left = [n for n in compared(one, book) if n.release not in others]
    return unstated(one, book, left, f"say with `how=` how this one was chosen: {WAYS}")


def unstated(one: Candidate, book: ChoiceLedger, compared: Sequence[Note], remedy: str) -> Card:
    """The card with all that was charged to its dataset, any of which may have decided.

    Errors: as ``standing``. Privacy: public only.
    """
    how = one.card["selection"].get("how")
    if how != "releases":  # what was charged since may have decided as well
        if (reported := _stated_before(one, compared)) is not None:
            return reported
        if compared:
            raise UsageError("{} compared with the real rows; {}", releases(len(compared)), remedy)
        how = None
    charges = [charge(e) for e in everything(one, book)]
    how = how or ("only" if all(choice.counted(c, one.card) for c in charges) else "unstated")
    return choice.chosen(one.card, how, charges)


def everything(one: Candidate, book: ChoiceLedger) -> list[Entry]:
    """All that was charged to the release's dataset: whatever was answered may have decided."""
    mine, _ = book.dataset(one), book.schema(one)
    lines = [e for e in book.spends if same(e.dataset, mine)]
    if any(charge(e).guarantee.kind != one.card.guarantee.kind for e in lines if e.hash != one.line):
        raise InputError(APART)
    return lines


def compared(one: Candidate, book: ChoiceLedger) -> list[Note]:
    """Looks at other releases of the same dataset, each release once."""
    dataset = book.dataset(one)
    return [] if one.signed else looks(book.store, dataset, but={one.release})


def looks(ledger: Store, dataset: str, *, but: set[tuple[str, str]]) -> list[Note]:
    """Looks at the dataset's releases but these (by line and table), each release once."""
    seen = {n.release: n for n in notes(ledger) if n.what == "look" and same(n.dataset, dataset)}
    return [n for key, n in seen.items() if key not in but]


def same(one: str, other: str) -> bool:
    return names.canonical(one) == names.canonical(other)


def _stated_before(one: Candidate, compared: Sequence[Note]) -> Card | None:
    """The card as it stands, where it states a choice that still takes in all that was compared since."""
    reported = one.card["selection"]
    how = reported.get("how", "unstated")
    if how in ("before", "scores"):
        return one.card
    if how in ("private", "all") and "charges" in reported:
        return one.card if {c.table for c in compared} <= set(reported.get("tables", ())) else None
    return None


def charge(line: Entry, what: str = RUN) -> Charge:
    """A ledger line as a card counts it. Privacy: public only."""
    return Charge(number=line.number, hash=line.hash, guarantee=Guarantee.of_line(vars(line)), what=what)


def releases(count: int) -> str:
    return f"{count} other release{'s' if count > 1 else ''} of this dataset {'were' if count > 1 else 'was'}"
