"""Releases and models on disk: JSON for what people read, safetensors for arrays. Never a pickle."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from synth import questions
from synth.errors import InputError
from synth.files import regular_files, whole_files
from synth.questions import Release
from synth.release import safetensors_stream

Arrays = dict[str, np.ndarray]
MANY = 10_000  # tables of an answer that are stored as one array, with their shapes; parts told one a line
STORED_AS = {"FunctionalQuery": "Path", "FunctionalRelease": "PathRelease"}  # names given after releases were written
KINDS: dict[str, Any] = {STORED_AS.get(n, n): getattr(questions, n) for n in questions.__all__}  # what may be rebuilt


def save(path: Path, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes NAME.json and NAME.safetensors beside it, each whole or not at all. Errors: OSError."""
    with whole_files.beside(path.with_suffix(".safetensors")) as draft, draft.open("r+b") as file:
        digest = safetensors_stream.write(file, arrays)
    reported = {**plain, "arrays_sha256": digest}
    spread = (
        1 if len(reported.get("parts", ())) <= MANY else None
    )  # hundreds of thousands of parts are nobody's reading
    whole_files.write(path, json.dumps(reported, indent=spread, ensure_ascii=False) + "\n")


def load(path: str | Path, *, kind: str) -> tuple[dict[str, Any], Arrays]:
    """What ``save`` wrote. ``path``: the JSON file, or the folder that holds KIND.json.

    Errors: InputError when a file is missing, damaged or of another kind.
    """
    path = Path(path)
    path = path / f"{kind}.json" if path.is_dir() else path
    try:
        plain = json.loads(regular_files.text(path, most=regular_files.ENDLESS))
        arrays, digest = safetensors_stream.read(path.with_suffix(".safetensors"))
    except OSError as error:
        missing = Path(str(error.filename or path)).name
        raise InputError(
            "{}: {}; a {} is two files, {}.json and {}.safetensors", missing, error, kind, kind, kind
        ) from None
    except (ValueError, KeyError, TypeError, SafetensorError, RecursionError):
        raise InputError("{}: not a {} written by this tool, or damaged", path, kind) from None
    if not isinstance(plain, dict) or plain.get("format") != f"facsimile-{kind}/1":
        raise InputError("{}: not a {} (format facsimile-{}/1) but something else", path, kind, kind)
    if plain.get("arrays_sha256") != digest:
        raise InputError("{}: its arrays are damaged or another {}'s; use another copy", path, kind)
    return plain, arrays


def pack(releases: Sequence[Release], *, many: int = MANY) -> tuple[dict[str, Any], Arrays]:
    """Releases as JSON data and arrays. An object that several questions share is stored once, and more than ``many``
    tables of an answer as one array."""
    packer = _Packer(many)
    steps = [packer.value(release) for release in releases]
    return {"steps": steps, "parts": packer.parts}, packer.arrays


class _Packer:
    """Questions and answers are trees of frozen dataclasses: each becomes a numbered part, each array a name."""

    def __init__(self, many: int) -> None:
        self._many = many
        self.parts: list[dict[str, Any]] = []
        self.arrays: Arrays = {}
        self._known: dict[int, int] = {}

    def value(self, value: Any) -> Any:
        """What stands for a value: itself, a list, {"array": name} or {"part": number}."""
        if isinstance(value, np.ndarray):
            name = f"array.{len(self.arrays)}"
            self.arrays[name] = value
            return {"array": name}
        if (
            isinstance(value, tuple)
            and len(value) > self._many
            and all(isinstance(v, np.ndarray) and v.ndim == 2 and v.dtype == np.int64 for v in value)
        ):
            shapes = np.array([v.shape for v in value], dtype=np.int64)
            return {"arrays": self.value(np.concatenate([v.ravel() for v in value])), "shapes": self.value(shapes)}
        if isinstance(value, tuple):
            return [self.value(v) for v in value]
        if is_dataclass(value):
            return {"part": self._part(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise TypeError(f"a release cannot hold a {type(value).__name__}")

    def _part(self, value: Any) -> int:
        if id(value) not in self._known:
            content = {f.name: self.value(getattr(value, f.name)) for f in fields(value) if f.init}
            self._known[id(value)] = len(self.parts)
            name = type(value).__name__
            self.parts.append({"is": STORED_AS.get(name, name), **content})
        return self._known[id(value)]


def unpack(plain: Mapping[str, Any], arrays: Arrays) -> list[Any]:
    """The inverse of ``pack``. Errors: InputError when the parts do not fit together."""
    try:
        made: list[Any] = []  # a part stands after those it refers to
        for part in plain["parts"]:
            content = {n: _value(v, made, arrays) for n, v in part.items() if n != "is"}
            made.append(KINDS[part["is"]](**content))
        return [_value(step, made, arrays) for step in plain["steps"]]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        raise InputError("the release is damaged: its JSON and its arrays do not fit together") from None


def _value(plain: Any, made: Sequence[Any], arrays: Arrays) -> Any:
    if isinstance(plain, list):
        return tuple(_value(v, made, arrays) for v in plain)
    if isinstance(plain, dict) and "arrays" in plain:
        shapes, flat = arrays[plain["shapes"]["array"]], arrays[plain["arrays"]["array"]]
        ends = np.cumsum(shapes.prod(1))
        if shapes.min() < 1 or ends[-1] != len(flat):
            raise ValueError("shapes that do not fill their array")
        return tuple(p.reshape(s) for p, s in zip(np.split(flat, ends[:-1]), shapes.tolist(), strict=True))
    if isinstance(plain, dict):
        return arrays[plain["array"]] if "array" in plain else made[plain["part"]]
    return plain


def bins_of(value: Any) -> list[questions.Bins]:
    """Every grouping that a release stands on, each once."""
    result: dict[int, questions.Bins] = {}

    def look(part: Any) -> None:
        if isinstance(part, questions.Bins):
            result[id(part)] = part
        elif isinstance(part, tuple):
            for p in part:
                look(p)
        elif is_dataclass(part):
            for f in fields(part):
                look(getattr(part, f.name))

    look(value)
    return list(result.values())
