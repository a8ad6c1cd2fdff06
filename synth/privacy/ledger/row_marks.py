"""Marks of the rows that runs read, kept in the ledger so that nobody learns anything by looking at its lines.

A message that two datasets hold the same rows is an exact answer about membership, and so would be two equal marks:
also two of one dataset, which tell whether anybody joined or left between two runs. Each mark is therefore encrypted
under the ledger's key with bytes of its own: equal rows leave unlike lines. And whoever asks is told of those marks
alone whose table he may open himself (``Audience``): of others nothing is compared.

Within its encryption each line says which earlier one of its dataset had another mark, or another actor's, so that
looking through a dataset's marks takes as many lines as its rows have changed, not as many as it has had runs.
"""

import hmac
import secrets
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from typing import Any

from synth.privacy.ledger import entries
from synth.privacy.ledger.store import Connection

# Forms of older lines: 1, one keyed hash of the rows, the same wherever they are charged; 2, without the line before.
FORM, WITHOUT_BEFORE = 3, 2
SALT = 16  # bytes
NUMBER = 8  # bytes of a line's number
Alike = Callable[[bytes, bytes], bool]
KIND = "fingerprint"


@dataclass(frozen=True)
class Audience:
    """Who asks about rows: on which datasets he may spend, and of which runs, by id and actor, he may open the table.

    Privacy: public only.
    """

    spends: Callable[[str], bool] = lambda _dataset: True
    opens: Callable[[str, str], bool] = lambda _run, _actor: True


EVERYBODY = Audience()  # whoever may open the ledger's file, where no file of roles says otherwise
NOBODY = Audience(spends=lambda _: False, opens=lambda _run, _actor: False)


@dataclass(frozen=True)
class OpenedMark:
    """A mark as its line keeps it; ``before``: the line of the dataset's next older mark, 0 for none."""

    mark: bytes
    apart: bool
    before: int


def sealed(db: Connection, key: bytes, mark: bytes, *, dataset: str, apart: bool, actor: str = "") -> dict[str, Any]:
    """What a line of this ``actor`` keeps of a mark. ``apart``: he said that its persons are in no other dataset."""
    before = 0
    if (last := entries.newest_question(db, dataset=dataset, kind=KIND)) is not None:
        number, question, _, whose = last
        former = opened(key, number, question)
        same = former is not None and (former.mark, former.apart, whose) == (mark, apart, actor)
        before = former.before if former is not None and same else number
    salt = secrets.token_bytes(SALT)
    plain = bytes([apart]) + before.to_bytes(NUMBER, "big") + mark
    return {"form": FORM, "fingerprint": b64encode(salt + _hidden(key, salt, plain)).decode()}


def opened(key: bytes, number: int, question: dict[str, Any]) -> OpenedMark | None:
    """The mark that line ``number`` keeps; None for lines of the first form.

    Under another key it is noise; so is then the line before, and one that cannot be is taken for the next older one.
    """
    form = question.get("form")
    if form not in (FORM, WITHOUT_BEFORE):
        return None
    try:
        sealed_bytes = a2b_base64(str(question["fingerprint"]), strict_mode=True)
    except (KeyError, ValueError):
        return None
    plain = _hidden(key, sealed_bytes[:SALT], sealed_bytes[SALT:])
    apart, rest = plain[:1] == b"\1", plain[1:]
    if form == WITHOUT_BEFORE:
        return OpenedMark(rest, apart, number - 1)
    before = int.from_bytes(rest[:NUMBER], "big")
    return OpenedMark(rest[NUMBER:], apart, min(before, number - 1))


def twins(
    db: Connection,
    key: bytes,
    mark: bytes,
    *,
    own: Sequence[str],
    others: Sequence[Sequence[str]],
    audience: Audience,
    alike: Alike,
    since: int = 0,
) -> list[str]:
    """Of ``others``, those datasets that hold rows like ``mark``'s, by their first spelling; none where it is settled.

    ``own``: the spellings of the dataset that is charged; ``others``: those of every other one, of which the
    ``audience`` is told what it may know, of lines after the one of the number ``since``.
    """
    if any(o.apart and alike(o.mark, mark) for _, o in _marks(db, key, own, audience) if o is not None):
        return []
    among = [one for one in others if any(audience.spends(name) for name in one)]
    old = hmac.new(key, mark[:32], "sha256").hexdigest()

    def like(question: dict[str, Any], other: OpenedMark | None) -> bool:
        return question.get("fingerprint") == old if other is None else alike(other.mark, mark)

    return sorted(one[0] for one in among if any(like(*found) for found in _marks(db, key, one, audience, since)))


def _marks(
    db: Connection, key: bytes, spellings: Sequence[str], audience: Audience, since: int = 0
) -> Iterator[tuple[dict[str, Any], OpenedMark | None]]:
    """The marks of a dataset that the audience may know, newest first, without those that repeat the next older one."""
    for dataset in spellings:
        line = entries.newest_question(db, dataset=dataset, kind=KIND)
        while line is not None and line[0] > since:
            number, question, run, actor = line
            mark = opened(key, number, question)
            if audience.opens(run, actor):
                yield question, mark
            before = number - 1 if mark is None else mark.before
            line = entries.newest_question(db, dataset=dataset, kind=KIND, up_to=before) if before else None


def _hidden(key: bytes, salt: bytes, plain: bytes) -> bytes:
    """Encrypted, or decrypted: the one undoes the other."""
    stream = shake_256(b"rows of a run" + len(key).to_bytes(2, "big") + key + salt).digest(len(plain))
    return (int.from_bytes(plain, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(plain), "big")
