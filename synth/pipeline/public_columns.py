"""Columns that are public row by row: what a run with them needs, checked before the spend.

Proof: synth/schema/public_facts.md. Neighbouring tables differ in the private cells of one row, so that what passes
through is the same in both, and each answer moves by no more than where a whole row is replaced.
"""

from typing import Any

from synth.errors import InputError, UsageError
from synth.generators.method import Method
from synth.privacy.relation import Adjacency, Relation
from synth.schema.constraints import columns_of
from synth.schema.dataset import Dataset
from synth.schema.table import Schema

WORKBOOKS = (".xlsx", ".xlsm", ".xls")
IN_WORDS = (
    "the private cells of one row replaced by any others; its public columns ({}), the number and the order of the "
    "rows stay as they are"
)


def check(schema: Schema | Dataset, questions: Method, adjacency: Adjacency, asked: Any) -> None:
    """Errors: UsageError, InputError for what a run with public columns cannot have. ``asked``: the run's request.

    Privacy: public only.
    """
    for name, table in schema.tables.items() if schema.tree is not None else ():
        if table.public_columns:
            raise InputError(f"public columns of table {name}: related tables have none yet; leave out their role")
    names, table = schema.public_columns, schema.tables[schema.root]
    if not names:
        return
    named = ", ".join(names)
    if not questions.gives_rows:
        raise UsageError(f"method {questions.name} makes no rows given public columns ({named}); choose mixture")
    if adjacency.relation is not Relation.REPLACE_ONE or not adjacency.by_row:
        raise UsageError(
            f"public columns ({named}) pass through row by row, which shows how many rows there are and their order; "
            "they need `relation=replace_one`, with single rows as units"
        )
    if asked.source is not None:
        raise UsageError(f"public columns ({named}) need rows in an order, which a database has not; name a file")
    if str(asked.table or "").lower().endswith(WORKBOOKS):
        raise UsageError(
            f"public columns ({named}): a workbook's empty rows are none, so that its rows have no fixed number; save "
            "the table as CSV or Parquet"
        )
    if asked.num_rows is not None:
        raise UsageError(f"`num_rows={asked.num_rows}`: public columns ({named}) say how many rows; leave it out")
    if table.totals:
        raise InputError(f"schema: totals and public columns ({named}) do not go together yet; leave one of them out")
    if set(names) == set(table.measured()):
        raise InputError(f"schema: every column is public ({named}); nothing is left to protect")
    for number, rule in enumerate(table.constraints or (), start=1):
        if columns_of(rule)[-1] in names:
            raise InputError(
                f"schema: constraint {number} ({rule.kind}) is mended by changing {columns_of(rule)[-1]}, which is "
                "public; name a private column last"
            )


def on_card(schema: Schema | Dataset) -> dict[str, Any]:
    """What the card says of public columns; nothing where there are none."""
    names = schema.public_columns
    if not names:
        return {}
    return {
        "public_columns": {n: schema.all_columns[n].reason for n in names},
        "relation_in_words": IN_WORDS.format(", ".join(names)),
    }
