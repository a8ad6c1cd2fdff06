"""A generator's public options: the plain fields of its dataclass, set by name."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from synth.errors import UsageError, likely
from synth.generators.base import Generator

PLAIN = (bool, int, float, str)
FIXED = ("name", "barrier", "summary")
YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


def options_of(generator: Generator) -> dict[str, Any]:
    """The options and their values, in the order in which the generator lists them."""
    named = {f.name: getattr(generator, f.name) for f in fields(generator) if f.init}  # type: ignore[arg-type]
    return {n: v for n, v in named.items() if n not in FIXED and isinstance(v, PLAIN)}


def with_options(generator: Generator, given: Mapping[str, Any]) -> Generator:
    """The generator with these options set; texts are read as the default's type.

    Errors: UsageError naming the option, the rule and what may be set.
    """
    known = options_of(generator)
    for name in given:
        if name not in known:
            listed = ", ".join(f"{n} [{v}]" for n, v in known.items()) or "none"
            remedy = likely(name, known) or f"its options are {listed}"
            raise UsageError(f"`options.{name}=`: method {generator.name} has no such option; {remedy}")
    read = {name: _read(name, value, known[name]) for name, value in given.items()}
    made = replace(generator, **read) if read else generator  # type: ignore[type-var]
    made.check_options()
    return made


def _read(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        if str(value).lower() not in YES + NO:
            raise UsageError(f"`options.{name}={value}`: say yes or no")
        return str(value).lower() in YES
    try:
        if isinstance(value, str) and "_" in value and not isinstance(default, str):
            raise ValueError("Python's own way of writing long numbers")
        read = type(default)(value)
        if isinstance(default, str) or isinstance(value, str) or read == value:
            return read
        raise ValueError("a fraction is no whole number")
    except (TypeError, ValueError, OverflowError):
        kind = {int: "a whole number", float: "a number"}.get(type(default), "text")
        raise UsageError(f"`options.{name}={value}`: must be {kind}, as {default} is") from None
