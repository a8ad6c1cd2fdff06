"""What the rules of a draft see of a column: its distinct texts and counts; and what they say of it, by reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from synth.schema.table import canonical
from synth.sources import draft_risks
from synth.sources.formats.text_table import Table, canonical_texts


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What the rules see of a column: distinct canonical values that are not missing, and counts."""

    name: str
    values: list[str]
    counts: np.ndarray  # rows with each value
    missing: list[str]  # the codes that occur, "" among them

    @property
    def rows(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @property
    def seen(self) -> draft_risks.ColumnTexts:
        """The values and their counts, as the rules of risk want them."""
        return draft_risks.ColumnTexts(name=self.name, values=self.values, counts=self.counts)


def cells_of(table: Table, name: str, missing: Sequence[str]) -> Cells:
    """A column of the table. ``missing``: texts that mean that a value is missing, besides the empty one."""
    text = table.column(name)
    plain = np.array(canonical_texts(text.values), dtype=object)
    codes = {canonical(code): code for code in ("", *missing)}
    gone = np.array([value in codes for value in plain], dtype=bool)
    counts = np.bincount(text.codes, minlength=len(plain))
    result = set(plain[gone])
    values = sorted(set(plain[~gone]))
    index = {value: i for i, value in enumerate(values)}
    places = np.array([index[value] for value in plain[~gone]], dtype=np.int64)
    return Cells(
        name=name,
        values=values,
        counts=np.bincount(places, weights=counts[~gone], minlength=len(values)).astype(np.int64),
        missing=[code for key, code in codes.items() if key in result],
    )


@dataclass(kw_only=True)
class Notes:
    """Columns worth a second look, gathered by reason."""

    codes: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    lists: dict[str, tuple[int, int | None]] = field(default_factory=dict)  # number of values, and how to group them
    order: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """One sentence for each reason that applies; names only."""
        parts = [
            (self.codes, "few distinct whole numbers: if they are codes, name them with `categorical=`"),
            (self.keys, "keys by their form, with repeats: drafted as identifiers, of which nothing is published"),
            (self.notes, "free text, or values that hardly any two rows share: left out; nothing of it is read"),
            (self.dates, "dates of a form that is not read here: left out; write them like 2020-01-31 to keep them"),
            (self.mixed, "numbers besides a few words: if the words mean missing, name those with `missing=`"),
            (self.order, "ordinal text in alphabetical order: put the categories in order in the schema"),
            (self.empty, "no value in any row: drafted as a constant; leave the column out or state what it can hold"),
        ]
        said = [f"{','.join(names)}: {text}" for names, text in parts if names]
        return [*said, *self._long()]

    def _long(self) -> list[str]:
        """What can be done about lists of values that tell of persons."""
        if not self.lists:
            return []
        message = ", ".join(f"{name} has {count} values" for name, (count, _) in self.lists.items())
        ways = ",".join(f"{name}={length}" for name, (_, length) in self.lists.items() if length)
        group = f"group them by first characters with `group={ways}`, or " if ways else ""
        return [
            f"{','.join(self.lists)}: long lists, or values that few rows have ({message}): learn them privately with "
            f"`learn_share=`, or {group}vouch for each alone with `assume_public=` and `reasons=`"
        ]
