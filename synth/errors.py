"""The four ways a request can end badly, each with the exit code that the command line returns.

Every message is one line: what is wrong, the rule it breaks, and what to do about it. A message may name
columns, files, schema facts and options; never a value that stands only in the private rows.

A message speaks Python: an option is written `` `seed=3` ``, or `` `seed=` `` without a value, an option of a method
`` `options.steps=400` ``, and a function `` `synth.draft` `` or `` `synth.draft(unit='row')` ``. Whoever shows it
elsewhere spells both in its own way (``spelled``): the command line as ``--seed 3`` and ``synth schema init --unit
row`` (``synth/cli/answer.py``), the application as the labels of its fields and pages (``app/session/words.py``).
``tests/laws/test_spelling.py`` holds that each option and function that a message names exists in Python, as a flag,
and in the application where that can show it.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec

from synth.languages import Said

COMMITTED: list[str] = []  # what this process has charged since its command began: exit codes must not deny it
MACHINE = 3  # the exit code where neither request nor budget is at fault: a disk, a right, a ledger that is gone
LONGEST = 2000  # characters of a message: a name taken from a foreign file may be of any length


OPTION = re.compile(r"`([a-z][\w.]*)=([^`]*)`")
FUNCTION = re.compile(r"`synth\.([A-Za-z_.]+)(?:\(([^`]*)\))?`")


def spelled(text: str, *, option: Callable[[str, str], str], function: Callable[[str, Mapping[str, str]], str]) -> str:
    """A message, the ``text``, in one line, with its options and functions as somebody else writes them.

    ``option``: of a name and a value, which may be empty; ``function``: of a name in ``synth`` and its arguments.

    >>> shown = lambda name, given: f"{name} {given}"
    >>> spelled("`seed=-1`: too small; see `synth.run(seed=1)`", option=lambda n, v: f"--{n} {v}", function=shown)
    "--seed -1: too small; see run {'seed': '1'}"

    Privacy: public only.
    """
    text = FUNCTION.sub(lambda m: function(m[1], arguments(m[2] or "")), _line(text))
    return OPTION.sub(lambda m: option(m[1], m[2]), text)


def arguments(text: str) -> dict[str, str]:
    """The arguments of a call by name, as plain texts; a text that is no call of ours has none.

    >>> arguments("dataset='my data', max_epsilon=E")
    {'dataset': 'my data', 'max_epsilon': 'E'}

    Privacy: public only.
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    given = {k.arg: k.value for k in getattr(call, "keywords", ()) if k.arg}
    return {n: str(v.value) if isinstance(v, ast.Constant) else ast.unparse(v) for n, v in given.items()}


class SynthError(Exception):
    """Base of all errors this library raises on purpose: a rule, the place where it is broken, a remedy.

    ``SynthError("place: rule; remedy")``, where ``{}`` stands for each of the ``values`` (``synth/languages``).

    >>> error = UsageError("`seed={}`: must be positive; leave it out", -1)
    >>> str(error), error.options
    ('`seed=-1`: must be positive; leave it out', ('seed',))
    >>> error.place, error.rule, error.remedy
    ('`seed=-1`', 'must be positive', 'leave it out')

    Privacy: public only: a message holds no value that stands only in the rows.
    """

    exit_code = 1

    def __init__(self, message: str = "", *values: object) -> None:
        said = Said(message, *values) if values else message
        super().__init__(said)
        before, colon, rest = said.partition(": ")
        self.place = before if colon else ""
        self.rule, _, self.remedy = (rest if colon else before).rpartition("; ")
        self.rule, self.remedy = (self.rule, self.remedy) if self.rule else (self.remedy, "")

    @property
    def options(self) -> tuple[str, ...]:
        """The options that the message names."""
        return tuple(dict.fromkeys(m[1] for m in OPTION.finditer(super().__str__())))

    @property
    def said(self) -> str:
        """The message for ``prose``, which says it in any language."""
        return self.args[0]

    def __str__(self) -> str:
        return _line(super().__str__())


