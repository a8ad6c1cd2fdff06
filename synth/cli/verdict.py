"""What a report's verdict says at the command line."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from synth.cli.answer import say


def tell_publishable(paths: Mapping[str, str], *, as_json: bool) -> None:
    """Says where a publishable report is, and its verdict."""
    said = verdict(paths)
    if as_json:
        say({"kind": "publishable", "epsilon_spent": 0.0, "verdict": said, "paths": paths})
        return
    print("\n".join([*in_words(said), paths["report"]]))


def verdict(paths: Mapping[str, str]) -> list[dict[str, Any]]:
    """The verdict that a report was written with."""
    return list(json.loads(Path(paths["report_json"]).read_text(encoding="utf-8"))["verdict"])


def in_words(said: Iterable[Mapping[str, Any]]) -> list[str]:
    """A verdict as lines, a use each."""
    return [f"{use['level']} {use['sentence']}" for use in said]
