"""The ledger: every spend of every dataset, written before its rows are read, never altered afterwards.

Sums are exact decimals of the figures as people write them: three spends of 0.1 fit a cap of 0.3. Adding
epsilons and deltas bounds any later composition, adaptively chosen or not, and that is what a policy caps.
"""

import hmac
import operator
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self

from synth.errors import BudgetError, LedgerLostError, UnsettledError, UsageError
from synth.privacy.ledger import accounts, checkpoint, copies, entries, hash_chain, row_marks, transactions
from synth.privacy.ledger import policy as ledger_policy
from synth.privacy.ledger.accounts import Account
from synth.privacy.ledger.copies import default_path
from synth.privacy.ledger.entries import Entry
from synth.privacy.ledger.hash_chain import Verification
from synth.privacy.ledger.policy import Policy, Spend, Total, name, user
from synth.privacy.ledger.server import Server
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Connection, Store
from synth.privacy.ledger.transactions import reading, writing
from synth.schema import names

__all__ = ["Entry", "Ledger", "Policy", "Spend", "Total", "Verification", "default_path"]


class Ledger:
    """The ledger in one SQLite file, or in a database of a PostgreSQL server; made on first use.

    Safe to share by threads and processes, and on a server by machines. ``path``: the file, or
    postgresql://user@host/database, without a password; by default ``$SYNTH_LEDGER``, else the user's own file.

    Errors: InputError when what is there is no ledger or cannot be opened; UsageError for an unusable address.

    Privacy: public only: lines hold what was asked and charged; of rows they keep sealed marks (row_marks.py), no more.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(Path(folder.name) / "ledger.sqlite")
    >>> _ = ledger.set_policy("census", max_epsilon=2.0)
    >>> facts = dict(dataset="census", delta=1e-5, relation="add_remove", unit="row", engine="gdp",
    ...              noise_source="system", question={"columns": ["AGE"]})
    >>> ledger.spend(Spend(epsilon=1.6, **facts)).number
    2
    >>> try:
    ...     ledger.spend(Spend(epsilon=1, **facts))
    ... except BudgetError as error:
    ...     print(str(error)[:77])
    dataset 'census': requested epsilon 1, remaining 0.4, short by 0.6 (policy 2.
    >>> ledger.summary("census")[0].remaining_epsilon, ledger.verify().ok
    (0.4, True)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path | Store | None = None) -> None:
        self.store = copies.at(path)
        self.store.create()

    @property
    def path(self) -> Path:
        """The ledger's file. Errors: UsageError for a ledger on a server."""
        if not isinstance(self.store, File):
            raise UsageError("ledger: it lies on a server, not in a file; ask it with `synth.Ledger.summary`")
        return self.store.path

    def __repr__(self) -> str:
        return f"Ledger({self.store.shown!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close: each operation has a connection of its own."""

    def set_policy(
        self,
        dataset: str,
        *,
        max_epsilon: float | None,
        max_delta: float = 1e-3,
        relation: str | None = None,
        unit: str | None = None,
        actor: str | None = None,
        approved_by: str | None = None,
        reserve: float | None = None,
    ) -> Policy:
        """Records the cap that holds for the dataset from now on, earlier spends included.

        A cap below what is spent is allowed: then nothing remains. ``max_epsilon=None`` records the decision that
        nothing caps the dataset (neither epsilon nor delta), by whom and when. ``reserve``: the part of
        ``max_epsilon`` for verified answers; None leaves it as it is, as far as the cap allows. Errors: UsageError
        for a figure out of range, or a relation or unit that recorded spends contradict (they could not be added up).
        """
        dataset = name(dataset, "dataset")
        caps = ledger_policy.caps(max_epsilon, max_delta, reserve or 0.0)
        facts = _named(relation=relation, unit=unit)
        people = _named(actor=actor or user(), approved_by=approved_by)
        with writing(self.store) as db:
            account = accounts.of(db, dataset)
            if reason := ledger_policy.stranger(db, account, dataset):
                raise UsageError(reason)
            if reason := ledger_policy.contradiction(db, account, facts):
                raise UsageError(reason)
            before = ledger_policy.newest(db, account)
            if reserve is None and before is not None and max_epsilon is not None:
                caps = ledger_policy.caps(max_epsilon, max_delta, min(before.reserve, max_epsilon))
            question = {**caps, ledger_policy.EVERY: True} if len(account.spellings) > 1 else caps
            spelling = next(iter(account.spellings), dataset)
            line = entries.append(
                db, kind="policy", run=str(uuid.uuid4()), dataset=spelling, question=question, **people, **facts
            )
        return Policy.of(line)

    def policy(self, dataset: str) -> Policy | None:
        """The newest policy of the dataset, None where there is none."""
        with reading(self.store) as db:
            return ledger_policy.newest(db, accounts.of(db, name(dataset, "dataset")))

    def known(self, dataset: str) -> bool:
        """Whether anything was ever charged to the dataset, or its policy set, in any spelling of its name."""
        with reading(self.store) as db:
            return accounts.of(db, name(dataset, "dataset")).known

    def check(self, spend: Spend) -> int:
        """Raises the error that ``spend`` would raise now; records nothing. The last line's number by then.

        Errors: as ``spend``.
        """
        required = ledger_policy.cap_required()
        with reading(self.store) as db:
            db.check_writable()
            checkpoint.check(db, self.store)
            account = accounts.of(db, spend.dataset)
            _first(db, account, spend)
            reason = ledger_policy.refusal(db, account, spend, required=required)
            last = entries.count(db)
        if reason:
            raise BudgetError(reason)
        return last

    def spend(self, spend: Spend) -> Entry:
        """Charges the dataset. On return the line is on the disk; only then may rows be read.

        Check and charge are one step: no other process comes between. Errors: BudgetError when the policy
        does not allow it, after recording a refusal; UsageError for a name that would be taken for another, or a run
        that was charged before; InputError when it could not be recorded; LedgerLostError for a ledger that lost
        lines; UnsettledError where a server was lost meanwhile and nobody can say whether it was: it counts as spent.

        **Guarantee**: under a policy the recorded spends add up, exactly, to its caps at most.
        """
        charge = {"epsilon": spend.epsilon, "delta": spend.delta}
        line: dict[str, Any] = {what: getattr(spend, what) for what in _SHARED}
        line["run"] = spend.run or str(uuid.uuid4())
        required, reason = ledger_policy.cap_required(), None
        try:
            with writing(self.store) as db:
                account = accounts.of(db, spend.dataset)
                _first(db, account, spend)
                line["dataset"] = next(iter(account.spellings), spend.dataset)
                reason = ledger_policy.refusal(db, account, spend, required=required)
                if reason is None:
                    return entries.append(db, kind="spend", question=spend.question, **line, **charge)
                question = {"requested": charge, "reason": reason, "question": spend.question}
                entries.append(db, kind="refusal", question=question, **line)
        except UnsettledError:
            if reason is None:  # a refusal charges nothing, whether or not it could be recorded
                raise
        raise BudgetError(reason)

    def outcome(self, run: str, *, state: str, detail: dict[str, Any]) -> Entry:
        """Records how a charged run ended: done, failed or cancelled; ``detail`` is public JSON data.

        Errors: UsageError for another state, or a run that is not charged here.
        """
        if state not in ("done", "failed", "cancelled"):
            raise UsageError("outcome {!r}: must be done, failed or cancelled", state)
        with writing(self.store) as db:
            charged = entries.matching(db, run=run, kind="spend")
            if not charged:
                raise UsageError("run {!r}: not charged in this ledger; give the run of a recorded spend", run)
            question = {"state": state, "detail": detail}
            return entries.append(
                db, kind="outcome", run=run, dataset=charged[0]["dataset"], question=question, actor=user()
            )

    def charge(self, run: str) -> Entry | None:
        """The line that charged the run of this id, None where none did."""
        with reading(self.store) as db:
            return entries.newest(db, run=name(run, "run"), kind="spend")

    def fingerprint(
        self,
        run: str,
        *,
        dataset: str,
        digest: bytes,
        apart: bool = False,
        audience: row_marks.Audience = row_marks.NOBODY,
        alike: row_marks.Alike = operator.eq,
        since: int = 0,
    ) -> list[str]:
        """Records the mark of the rows that a run read, encrypted under the key beside the ledger.

        Equal rows leave unlike lines (row_marks.py). ``apart``: whoever spends says that these persons are in no
        other dataset, although rows like theirs may be. Else it is compared, in the same step, with the marks that the
        ``audience`` may know and that came after the line ``since`` (``check``): of two runs that began together the
        second is told of the first. The answer: as of ``twins``; where it names a dataset, nothing was recorded.
        """
        dataset, run = name(dataset, "dataset"), name(run, "run")
        key = transactions.key(self.store)
        with writing(self.store) as db:
            asked: dict[str, Any] = {"dataset": dataset, "audience": audience, "alike": alike, "since": since}
            if not apart and (twins := _twins(db, key, digest, **asked)):
                return twins
            dataset = next(iter(accounts.of(db, dataset).spellings), dataset)
            charged = entries.newest(db, run=run, kind="spend")
            actor = user() if charged is None or charged.actor is None else charged.actor
            mark = row_marks.sealed(db, key, digest, dataset=dataset, apart=apart, actor=actor)
            entries.append(db, kind=row_marks.KIND, question=mark, run=run, dataset=dataset, actor=actor)
            return []

    def marked(self) -> list[str]:
        """The datasets of which a mark of rows is kept."""
        with reading(self.store) as db:
            lines = db.execute("SELECT DISTINCT dataset FROM ledger WHERE kind = 'fingerprint'")
            return sorted(str(line["dataset"]) for line in lines)

    def twins(
        self,
        digest: bytes,
        *,
        dataset: str | None,
        alike: row_marks.Alike,
        audience: row_marks.Audience = row_marks.EVERYBODY,
    ) -> list[str]:
        """Datasets other than ``dataset`` to which rows like ``digest``'s were charged, unless it was settled before.

        The answer tells exactly whether rows are there: it is about those that the ``audience`` may know.
        """
        key = transactions.key(self.store)
        with reading(self.store) as db:
            return _twins(db, key, digest, dataset=dataset, audience=audience, alike=alike)

    def row_key(self) -> bytes:
        """16 secret bytes, the same for the life of the key, for hashing rows before ``fingerprint``."""
        return hmac.new(transactions.key(self.store), b"rows", "sha256").digest()[:16]

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """All lines, oldest first, or those of one dataset. Of a long ledger, rather take a ``page``."""
        with reading(self.store) as db:
            where = entries.asked(db, dataset, None)
            return [entries.entry(line) for line in entries.matching(db, **where)]

    def page(
        self,
        dataset: str | Collection[str] | None = None,
        *,
        kind: str | None = None,
        size: int = 100,
        number: int = 1,
    ) -> tuple[list[Entry], int]:
        """Page ``number`` (from 1) of ``size`` lines, the newest first, and how many lines there are in all.

        ``dataset``: one, several, or None for all. Errors: UsageError for a size or a number below 1.
        """
        if size < 1 or number < 1 or size * number >= 1 << 62:
            raise UsageError("page: its number and size must be from 1, and no more than a ledger can hold")
        with reading(self.store) as db:
            where = entries.asked(db, dataset, kind)
            lines = entries.page(db, where, size=size, skip=size * (number - 1))
            if isinstance(dataset, str) and kind is None:
                return lines, accounts.of(db, dataset).lines
            return lines, entries.count(db, **where)

    def summary(self, dataset: str | None = None) -> list[Total]:
        """Totals of every dataset that has a spend or a policy, by name; or of one."""
        with reading(self.store) as db:
            one = None if dataset is None else name(dataset, "dataset")
            listed = accounts.every(db) if one is None else [accounts.of(db, one)]
            return [ledger_policy.total(db, account) for account in listed if account.known]

    def verify(self, head: str | None = None) -> Verification:
        """Whether every line is there, unaltered and in order, and the exported ``head`` is among them.

        Errors: UsageError when ``head`` is not 64 hexadecimal digits.
        """
        if head is not None:
            head = head.strip().lower()
            if len(head) != 64 or set(head) - set("0123456789abcdef"):
                raise UsageError("head: must be the 64 hexadecimal digits that were exported")
        return hash_chain.verify(self.store, head=head)

    def rebuild(self) -> None:
        """Derives totals and indexes again from the lines.

        Errors: LedgerLostError unless every line is there and unaltered.
        """
        with writing(self.store) as db:
            if reason := hash_chain.fault(db):
                raise LedgerLostError("ledger {}: {}; restore it from a backup", self.store.shown, reason)
            accounts.rebuild(db)

    def changed(self) -> float:
        """When a line was last added, in seconds since 1970; 0 for an empty ledger on a server."""
        return self.store.changed()

    def grant(self, role: str) -> None:
        """Lets a role of the server add lines and read them, and nothing else; by the role that owns the tables.

        Errors: UsageError for a ledger in a file; InputError where the server refuses.
        """
        if not isinstance(self.store, Server):
            raise UsageError("ledger: a file has no roles; name a server's with `ledger=`")
        self.store.grant(name(role, "role"))

    def head(self) -> str:
        """The hash of the last line, 64 zeros for an empty ledger: to be kept elsewhere."""
        with reading(self.store) as db:
            return last[1] if (last := checkpoint.last(db)) else entries.START


def _twins(db: Connection, key: bytes, digest: bytes, *, dataset: str | None, **asked: Any) -> list[str]:
    known = {account.name: account.spellings for account in accounts.every(db)}
    form = "" if dataset is None else names.canonical(dataset)  # no account has that name
    others = [known[one] for one in sorted(known) if one != form]
    return row_marks.twins(db, key, digest, own=known.get(form, ()), others=others, **asked)


def _named(**texts: str | None) -> dict[str, str | None]:
    return {what: text if text is None else name(text, what) for what, text in texts.items()}


def _first(db: Connection, account: Account, spend: Spend) -> None:
    """Errors: UsageError for a name that would be taken for another's, or a run that was charged already."""
    if reason := ledger_policy.stranger(db, account, spend.dataset):
        raise UsageError(reason)
    if spend.run is not None and (line := entries.newest(db, run=spend.run, kind="spend")):
        raise UsageError("run {}: charged already, in line {} of the ledger; start a new run", spend.run, line.number)


# In the outcome of a run that failed or was cancelled: whether any question had been answered. Until then nothing can
# have left it; afterwards anything may have, a progress line included.
ANSWERED = "answered"
_SHARED = ("relation", "unit", "engine", "noise_source", "actor", "approved_by")