def _line(text: str) -> str:
    """A message as one line that a terminal can show: names from foreign files may hold anything."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 4 :]}"


class UsageError(SynthError, ValueError):
    """An option or argument is out of its range or does not fit the others; nothing was read or spent.

    A ``ValueError`` too, since that is what callers of Python functions expect of a wrong argument.

    Privacy: public only: a message holds no value that stands only in the rows.
    """

    exit_code = 2


class InputError(SynthError):
    """A file, header or schema is unusable as it stands; nothing was spent.

    Privacy: public only: a message holds no value that stands only in the rows.
    """

    exit_code = 2


class EmptyTableError(InputError):
    """The table has columns and not one row. Of a table below others that is nobody's business, and no error there.

    Privacy: public only: of a table alone, or of the root of several.
    """


class LedgerLostError(InputError):
    """The ledger, or its mark, was removed, replaced, cut short, damaged or put back from an older copy.

    What it recorded before stands: nobody may conclude from this error that nothing was spent.

    Privacy: public only.
    """

    exit_code = MACHINE


class UnsettledError(LedgerLostError):
    """The ledger's server was lost while it wrote a line, so that nobody can say whether the line is there.

    A spend that ends so counts as spent.

    Privacy: public only.
    """


class BudgetError(SynthError):
    """The dataset's policy does not allow this spend; nothing was read or spent.

    Privacy: public only: a message holds no value that stands only in the rows.
    """

    exit_code = 4


class SpentError(SynthError):
    """The run failed or was cancelled after its budget was committed; the spend stands.

    Privacy: public only: a message holds no value that stands only in the rows.
    """

    exit_code = 5


def ended(message: str, code: int) -> tuple[str, int]:
    """Message and exit code of a command that failed: whatever struck it, 5 where something was charged before.

    Privacy: public only.

    >>> COMMITTED.clear()  # as a command does when it begins
    >>> ended("out: No space left on device", 3)
    ('out: No space left on device', 3)
    """
    reported = COMMITTED[-1] if COMMITTED and code not in (0, SpentError.exit_code) else ""
    return (f"{message}; {reported}", SpentError.exit_code) if reported else (message, code)


def meant(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that is not among the public names ``known``: the one it resembles, else all of them.

    >>> meant("mixtur", ["mixture", "slicing"]), meant("x", ["mixture", "slicing"])
    ('did you mean mixture?', 'choose one of mixture, slicing')

    Privacy: public only.
    """
    listed = list(known)
    return likely(name, listed) or Said("choose one of {}", ", ".join(listed))


def likely(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that resembles one of the public names ``known``; empty where it resembles none.

    >>> likely("ordre", ["order", "rounds"]), likely("x", ["order"])
    ('did you mean order?', '')

    Privacy: public only.
    """
    names, low = {other.lower(): other for other in known}, name.lower()
    begun = [other for other in names if low and other.startswith(low)]
    alike = begun if len(begun) == 1 else get_close_matches(low, names, n=1)
    return Said("did you mean {}?", names[alike[0]]) if alike else ""


@contextmanager
def reading(thing: object, what: str) -> Iterator[None]:
    """For work on a file that somebody else may have written: whatever it trips over is one InputError.

    Not for private rows: the kind of error is told. Its text, which may quote the file, is not.

    Errors: InputError for whatever the work trips over.
    Privacy: public only.
    """
    try:
        yield
    except SynthError:
        raise
    except MemoryError:
        raise InputError(
            "{}: the {} asks for more memory than there is; ask for fewer rows, or use another copy", thing, what
        ) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            "{}: the {} is damaged, or was made by another version ({}); use another copy",
            thing,
            what,
            type(error).__name__,
        ) from None


def need(what: str, extra: str, *modules: str) -> None:
    """Whether the modules of an extra of pyproject.toml are there, which ``what`` cannot do without.

    >>> need("adding", "report", "math")

    Errors: UsageError that names the extra and the command. Privacy: public only.
    """
    if any(find_spec(name) is None for name in modules):
        raise UsageError("{} needs the extra `{}`; {}", what, extra, remedy(extra))


def remedy(extra: str) -> str:
    """How an extra is installed.

    Privacy: public only.
    """
    return f"run: pip install 'facsimile-synth[{extra}]', or in a checkout: make extras EXTRAS={extra}"
