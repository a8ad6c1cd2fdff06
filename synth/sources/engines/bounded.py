"""At most so many rows of each person, chosen by the engine that holds them.

The rows of a person are numbered by what they are, and a row's key is a hash of a secret number, the person and that
number; those with the least keys stay. Rows that are alike are interchangeable, so what stays of a person follows from
the secret number and that person's rows: it is the same for every question, whoever computes it, and however often.

**Guarantee**: whatever the secret number, the rows kept of one person depend on that person's rows alone, and are at
most ``most``: one person more or less moves at most ``most`` kept rows. The hash decides which rows, not how many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from synth.sources.engines.sql_dialects import SqlDialect


@dataclass(frozen=True, kw_only=True)
class Bound:
    """``person``: the canonical text of who a row is about, in SQL, empty for a row that is a unit of its own.

    ``most``: rows kept of each. ``secret``: from the secret generator, as fresh as the run.
    """

    person: str
    most: int
    secret: int

    def __post_init__(self) -> None:
        """Errors: ValueError for a bound that is none."""
        if self.most < 1:
            raise ValueError("at least one row of each person is kept")

    def retained(self, positions: Sequence[str], relation: str, dialect: SqlDialect) -> str:
        """A relation of the kept rows: their positions as p0, p1, ..., all of which the numbers go by."""
        names = [f"p{i}" for i in range(len(positions))]
        marked = ", ".join(f"{sql} AS {n}" for sql, n in zip(positions, names, strict=True))
        listed = ", ".join(names)
        within = "PARTITION BY who ORDER BY"
        words = dialect.words
        key = dialect.hash.format(f"'{self.secret}/' || CAST(place AS {words}) || '/' || who")
        return (
            f"(SELECT {listed} FROM ("
            f"SELECT {listed}, who, ROW_NUMBER() OVER ({within} {key}) AS turn FROM ("
            f"SELECT {listed}, who, ROW_NUMBER() OVER ({within} {listed}) AS place FROM ("
            f"SELECT {self.person} AS who, {marked} FROM {relation}) AS marked_rows) AS numbered_rows) AS ranked_rows "
            f"WHERE turn <= {self.most} OR who = '') AS kept_rows"
        )
