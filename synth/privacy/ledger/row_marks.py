"""Marks of the rows that runs read, kept in the ledger so that nobody learns anything by looking at its lines.

A message that two datasets hold the same rows is an exact answer about membership, and so would be two equal marks.
Each mark is therefore encrypted under the ledger's key with bytes of its own: equal rows leave unlike lines. Whether
marks are alike can be asked only by whoever may spend on both datasets; the callers see to that.
"""

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from hashlib import shake_256
from typing import Any

from synth.privacy.ledger.sqlite import Entry

FORM = 2  # 1, of old lines: one keyed hash of the rows, the same wherever they are charged
SALT = 16  # bytes
Alike = Callable[[bytes, bytes], bool]


def sealed(key: bytes, mark: bytes, *, apart: bool) -> dict[str, Any]:
    """What a line keeps of a mark. ``apart``: somebody said that its persons are in no other dataset."""
    salt = secrets.token_bytes(SALT)
    plain = bytes([apart]) + mark
    hidden = bytes(a ^ b for a, b in zip(plain, _stream(key, salt, len(plain)), strict=True))
    return {"form": FORM, "fingerprint": b64encode(salt + hidden).decode()}


def opened(key: bytes, line: Entry) -> tuple[bytes, bool] | None:
    """The mark that a line keeps, and whether it was said to be of other persons; None for lines of the old form."""
    if line.question.get("form") != FORM:
        return None
    try:
        kept = b64decode(str(line.question["fingerprint"]), validate=True)
    except (KeyError, ValueError):
        return None
    salt, hidden = kept[:SALT], kept[SALT:]
    plain = bytes(a ^ b for a, b in zip(hidden, _stream(key, salt, len(hidden)), strict=True))
    return plain[1:], plain[:1] == b"\1"


def twins(key: bytes, lines: list[Entry], mark: bytes, *, dataset: str, alike: Alike) -> list[str]:
    """Other datasets among these lines of marks that hold rows like ``mark``'s; none where that was settled before."""
    settled = any(apart and alike(other, mark) for other, apart in _of(key, lines, dataset))
    return [] if settled else sorted(_like(key, lines, mark, dataset=dataset, alike=alike))


def _of(key: bytes, lines: list[Entry], dataset: str) -> Iterator[tuple[bytes, bool]]:
    yield from (found for line in lines if line.dataset == dataset and (found := opened(key, line)))


def _like(key: bytes, lines: list[Entry], mark: bytes, *, dataset: str, alike: Alike) -> set[str]:
    old = hmac.new(key, mark[:32], "sha256").hexdigest()
    found: set[str] = set()
    for line in lines:
        if line.dataset == dataset or line.dataset in found:
            continue
        kept = opened(key, line)
        same = line.question.get("fingerprint") == old if kept is None else alike(kept[0], mark)
        found |= {line.dataset} if same else set()
    return found


def _stream(key: bytes, salt: bytes, length: int) -> bytes:
    return shake_256(b"rows of a run" + len(key).to_bytes(2, "big") + key + salt).digest(length)
