"""Commands in copies of a process that has loaded the program: a start of Python and the libraries takes seconds.

A copy shares the state of every random generator with its siblings, so no command that draws noise is run in one.
"""

import os
import runpy
import sys
from typing import NoReturn

NOISELESS = (
    ("schema", "init"),
    ("schema", "import"),
    ("schema", "codes"),
    ("schema", "check"),
    ("ledger", "show"),
    ("ledger", "composition"),
    ("report", "--publishable"),
    ("bundle",),
    ("card", "papers"),
    ("sample",),
)
LOADED = (
    "synth.cli",
    "synth.pipeline.run",
    "synth.pipeline.sample",
    "synth.sources.draft_related",
    "synth.privacy.accounting.compare_runs",
    "dp_accounting.pld",
    "synth.report.bundle",
    "synth.report.publish",
)  # what commands need; none of it may start a thread
Ended = tuple[int, str, str]  # exit code, stdout, stderr


def copyable(arguments: tuple[str, ...]) -> bool:
    """Whether a command may run in a copy: it draws no noise, and the system can make copies.

    >>> copyable(("schema", "check", "s.json", "--table", "t.csv")), copyable(("run", "t.csv"))
    (True, False)
    """
    return hasattr(os, "memfd_create") and any(arguments[:1] == k[:1] and {*k} <= {*arguments} for k in NOISELESS)


def commanded(arguments: tuple[str, ...], environment: dict[str, str], folder: str) -> Ended | None:
    """The command line in a copy of this process, whose memory goes with it. None: this process cannot be copied,
    since it has threads, whose locks a copy would find closed for ever."""
    if len(os.listdir("/proc/self/task")) > 1:
        return None
    with os.fdopen(os.memfd_create("out"), "rb") as out, os.fdopen(os.memfd_create("err"), "rb") as err:
        if not (copy := os.fork()):
            _become(arguments, environment, folder, out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(), err.read().decode()


def _become(arguments: tuple[str, ...], environment: dict[str, str], folder: str, out: int, err: int) -> NoReturn:
    """The command, as if it had been started; it ends the process."""
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["synth", *arguments]
        runpy.run_module("synth", run_name="__main__", alter_sys=True)
    finally:
        os._exit(1)
