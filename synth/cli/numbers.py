"""Numbers of options as people write them: Python would read 1_0 as ten."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from synth.errors import UsageError


def check(arguments: Sequence[str], command: Any) -> None:
    """Refuses underscores in the values of options that take numbers. ``command``: with its commands.

    Errors: UsageError naming the option.
    """
    for word in arguments:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]
    numeric = {name for param in command.params if _is_number(param) for name in param.opts}
    given = [*pairwise(arguments), *(tuple(a.split("=", 1)) for a in arguments if a.startswith("--") and "=" in a)]
    for option, value in given:
        if option in numeric and "_" in value:
            raise UsageError(f"{option} {value}: is not a number; write it without underscores")


def _is_number(param: Any) -> bool:
    return getattr(getattr(param, "type_descriptor", None), "annotation", None) in (int, float)
