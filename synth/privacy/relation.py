"""The neighbouring relations: between which two tables a release must look alike."""

from enum import StrEnum

from synth.errors import UsageError


class Relation(StrEnum):
    """What one unit's presence changes (names as in ``dp_accounting.NeighboringRelation``).

    ``add_remove``: one unit more or less; the row count is private. ``replace_one``: one unit's rows
    replaced by any others; the row count is public. ``zero_out``: one unit's rows replaced by an absent row
    that adds nothing to any sum; the row count is public.

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

    @property
    def in_words(self) -> str:
        """The relation for a reader of a card."""
        return {
            Relation.ADD_REMOVE: "one row more or less; the number of rows is itself protected",
            Relation.REPLACE_ONE: "one row replaced by any other; the number of rows is public",
            Relation.ZERO_OUT: "one row blanked out; the number of rows is public",
        }[self]


def relation_named(name: str) -> Relation:
    """The relation of that name. Errors: UsageError listing the names."""
    try:
        return Relation(name)
    except ValueError:
        names = ", ".join(Relation)
        raise UsageError(f"relation {name!r} is unknown; choose one of {names}") from None
