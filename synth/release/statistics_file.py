"""The file of statistics that were paid for: read by reports, which must not reach what reads rows."""

import json
from pathlib import Path
from typing import Any

from synth.errors import InputError
from synth.files import regular_files

FORMAT = "facsimile-statistics/1"


def load(path: str | Path) -> dict[str, Any]:
    """What `synth statistics --out` wrote. Errors: InputError."""
    try:
        parsed = json.loads(regular_files.text(path))
        fit = parsed["format"] == FORMAT and isinstance(parsed["statistics"], list) and parsed["level"] > 0
        whole = fit and all(parsed["card"][n] is not None for n in ("epsilon", "delta", "relation"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise InputError("{}: holds no statistics; name the file that `synth.statistics` wrote", path)
    return parsed
