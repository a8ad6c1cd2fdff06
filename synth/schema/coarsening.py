"""Long lists of texts made coarser by a public rule: by their first characters, or by a list and "other".

A rule is a fact of the schema and is applied to each cell alone; nothing about it follows from other rows.
"""

from collections.abc import Mapping, Sequence
from math import prod
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from synth.schema import cells
from synth.schema.column import Column, Grouping, canonical

MOST_GROUPS = 300  # groups of an offered rule
PLACES = (digits, ascii_uppercase, ascii_lowercase)


def grouped(column: Column, texts: pa.Array) -> pa.Array:
    """Canonical texts as the column groups them, canonical again; missing codes as they are; else unchanged.

    **Guarantee**: each text is treated alone.

    >>> rule = Grouping(kind="prefix", length=2)
    >>> grouped(Column(type="ordinal", grouping=rule, missing=("n/a",)), pa.array(["01067", "n/a"])).to_pylist()
    ['01', 'n/a']
    """
    rule = column.grouping
    if rule is None:
        return texts
    missing = _among(texts, column.missing_codes)
    if rule.kind == "prefix":
        coarse = cells.canonical(pc.utf8_slice_codeunits(texts, 0, rule.length).cast(texts.type))
        return pc.if_else(missing, texts, coarse)
    listed = pc.or_(missing, _among(texts, column.categories or ()))
    return pc.if_else(listed, texts, pa.scalar(canonical(str(rule.other)), type=texts.type))


def _among(texts: pa.Array, codes: Sequence[str]) -> pa.Array:
    return pc.is_in(texts, value_set=pa.array([canonical(c) for c in codes], type=texts.type))


def by_prefix(values: Sequence[str], length: int) -> list[str] | None:
    """Every text that texts of this form can begin with: all digits where digits stand, all letters where letters do.

    None where there would be too many, or where something else stands there. Only the form of the values is used.

    >>> by_prefix(["10115", "80331"], 1)
    ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
    >>> len(by_prefix(["I10.9", "C50"], 2)), by_prefix(["I10.9"], 3), by_prefix(["a b"], 2)
    (260, None, None)
    """
    choices = []
    for place in range(length):
        seen = {v[place] for v in values if len(v) > place}
        fitting = "".join(kind for kind in PLACES if seen & set(kind))
        if not seen or seen - set(fitting):
            return None
        choices.append(fitting)
    if prod(len(c) for c in choices) > MOST_GROUPS:
        return None
    beginnings = [""]
    for choice in choices:  # over at most a few places
        beginnings = [begun + one for begun in beginnings for one in choice]
    return beginnings


def offered(values: Sequence[str]) -> int | None:
    """The longest beginning by which texts fall into some groups of a public list; None when there is none.

    Privacy: public only, or as private as the values it is given.

    >>> offered(["10115", "80331", "80333"]), offered(["A", "B"])
    (2, None)
    """
    shortest = min((len(v) for v in values), default=0)
    fitting = [n for n in range(1, min(shortest, 4)) if by_prefix(values, n) is not None]
    useful = [n for n in fitting if len({v[:n] for v in values}) > 1]
    return useful[-1] if useful else None


def coarser(column: Column, length: int) -> Column | None:
    """The column with its values grouped by their first characters, and the public list of groups; None if none is."""
    groups = by_prefix([canonical(c) for c in column.categories or ()], length)
    if groups is None:
        return None
    codes = {canonical(c) for c in column.missing_codes}
    update = {
        "type": "categorical",
        "categories": tuple(g for g in groups if g not in codes),
        "labels": None,
        "grouping": Grouping(kind="prefix", length=length),
        "risk": None,
        "reason": None,
    }
    return column.model_copy(update=update)


def coarser_plain(plain: Mapping[str, Any], length: int) -> dict[str, Any] | None:
    """``coarser`` on a column that is ``plain``, as a schema's JSON has it.

    Privacy: public only.

    >>> found = coarser_plain({"type": "categorical", "categories": ["101", "202"], "source": "unconfirmed"}, 1)
    >>> len(found["categories"]), found["grouping"]
    (10, {'kind': 'prefix', 'length': 1})
    """
    coarse = coarser(Column.model_validate(plain), length)
    return None if coarse is None else coarse.model_dump(mode="json", exclude_none=True)


def listed_plain(plain: Mapping[str, Any], values: Sequence[str], other: str, reason: str) -> dict[str, Any]:
    """A ``plain`` column of a schema's JSON, whose cells outside a public list of ``values`` count as ``other``.

    ``reason``: why the list is public; onto the card of a column that was marked.
    Privacy: public only: the list is the caller's, and never the most frequent values of the rows.
    Errors: ValueError with the rule.

    >>> listed_plain({"type": "categorical", "categories": ["a", "b", "c"]}, ["a"], "other", "our own")["categories"]
    ['a', 'other']
    """
    codes = {canonical(c) for c in Column.model_validate(plain).missing_codes}
    kept = {canonical(v): v.strip() for v in values if v.strip() and canonical(v) not in codes}
    if not kept or not other.strip() or canonical(other) in codes:
        raise ValueError("name at least one value to keep, and a word for all others that is no missing code")
    if not reason.strip():
        raise ValueError("say why the list of values may be public")
    kept.setdefault(canonical(other), other.strip())
    bare = {k: v for k, v in plain.items() if k != "labels"}
    return {
        **bare,
        "type": "categorical",
        "categories": list(kept.values()),
        "reason": reason.strip(),
        "grouping": {"kind": "listed", "other": other.strip()},
        "source": "declared",
    }
