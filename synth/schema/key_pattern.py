r"""The public form of made-up keys: a pattern of letters and digits that is counted up.

A pattern is text with classes of characters: ``P[0-9]{6}``, ``[A-Z]{2}-\d{4}``. It is stated by somebody, never read
from rows: how real keys are written may tell who is among them.
"""

import re
from functools import cache
from math import prod

import numpy as np
import pyarrow as pa

from synth.languages import Said

LONGEST = 64  # characters of a key
PART = re.compile(r"(?:\[((?:[A-Za-z0-9](?:-[A-Za-z0-9])?)+)\]|(\\d)|([A-Za-z0-9_/:-]))(?:\{([0-9]{1,2})\})?")
RULE = r"write letters, digits, - _ / : and classes like [0-9]{6}, [A-Z] or \d{4}, a letter or digit first"


def problem(pattern: str) -> str | None:
    """What is wrong with a pattern; None for a sound one. Privacy: public only.

    >>> problem("P[0-9]{6}"), problem("P.*")[:14]
    (None, "pattern 'P.*':")
    """
    parts = parsed(pattern)
    if not parts or not parts[0][0].isalnum():
        return Said("pattern {!r}: {}", pattern, RULE)
    if all(len(letters) == 1 for letters in parts):
        return Said("pattern {!r}: it stands for one key only; give it a class like [0-9]{{6}}", pattern)
    if len(parts) > LONGEST:
        return Said("pattern {!r}: keys have at most {} characters", pattern, LONGEST)
    return None


@cache
def parsed(pattern: str) -> tuple[str, ...]:
    """The characters that may stand at each place; empty for what is no pattern.

    >>> parsed("A[0-2]{2}")
    ('A', '012', '012')
    """
    places: list[str] = []
    at = 0
    while at < len(pattern):
        match = PART.match(pattern, at)
        if match is None:
            return ()
        letters = "0123456789" if match[2] else match[3] or _letters(match[1])
        if not letters:
            return ()
        places += [letters] * int(match[4] or 1)
        at = match.end()
    return tuple(places)


def _letters(listed: str) -> str:
    """The characters of a class, once each; empty where a range runs backwards or twice over one.

    >>> _letters("A-C9"), _letters("9-0"), _letters("0-90")
    ('ABC9', '', '')
    """
    out = ""
    for one, other in re.findall(r"(.)(?:-(.))?", listed):
        out += "".join(map(chr, range(ord(one), ord(other or one) + 1))) or "\0\0"
    return out if out.isalnum() and len(set(out)) == len(out) else ""


def write(pattern: str | None, numbers: np.ndarray) -> pa.Array:
    """The keys of numbers (n,) from 0 on as texts, each number its own; without a pattern the numbers.

    The classes count like the wheels of a meter. Numbers beyond it lengthen its first wheel: keys stay different.

    >>> write("P[0-9]{3}-[AB]", np.array([1, 2, 1999, 2000])).to_pylist()
    ['P000-B', 'P001-A', 'P999-B', 'P1000-A']
    """
    if pattern is None:
        return pa.array(numbers).cast(pa.string())
    places = parsed(pattern)
    first = next(i for i, letters in enumerate(places) if len(letters) > 1)
    base, room = len(places[first]), prod(len(letters) for letters in places)
    longer = np.zeros(len(numbers), dtype=np.int64)
    while (beyond := numbers >= room).any():
        longer, room = longer + beyond, room * base
    out = np.empty(len(numbers), dtype=object)
    for more in np.unique(longer).tolist():
        chosen = longer == more
        out[chosen] = _wheels((*places[:first], *[places[first]] * more, *places[first:]), numbers[chosen])
    return pa.array(out, pa.string())


def _wheels(places: tuple[str, ...], numbers: np.ndarray) -> np.ndarray:
    """Texts (n,) of numbers that the places have room for."""
    shown = np.zeros((len(numbers), len(places)), dtype="U1")
    left = numbers.astype(np.int64)
    for at in range(len(places) - 1, -1, -1):
        letters = np.array(list(places[at]))
        shown[:, at] = letters[left % len(letters)]
        left = left // len(letters)
    return shown.view(f"U{len(places)}")[:, 0]
