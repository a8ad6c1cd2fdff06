"""What every method can say against a run before anything is spent."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from synth.errors import UsageError, likely
from synth.generators.base import Ask, Enough, Setting
from synth.generators.ranges import OneOf, Range
from synth.schema.table import Schema


class Method:
    """A generator's checks. ``ranges``: what each of its options may be, by name; every option has one.

    ``tables``: ``one``, or ``tree`` for related ones. ``by_torch``: whether its fit is torch's work; where it is not,
    a run does not wait for torch to load. ``takes_priors``: whether it uses public tables like the private one.
    ``takes_uses``: whether it asks by what the table is for.
    """

    ranges: ClassVar[Mapping[str, Range]] = {}
    tables: ClassVar[str] = "one"
    by_torch: ClassVar[bool] = True
    takes_priors: ClassVar[bool] = False
    takes_uses: ClassVar[bool] = False
    gives_rows: ClassVar[bool] = False

    def check(self, ask: Ask, setting: Setting) -> None:
        """All that this method has to say against a run in this setting, before the spend.

        ``ask``: a rehearsed curator, which refuses what the real one would, and answers from made-up rows; it may stop
        the questions with ``Enough`` once all that is to be paid for has been asked.
        Errors: UsageError for options and schema, BudgetError for questions beyond the grant.
        """
        self.check_options()
        self.check_schema(setting.schema)
        with suppress(Enough):
            self.measure(ask, setting, progress=lambda _: None)  # type: ignore[attr-defined]

    def check_options(self) -> None:
        """Each option in its range, and what they forbid each other. Errors: UsageError."""
        for name, allowed in self.ranges.items():
            check_range(name, getattr(self, name), allowed, method=getattr(self, "name", ""))
        self.check_together()

    def check_together(self) -> None:
        """What options forbid each other. Errors: UsageError."""

    def check_schema(self, schema: Schema) -> None:
        """What tables of this schema, or this installation, do not allow. Errors: UsageError."""


def check_range(name: str, value: Any, allowed: Range, *, method: str) -> None:
    """Errors: UsageError naming the option, its value and what it may be."""
    if not allowed.admits(value):
        near = likely(str(value), allowed.words) if isinstance(allowed, OneOf) else ""
        raise UsageError(f"`options.{name}={value}`: {near or f'must be {allowed}'} (method {method})")
