"""The neighbouring relations: between which two tables a release must look alike."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from synth.errors import UsageError, meant
from synth.languages import Said


class Relation(StrEnum):
    """What one unit's presence changes (names as in ``dp_accounting.NeighboringRelation``).

    ``add_remove``: one unit more or less; the row count is private. ``replace_one``: one unit's rows
    replaced by any others; the row count is public. ``zero_out``: one unit's rows replaced by an absent row
    that adds nothing to any sum; the row count is public.

    Privacy: public only.

    >>> Relation("zero_out").rows_are_public
    True
    """

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"
    ZERO_OUT = "zero_out"

    @property
    def rows_are_public(self) -> bool:
        """Whether the relation makes the number of rows a public fact."""
        return self is not Relation.ADD_REMOVE


ROWS = {  # written out, so that each can be translated
    Relation.ADD_REMOVE: "one row more or less; the number of rows is itself protected",
    Relation.REPLACE_ONE: "one row replaced by any other; the number of rows is public",
    Relation.ZERO_OUT: "one row blanked out; the number of rows is public",
}
PERSONS = {
    Relation.ADD_REMOVE: "one person more or less; the number of persons is itself protected",
    Relation.REPLACE_ONE: "one person replaced by any other; the number of persons is public",
    Relation.ZERO_OUT: "one person blanked out; the number of persons is public",
}


@dataclass(frozen=True, kw_only=True)
class Adjacency:
    """Between which tables a release must look alike: the relation, and whose rows it moves.

    ``unit``: ``row``, or the column that names a person. ``max_rows``: how many rows of one unit are kept.
    ``public_columns``: those of which every row's value is public, so that neighbours have them in common.

    Privacy: public only.

    >>> Adjacency(relation=Relation.REPLACE_ONE).rows_are_public
    True
    >>> Adjacency(relation=Relation.REPLACE_ONE, unit="patient", max_rows=3).rows_are_public
    False
    """

    relation: Relation
    unit: str = "row"
    max_rows: int = 1
    public_columns: tuple[str, ...] = ()

    @property
    def stated(self) -> str:
        """As ledger lines and learnt schemas state it; where it is unlike, epsilons do not add up."""
        return stated(self.relation, self.public_columns)

    @property
    def by_row(self) -> bool:
        """Whether every row is a unit of its own."""
        return self.unit == "row"

    @property
    def whose(self) -> str:
        """Whose rows a guarantee is about: ``row`` or ``person``."""
        return "row" if self.by_row else "person"

    @property
    def rows_are_public(self) -> bool:
        """Whether the number of rows is public. With persons as units it is their number that is, not the rows'."""
        return self.relation.rows_are_public and self.by_row

    def moves(self, *, replaced: float) -> float:
        """How far one unit's rows move a sum together: each by 1 where it comes or goes, else by ``replaced``.

        Errors: ValueError for a relation without a proof.
        """
        match self.relation:
            case Relation.ADD_REMOVE | Relation.ZERO_OUT:
                return float(self.max_rows)
            case Relation.REPLACE_ONE:
                return self.max_rows * replaced
            case _:
                raise ValueError(Said("no sensitivity is proved for relation {!r}", self.relation))

    @property
    def in_words(self) -> str:
        """The relation for a reader of a card."""
        return (ROWS if self.by_row else PERSONS)[self.relation]

    def words(self, one: str, several: str) -> str:
        """The relation of units that are called so.

        >>> Adjacency(relation=Relation.REPLACE_ONE).words("one row of orders", "rows of orders")
        'one row of orders replaced by any other; the number of rows of orders is public'
        """
        return {
            Relation.ADD_REMOVE: Said("{} more or less; the number of {} is itself protected", one, several),
            Relation.REPLACE_ONE: Said("{} replaced by any other; the number of {} is public", one, several),
            Relation.ZERO_OUT: Said("{} blanked out; the number of {} is public", one, several),
        }[self.relation]


GIVEN = " given "  # in a ledger's line, between a relation and what is public beside it


def stated(relation: str, public_columns: Sequence[str] = ()) -> str:
    """A relation with what is public beside it, in one word a kind.

    >>> stated("replace_one"), stated("replace_one", ["age"])
    ('replace_one', 'replace_one given 1 public columns (c598dcda33307ef9)')

    Privacy: public only.
    """
    if not public_columns:
        return str(relation)
    known = hashlib.sha256(json.dumps(sorted(public_columns)).encode()).hexdigest()[:16]
    return str(relation) + GIVEN + str(len(public_columns)) + f" public columns ({known})"


def relation_named(name: str) -> Relation:
    """The relation of that name. Errors: UsageError listing the names.

    Privacy: public only.
    """
    try:
        return Relation(name)
    except ValueError:
        raise UsageError("relation {!r} is unknown; {}", name, meant(name, Relation)) from None
