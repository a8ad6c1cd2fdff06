"""Ctrl-C in the middle of a commit strikes after it, not within it."""

import os
import signal

import pytest

from synth.jobs import uninterrupted


def test_an_interrupt_waits_for_the_block():
    done = []

    def commit():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("committed")

    with pytest.raises(KeyboardInterrupt):
        commit()
    assert done == ["committed"]


def test_without_an_interrupt_nothing_is_raised():
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        pass
    assert signal.getsignal(signal.SIGINT) is before
