"""Numbers of options as people write them: Python would read 1_0 as ten."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from synth.errors import UsageError


def check(arguments: Sequence[str], command: Any) -> None:
    """Refuses underscores in the values of options that take numbers. ``command``: with its commands.

    Errors: UsageError naming the option.
    """
    numeric = set(_options(command, numbers=True)) - set(_options(command, numbers=False))
    given = [*pairwise(arguments), *(tuple(a.split("=", 1)) for a in arguments if a.startswith("--") and "=" in a)]
    for option, value in given:
        if option in numeric and "_" in value:
            raise UsageError(f"{option} {value}: is not a number; write it without underscores")


def _options(command: Any, *, numbers: bool) -> Iterator[str]:
    """Names of options that take numbers, or of those that do not, of the command and all below it."""
    for param in command.params:
        kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        if (kind in (int, float)) == numbers:
            yield from param.opts
    for one in getattr(command, "commands", {}).values():
        yield from _options(one, numbers=numbers)
