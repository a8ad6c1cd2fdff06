"""Answers of any length: arrays in memory while they are small, else in a file without a name, read piece by piece.

The file lies in the folder for temporary files, is removed from it as soon as it is open, and goes with the process.
"""

import mmap
import os
import tempfile
from collections.abc import Iterator
from math import prod

import numpy as np

from synth.errors import InputError

HELD = 1 << 28  # bytes of an array kept in memory; a longer one goes to the file
PIECE = 1 << 24  # bytes of a long array that are looked at together
FULL = "the folder for temporary files is full: a long release is kept there; set TMPDIR to one with more room"


class DiskArray:
    """Rows of numbers, float64, put down part by part, each row at a place of its own.

    >>> array_on_disk = DiskArray((3, 2))
    >>> array_on_disk.put(np.array([1]), np.zeros((1, 2)))
    >>> array_on_disk.put(np.array([2, 0]), np.ones((2, 2)))
    >>> array_on_disk.array().tolist()
    [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        """``shape``: of the whole. Errors: InputError when the folder for temporary files cannot be written to."""
        self._shape, self._rows = shape, 0
        size = 8 * prod(shape)
        if size <= HELD:
            self._whole, self._file = np.empty(shape), None
            return
        try:
            self._file = tempfile.TemporaryFile(prefix="synth-")  # noqa: SIM115
            os.posix_fallocate(self._file.fileno(), 0, size)  # a disk that fills up later would end the process
        except OSError:
            raise InputError(FULL) from None
        self._whole = np.frombuffer(mmap.mmap(self._file.fileno(), size), dtype="<f8").reshape(shape)

    def put(self, places: np.ndarray, part: np.ndarray) -> None:
        """More rows, (n, columns), at ``places`` (n,), where none was put before."""
        self._whole[places] = part
        self._rows += len(part)

    def array(self) -> np.ndarray:
        """All rows; a long array is read-only, and its pages come from the file as they are looked at.

        Errors: ValueError before the last row.
        """
        if self._rows != self._shape[0]:
            raise ValueError("rows are lacking")
        return self._whole if self._file is None else mapped(self._file.fileno(), 0, "<f8", self._shape)


def mapped(descriptor: int, start: int, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only array that is a part of an open file; it outlives the file's name and descriptor."""
    whole = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    return np.frombuffer(whole, dtype=kind, count=prod(shape), offset=start).reshape(shape)


def chunks(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array, or if it is long its rows some at a time, each piece let go of before the next is read.

    >>> [p.shape for p in chunks(np.zeros((3, 2)))]
    [(3, 2)]
    """
    if array.nbytes <= HELD:
        yield array
        return
    step = max(PIECE // max(array.nbytes // len(array), 1), 1)
    file: object = array  # that it is a part of
    while file is not None and not isinstance(file, mmap.mmap):
        file = file.obj if isinstance(file, memoryview) else getattr(file, "base", None)
    for start in range(0, len(array), step):
        yield array[start : start + step]
        if file is not None:
            file.madvise(mmap.MADV_DONTNEED)  # the pages stay in the file; a piece still held is read again
