"""The four ways a request can end badly, each with the exit code that the command line returns.

Every message is one line: what is wrong, the rule it breaks, and what to do about it. A message may name
columns, files, schema facts and options; never a value that stands only in the private rows.
"""


class SynthError(Exception):
    """Base of all errors this library raises on purpose."""

    exit_code = 1


class UsageError(SynthError):
    """An option or argument is out of its range or does not fit the others; nothing was read or spent."""

    exit_code = 2


class InputError(SynthError):
    """A file, header or schema is unusable as it stands; nothing was spent."""

    exit_code = 3


class BudgetError(SynthError):
    """The dataset's policy does not allow this spend; nothing was read or spent."""

    exit_code = 4


class SpentError(SynthError):
    """The run failed or was cancelled after its budget was committed; the spend stands."""

    exit_code = 5
