"""Arrays in a file of the safetensors format, whatever their length: written and read back piece by piece.

The format: eight bytes that tell the length of a JSON header, the header (for each array its type, shape and place),
and the arrays' bytes. **Source**: the format's published description; files are equal to those of its own library.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load as undump

from synth.files import regular_files
from synth.numeric.disk_array import HELD, chunks, mapped

LETTERS = {"int": "I", "uint": "U", "float": "F"}
KINDS = {f"{word}{bits}": f"{letter}{bits}" for word, letter in LETTERS.items() for bits in (8, 16, 32, 64)}
KINDS = {"bool": "BOOL"} | {name: kind for name, kind in KINDS.items() if name != "float8"}
TYPES = {reported: np.dtype(kind).newbyteorder("<") for kind, reported in KINDS.items()}
# as the format's library sorts: last ones first
ORDER = ["BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "F64", "I64", "U64"]


def write(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> str:
    """Writes arrays to an open file; returns the SHA-256 of what was written. Errors: OSError, KeyError for a type."""
    digest = hashlib.sha256()
    for part in _parts(arrays):
        file.write(part)
        digest.update(part)
    return digest.hexdigest()


def _parts(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    order = sorted(arrays, key=lambda n: (-ORDER.index(KINDS[arrays[n].dtype.name]), n))
    header: dict[str, Any] = {}
    end = 0
    for name in order:
        array, start = arrays[name], end
        end += array.nbytes
        header[name] = {"dtype": KINDS[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        for piece in chunks(arrays[name]):
            plain = np.ascontiguousarray(piece, dtype=TYPES[KINDS[arrays[name].dtype.name]])
            yield plain.reshape(-1).view(np.uint8).data


def read(path: Path) -> tuple[dict[str, np.ndarray], str]:
    """The arrays, and the SHA-256 of the file; those of a long file are read-only and come as they are looked at.

    Errors: OSError; ValueError, KeyError, TypeError or SafetensorError where it is no such file.
    """
    with regular_files.opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        packed = file.read() if size <= HELD else None
    if packed is not None:
        return undump(packed), hashlib.sha256(packed).hexdigest()
    with path.open("rb") as file:
        reported = hashlib.file_digest(file, "sha256").hexdigest()
        with safe_open(path, framework="np"):  # checks the header against the file
            pass
        file.seek(0)
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header.pop("__metadata__", None)
        arrays = {n: _placed(file, 8 + size + e["data_offsets"][0], e) for n, e in header.items()}
    return arrays, reported


def _placed(file: IO[bytes], start: int, entry: Mapping[str, Any]) -> np.ndarray:
    shape = tuple(entry["shape"])
    kind = TYPES[entry["dtype"]]
    if 0 in shape:
        return np.empty(shape, dtype=kind)
    return mapped(file.fileno(), start, kind.str, shape)
