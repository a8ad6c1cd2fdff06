"""Networks before their weights are set, and the slope that their rectified units share."""

from typing import TypeVar

import torch
from torch import nn

SLOPE = 0.2  # of rectified units below zero: no unit is ever dead
Module = TypeVar("Module", bound=nn.Module)


def zeroed(made: Module) -> Module:
    """The same network, its weights all zero."""
    with torch.no_grad():
        for p in made.parameters():
            p.zero_()
    return made
