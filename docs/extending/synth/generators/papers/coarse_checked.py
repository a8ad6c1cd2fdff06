"""`coarse` for tables of up to 200 columns: beyond, each column's share of the budget is smaller than its noise."""

from dataclasses import dataclass

from synth.errors import UsageError
from synth.generators.papers.coarse import Coarse
from synth.schema.table import Schema

MOST_COLUMNS = 200


@dataclass(frozen=True, kw_only=True)
class Checked(Coarse):
    """As ``Coarse``, for tables that are not too wide.

    Privacy: released answers only.
    """

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError for more columns than ``MOST_COLUMNS``."""
        wide = len(schema.measured())
        if wide > MOST_COLUMNS:
            raise UsageError(
                f"method {self.name}: the schema has {wide} columns, at most {MOST_COLUMNS} are possible; "
                "mark those that are not needed as omitted"
            )
