"""A step's work in as large pieces as the device's memory holds, the size found once and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from synth.errors import UsageError
from synth.lazy import torch

Made = TypeVar("Made")
BOUNDLESS = {"cpu"}  # kinds of device that never raise torch.OutOfMemoryError: gradients are taken there the plain way


class Pieces:
    """How many of a batch are worked on at a time: all, until memory runs out; then half, and half again.

    >>> pieces = Pieces()
    >>> list(pieces.run(4, lambda part: (part.start, part.stop)))
    [(0, 4)]
    """

    def __init__(self) -> None:
        self.size: int | None = None  # None: memory never ran out

    def run(self, count: int, work: Callable[[slice], Made]) -> Iterator[Made]:
        """``work`` on parts of ``range(count)`` in order. It may be called again on a part, so it changes nothing.

        Errors: torch.OutOfMemoryError where one alone is too much (``enough`` words it).
        """
        at = 0
        while at < count:
            stop = min(at + (self.size or count), count)
            try:
                made = work(slice(at, stop))
            except torch.OutOfMemoryError:
                if stop - at == 1:
                    raise
                self.size = (stop - at + 1) // 2
                continue  # the error is gone, and with it the tensors of its frames
            yield made
            at = stop


@contextmanager
def enough(what: str, *, fewer: str) -> Iterator[None]:
    """For all of a fit on a device. Errors: UsageError where memory runs out although it is done in pieces.

    >>> with enough("the fit", fewer="components"):
    ...     raise torch.OutOfMemoryError
    Traceback (most recent call last):
    synth.errors.UsageError: the device's memory is too small for the fit, even in the smallest pieces: ...
    """
    try:
        yield
    except torch.OutOfMemoryError:
        raise UsageError(
            "the device's memory is too small for {}, even in the smallest pieces: choose `device=cpu`, free the "
            "device of other programs, or ask for fewer {}",
            what,
            fewer,
        ) from None


def summed(
    pieces: Pieces, count: int, at: torch.Tensor, loss: Callable[[torch.Tensor, slice], torch.Tensor]
) -> torch.Tensor:
    """The sum of ``loss(at, part)`` over parts of ``range(count)``, a scalar; gradients flow on through ``at``.

    Each part's gradient by ``at`` is taken at once, so that only one part's graph is held, and memory that runs out on
    the way back is met here too.

    >>> x = torch.arange(4.0, requires_grad=True)
    >>> torch.autograd.grad(summed(Pieces(), 4, 2 * x, lambda y, part: y[part].square().sum()), x)[0]
    tensor([ 0.,  8., 16., 24.])
    """
    if at.device.type in BOUNDLESS and pieces.size is None:
        return loss(at, slice(0, count))
    leaf = at.detach().requires_grad_()

    def work(part: slice) -> tuple[torch.Tensor, torch.Tensor]:
        value = loss(leaf, part)
        return value.detach(), torch.autograd.grad(value, leaf)[0]

    done = pieces.run(count, work)
    total, slope = next(done)
    for value, more in done:
        total, slope = total + value, slope + more
    return total + ((at - leaf.detach()) * slope).sum()  # the second term is zero, its gradient is the slope
