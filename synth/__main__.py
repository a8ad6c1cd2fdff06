"""`python -m synth` is the command `synth`."""

import atexit
import os
import sys
import threading
from typing import NoReturn

from synth.cli import main

UNTOLD = 120  # the interpreter's own code where its last words could not be written


def console() -> NoReturn:
    """The command, and then the process's end with nothing in between.

    While an interpreter is taken down, a thread of a native library (Arrow's file readers have one) that asks for it is
    ended by force, which aborts the process now and then: a command that has done its work would seem to have failed.
    """
    code = 0
    try:
        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads of ours, as the interpreter would
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            continue  # whoever read it is gone
        except OSError:
            code = code or UNTOLD
    os._exit(code)


if __name__ == "__main__":
    console()
