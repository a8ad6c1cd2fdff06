"""Damage done to well-formed files: to bytes, to lines and fields, to the tree of a JSON text."""

import copy
import json
import random
from typing import Any

# What readers trip over: ends of ranges, other kinds, other alphabets, text that means something elsewhere.
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    10**400,
    0.5,
    -0.0,
    1e308,
    5e-324,
    "",
    " ",
    "a",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "NaN",
    "\0",
    "\n",
    "\u2028",
    "\ud83d",
    "e\u0301",
    "\u0663",
    "=cmd|' /C calc'!A0",
    "'=x",
    "../../x",
    "/etc/passwd",
    "C:\\x",
    "x" * 70_000,
    "%s%n{0}",
    "<script>alert(1)</script>",
    "2020-02-30",
    "0000-00-00",
    "9999-12-31T23:59:60",
    [],
    {},
    [[]],
    [None],
    {"a": None},
    [1, "a"],
    ["a"] * 3000,
    {"type": "integer"},
]
BYTES = [
    b"",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\r",
    b"\n\n",
    b'"',
    b",",
    b";",
    b"'",
    b"\t",
    b"=1+1",
    b"\xc3",
    b"\xed\xa0\x80",
    b"PK\x03\x04",
    b"PAR1",
    b"9" * 400,
    b"," * 300,
    b"\x1f\x8b",
    b"{" * 50,
    b"1e309",
    b"NaN",
]


def damaged(content: bytes, rng: random.Random, *, text: bool, is_json: bool) -> bytes:
    """The content with one to four faults."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        if is_json and rng.random() < 0.7:
            content = of_tree(content, rng)
        elif text and rng.random() < 0.5:
            content = of_lines(content, rng)
        else:
            content = of_bytes(content, rng)
    return content


def of_bytes(content: bytes, rng: random.Random) -> bytes:
    """Bits turned, parts cut, moved, doubled, overwritten, joined."""
    if not content:
        return rng.choice(BYTES)
    a, b = sorted((rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)))
    near = min(a + rng.randrange(1, 33), len(content))
    match rng.randrange(9):
        case 0:
            return content[:a]
        case 1:
            return content[:a] + content[near:]
        case 2:
            return content[:a] + rng.choice(BYTES) + content[a:]
        case 3:
            return content[:near] + content[a:]
        case 4:
            return content[:a] + bytes(rng.randrange(256) for _ in range(near - a)) + content[near:]
        case 5:
            return content[:a] + content[b:] + content[a:b]
        case 6:
            return content[:a] + content[a:b] * rng.choice((2, 3)) + content[b:]
        case 7:
            return content[a:]
        case _:
            turned = bytearray(content)
            for _ in range(rng.choice((1, 3, 20))):
                turned[rng.randrange(len(turned))] ^= 1 << rng.randrange(8)
            return bytes(turned)


def of_lines(content: bytes, rng: random.Random) -> bytes:
    """Lines and fields lost, doubled, swapped, filled with something else."""
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    fields = lines[i].split(b",")
    k = rng.randrange(len(fields))
    match rng.randrange(6):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3:
            fields[k] = rng.choice(BYTES) if rng.random() < 0.5 else _text(rng)
            lines[i] = b",".join(fields)
        case 4:
            fields.insert(k, fields[k])
            lines[i] = b",".join(fields)
        case _:
            del fields[k]
            lines[i] = b",".join(fields)
    return b"\n".join(lines)


def _text(rng: random.Random) -> bytes:
    return str(rng.choice(VALUES)).encode("utf-8", "surrogatepass")


def of_tree(content: bytes, rng: random.Random) -> bytes:
    """One node of a JSON tree replaced, removed, doubled, renamed or moved; bytes where it is no tree any more."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return of_bytes(content, rng)
    box = [tree]
    places = list(_places(box))
    holder, key = rng.choice(places)
    other_holder, other_key = rng.choice(places)
    match rng.randrange(6):
        case 0 | 1:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        case 2 if holder is not box:
            del holder[key]
        case 3:
            holder[key] = copy.deepcopy(other_holder[other_key])
        case 4 if isinstance(holder, dict):
            holder[str(rng.choice(VALUES))[:50]] = holder.pop(key)
        case 5 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = rng.choice(
                (
                    -holder[key],
                    holder[key] + 1,
                    holder[key] * 1000,
                    holder[key] * 0.5 if abs(holder[key]) < 1e300 else 0,
                    str(holder[key]),
                )
            )
        case _:
            holder[key] = [copy.deepcopy(holder[key])] * rng.choice((0, 1, 2, 40))
    try:
        return json.dumps(box[0], ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return content


def _places(holder: Any) -> Any:
    keys = range(len(holder)) if isinstance(holder, list) else list(holder)
    for key in keys:
        yield holder, key
        if isinstance(holder[key], list | dict):
            yield from _places(holder[key])
