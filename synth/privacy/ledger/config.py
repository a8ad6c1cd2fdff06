"""Whether an installation allows a spend on a dataset that nothing caps.

``SYNTH_REQUIRE_CAP=yes`` forbids it, and so does a configuration file: the one that ``SYNTH_CONFIG`` names, else
``facsimile/config.toml`` in the user's configuration folder (``$XDG_CONFIG_HOME``, by default ``~/.config``)::

    [budget]
    require_cap = true

No cap comes by itself: somebody chooses the figure.
"""

import os
from pathlib import Path

from synth.errors import InputError
from synth.files import toml_files

SWITCH, FILE = "SYNTH_REQUIRE_CAP", "SYNTH_CONFIG"
WORDS = {"": False, "no": False, "0": False, "false": False, "yes": True, "1": True, "true": True}


def cap_required() -> bool:
    """Whether the variable or the file demands a cap; either is enough. Errors: InputError for an unreadable rule."""
    reported = os.environ.get(SWITCH, "").strip().lower()
    if reported not in WORDS:
        raise InputError(f"{SWITCH}: must be yes or no")
    return WORDS[reported] or _in_file()


def _in_file() -> bool:
    named = os.environ.get(FILE)
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path = Path(named).expanduser() if named else folder / "facsimile" / "config.toml"
    try:
        if not named and not path.exists():
            return False
    except PermissionError:  # the folder of another user, whose configuration it then is
        return False
    plain = toml_files.read(path, kind="configuration", variable=FILE, page="docs/ledger.md")
    budget = plain.get("budget", {})
    known = set(plain) <= {"budget"} and isinstance(budget, dict) and set(budget) <= {"require_cap"}
    if not known or not isinstance(budget.get("require_cap", False), bool):  # a misspelt rule would be no rule
        raise InputError(
            f"configuration {path}: it may hold [budget] with require_cap = true or false, and nothing else"
        )
    return bool(budget.get("require_cap", False))


def command(dataset: str) -> str:
    """The command that caps a dataset, ready to be typed."""
    return f"`synth.Ledger.set_policy(dataset={dataset!r}, max_epsilon=E)`"
