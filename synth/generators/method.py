"""What a method is: what it asks, the model it makes of the answers, and its options, each declared once."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, ClassVar

from synth.errors import UsageError, likely
from synth.generators.base import Enough, Fit, Run, Setting
from synth.languages import Said

GONE = {"back_end": "mixture"}  # what requests and releases of earlier versions may still say, as it is now
YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


@dataclass(frozen=True)
class Between:
    """A finite number from ``least`` to ``most``, both allowed.

    >>> Between(1, 3).admits(3), Between(0.0, 1.0).admits(float("nan"))
    (True, False)
    """

    least: float
    most: float

    def admits(self, value: Any) -> bool:
        """Whether the option may be this."""
        return isinstance(value, int | float) and isfinite(value) and self.least <= value <= self.most

    def __str__(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class OneOf:
    """One of some words, or, with ``most``, a whole number from 1 to it written as text.

    >>> OneOf(("auto",), most=9).admits("3"), OneOf(("auto",)).admits("3")
    (True, False)
    """

    words: tuple[str, ...]
    most: int = 0

    def admits(self, value: Any) -> bool:
        """Whether the option may be this."""
        text = str(value)
        digits = text.isascii() and text.isdecimal() and len(text) <= len(str(self.most))
        return text in self.words or (digits and 1 <= int(text) <= self.most)

    def __str__(self) -> str:
        listed = f"one of {', '.join(self.words)}"
        return f"{listed}, or a whole number from 1 to {self.most}" if self.most else listed


SHARE = (0.01, 0.99)  # a part of the budget, which leaves some for what else is asked
NONE_OR_SHARE = (0.0, 0.99)  # likewise, or nothing at all
STEPS = (1, 1_000_000)
RATE = (1e-12, 1.0)  # of Adam


def option(default: Any, *allowed: Any, most: int = 0) -> Any:
    """A field that users may set: a number between two, or one of some words (or, with ``most``, a number up to it).

    >>> option(400, 1, 10**6).metadata["allowed"], option("kl", "kl", "js").metadata["allowed"]
    (Between(least=1, most=1000000), OneOf(words=('kl', 'js'), most=0))
    """
    known = OneOf(allowed, most) if isinstance(default, str) else Between(*(allowed or (0, 1)))
    return field(default=default, metadata={"allowed": known})


class Method(ABC):
    """An algorithm: a frozen dataclass whose fields are public ``option``s; it asks, and makes a model of the answers.

    ``barrier``: where noise stands between rows and model, in words; "before the fit" where the fit is free.
    ``summary``: one line for a list of methods. ``relations``: under which it has a guarantee. ``reads``: the kinds of
    release that answer, and that a fit understands. ``tables``: ``one``, or ``tree`` for related ones. ``by_torch``:
    whether its fit is torch's work; where it is not, a run does not wait for torch to load. ``takes_priors``: whether
    it uses public tables like the private one; ``takes_uses``: whether it asks by what the table is for;
    ``gives_rows``: whether it makes rows given public columns. ``small``: only tables of few cells will do, so that the
    schema must be complete before a run.

    Errors: UsageError by the checks, before the spend.
    Privacy: released answers only: rows are reached by ``ask`` alone.
    """

    name: ClassVar[str]
    barrier: ClassVar[str] = "before the fit"
    summary: ClassVar[str] = ""
    relations: ClassVar[tuple[str, ...]] = ("add_remove", "replace_one", "zero_out")
    reads: ClassVar[tuple[type, ...]]
    tables: ClassVar[str] = "one"
    by_torch: ClassVar[bool] = True
    takes_priors: ClassVar[bool] = False
    takes_uses: ClassVar[bool] = False
    gives_rows: ClassVar[bool] = False
    small: ClassVar[bool] = False

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return True

    @property
    def takes_device(self) -> bool:
        """Whether torch's work can be done on another device than the processor."""
        return self.by_torch

    @property
    def needs_public_rows(self) -> bool:
        """Whether what it asks tells how many rows there are."""
        return False

    @abstractmethod
    def measure(self, run: Run) -> list[Any]:
        """Asks all questions of a run, within the setting's budget; returns their releases."""

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Any:
        """A ``Model`` from releases alone, of related tables a ``NestedMixture``. Statistics make none."""
        raise NotImplementedError(self.name)

    def check(self, run: Run) -> None:
        """All that this method has to say against a run in this setting, before the spend.

        ``run.ask``: a rehearsed curator, which refuses what the real one would, and answers from made-up rows; it may
        stop the questions with ``Enough`` once all that is to be paid for has been asked.
        Errors: UsageError for options and schema, BudgetError for questions beyond the grant.
        """
        self.check_options()
        self.check_schema(run.setting.schema)
        with suppress(Enough):
            self.measure(run)

    @property
    def ranges(self) -> Mapping[str, Between | OneOf]:
        """What each option may be, by name."""
        return {f.name: f.metadata["allowed"] for f in fields(self) if f.metadata}  # type: ignore[arg-type]

    def check_options(self) -> None:
        """Each option in its range, and what they forbid each other. Errors: UsageError."""
        for name, allowed in self.ranges.items():
            self.check_option(name, allowed)
        self.check_together()

    def check_option(self, name: str, allowed: Between | OneOf, *, where: str = "") -> None:
        """Errors: UsageError naming the option, its value and what it may be; ``where``: in this case alone."""
        value = getattr(self, name)
        if not allowed.admits(value):
            near = likely(str(value), allowed.words) if isinstance(allowed, OneOf) else ""
            raise UsageError(
                "`options.{}={}`: {} (method {}{})", name, value, near or Said("must be {}", allowed), self.name, where
            )

    def check_together(self) -> None:  # noqa: B027
        """What options forbid each other. Errors: UsageError."""

    def check_schema(self, schema: Any) -> None:  # noqa: B027
        """What tables of this ``Schema``, or this installation, do not allow. Errors: UsageError."""


def options_of(method: Method) -> dict[str, Any]:
    """The options and their values, in the order in which the method lists them."""
    return {name: getattr(method, name) for name in method.ranges}


def with_options(method: Method, given: Mapping[str, Any]) -> Method:
    """The method with these options set; texts are read as the default's type.

    Errors: UsageError naming the option, the rule and what may be set.
    """
    known = options_of(method)
    given = {name: value for name, value in given.items() if name in known or GONE.get(name) != value}
    for name in given:
        if name not in known:
            listed = ", ".join(f"{n} [{v}]" for n, v in known.items()) or "none"
            remedy = likely(name, known) or Said("its options are {}", listed)
            raise UsageError("`options.{}=`: method {} has no such option; {}", name, method.name, remedy)
    read = {name: _read(name, value, known[name]) for name, value in given.items()}
    made = replace(method, **read) if read else method  # type: ignore[type-var]
    made.check_options()
    return made


def _read(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        if str(value).lower() not in YES + NO:
            raise UsageError("`options.{}={}`: say yes or no", name, value)
        return str(value).lower() in YES
    try:
        if isinstance(value, str) and "_" in value and not isinstance(default, str):
            raise ValueError("Python's own way of writing long numbers")
        if isinstance(value, bool):
            raise ValueError("Python counts a truth as 1")
        read = type(default)(value)
        if isinstance(default, str) or isinstance(value, str) or read == value:
            return read
        raise ValueError("a fraction is no whole number")
    except (TypeError, ValueError, OverflowError):
        kind = {int: Said("a whole number"), float: Said("a number")}.get(type(default), Said("text"))
        raise UsageError("`options.{}={}`: must be {}, as {} is", name, value, kind, default) from None
