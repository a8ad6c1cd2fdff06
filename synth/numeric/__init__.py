"""Arithmetic that questions, mechanisms and methods share: random fields, arrays on disk, small networks."""

from typing import TYPE_CHECKING

from synth.lazy import Lazy

if not TYPE_CHECKING:
    networks = Lazy("synth.numeric.networks")  # and with it torch, when something of it is first used
