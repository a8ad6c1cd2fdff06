"""Whose an open charge is: one process's, which does one thing at a time with it. Used by all that hold one."""

import os
import threading

from synth.errors import BudgetError


class _Forks:
    """How many forks lie between this process and the first: a process number alone may be given again."""

    count = 0

    @classmethod
    def another(cls) -> None:
        cls.count += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_Forks.another)


def process() -> tuple[int, int]:
    """This process, told from its forks and from later ones of its number. Privacy: public only."""
    return os.getpid(), _Forks.count


class Owner:
    """The process that paid. Within ``with owner:`` no other thread is; in a fork nothing is done at all.

    A copy of what was paid for is not: 40 forks would draw 40 noisy answers from one charge. It can be neither pickled
    nor deeply copied.

    Errors: BudgetError in another process, before anything is drawn or read.
    Privacy: public only.
    """

    def __init__(self) -> None:
        self._process, self._lock = process(), threading.RLock()

    @property
    def here(self) -> bool:
        """Whether this is the process that paid."""
        return process() == self._process

    def __enter__(self) -> None:
        if not self.here:  # before the lock, which a thread that no fork has may hold
            raise BudgetError("this process is a copy of the one that paid, and one charge is answered once; ask there")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
