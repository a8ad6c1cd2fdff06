"""One table's rows as persons and their rows: both are the same rows, of which ``link`` keeps one a person above.

Which of a person's rows the values come from that should be one in all of them is drawn among that person's rows alone;
where they differ, nothing outside tells.
"""

from collections.abc import Mapping

from synth.schema.persons import PERSONS, ROWS
from synth.sources.rows.linking import TableRows


def persons_and_rows(rows: TableRows) -> Mapping[str, TableRows]:
    """The rows of both tables; ``link`` takes of each the columns that are its own.

    **Guarantee**: a row of the table is one row of either, under its person's key; no other row has part in it.
    """
    return {PERSONS: rows, ROWS: rows}
