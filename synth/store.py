"""Releases and models on disk: JSON for what people read, safetensors for arrays. Never a pickle."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from synth.errors import InputError
from synth.questions import Bins, Counts, CountsRelease, Marginal

Arrays = dict[str, np.ndarray]


def save(path: Path, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes NAME.json and NAME.safetensors beside it."""
    path.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, path.with_suffix(".safetensors"))


def load(path: str | Path, *, kind: str) -> tuple[dict[str, Any], Arrays]:
    """What ``save`` wrote. ``path``: the JSON file, or the folder that holds KIND.json.

    Errors: InputError when a file is missing, damaged or of another kind.
    """
    path = Path(path)
    path = path / f"{kind}.json" if path.is_dir() else path
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        arrays = load_file(path.with_suffix(".safetensors"))
    except OSError as error:
        missing = Path(str(error.filename or path)).name
        reason = f"{missing}: {error.strerror or 'cannot be read'}"
        raise InputError(f"{reason}; a {kind} is two files, {kind}.json and {kind}.safetensors") from None
    except (ValueError, SafetensorError, RecursionError):
        raise InputError(f"{path}: not a {kind} written by this tool, or damaged") from None
    if not isinstance(plain, dict) or plain.get("format") != f"facsimile-{kind}/1":
        raise InputError(f"{path}: not a {kind} (format facsimile-{kind}/1) but something else")
    return plain, arrays


def pack(releases: Sequence[CountsRelease]) -> tuple[dict[str, Any], Arrays]:
    """Releases as JSON data and arrays; groupings that several tables share are stored once."""
    groupings: dict[int, int] = {}
    plain: dict[str, Any] = {"groupings": [], "steps": []}
    arrays: Arrays = {}
    for i, release in enumerate(releases):
        tables = []
        for j, (marginal, values) in enumerate(zip(release.question.marginals, release.values, strict=True)):
            axes = [_pack_bins(b, groupings, plain["groupings"], arrays) for b in marginal.bins]
            tables.append({"axes": axes, "sigma": marginal.sigma})
            arrays[f"step.{i}.table.{j}"] = values
        plain["steps"].append({"kind": "counts", "purpose": release.question.purpose, "tables": tables})
    return plain, arrays


def _pack_bins(bins: Bins, known: dict[int, int], listed: list[dict], arrays: Arrays) -> int:
    if id(bins) not in known:
        number = known[id(bins)] = len(listed)
        listed.append({"column": bins.column, "cells": bins.cells})
        arrays[f"grouping.{number}.starts"] = bins.starts
        arrays[f"grouping.{number}.groups"] = bins.groups
    return known[id(bins)]


def unpack(plain: Mapping[str, Any], arrays: Arrays) -> list[CountsRelease]:
    """The inverse of ``pack``. Errors: InputError when the parts do not fit together."""
    try:
        groupings = [
            Bins(
                column=str(g["column"]),
                cells=int(g["cells"]),
                starts=arrays[f"grouping.{i}.starts"],
                groups=arrays[f"grouping.{i}.groups"],
            )
            for i, g in enumerate(plain["groupings"])
        ]
        return [_unpack_step(i, step, groupings, arrays) for i, step in enumerate(plain["steps"])]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise InputError("the release is damaged: its JSON and its arrays do not fit together") from None


def _unpack_step(i: int, step: Mapping[str, Any], groupings: list[Bins], arrays: Arrays) -> CountsRelease:
    if step["kind"] != "counts":
        raise ValueError(step["kind"])
    marginals = tuple(
        Marginal(bins=tuple(groupings[a] for a in t["axes"]), sigma=float(t["sigma"])) for t in step["tables"]
    )
    values = tuple(arrays[f"step.{i}.table.{j}"] for j in range(len(marginals)))
    if any(v.shape != m.shape for v, m in zip(values, marginals, strict=True)):
        raise ValueError("shape")
    return CountsRelease(question=Counts(purpose=str(step["purpose"]), marginals=marginals), values=values)
