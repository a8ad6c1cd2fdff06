"""Descriptions checked once: every page asks several times whether the same one is sound, and each check reads all of
it. Remembered by its whole text, so that who asks learns nothing that he did not say himself.
"""

import json
from functools import lru_cache
from typing import Any

import synth
from synth import app_api

NAME = "description"
RETAINED = 16  # descriptions; one may list many values


def parsed(plain: dict[str, Any], *, complete: bool = True) -> tuple[Any, str]:
    """The checked description of one table, or of tables that belong together, or None and what is wrong with it."""
    return _parsed(json.dumps(plain), complete)


def alone(plain: dict[str, Any]) -> dict[str, str]:
    """``app_api.alone`` of one table's description; nothing where it is not sound."""
    return dict(_alone(json.dumps(plain)))


@lru_cache(maxsize=RETAINED)
def _parsed(text: str, complete: bool) -> tuple[Any, str]:
    try:
        return app_api.parse_schema(json.loads(text), name=NAME, complete=complete), ""
    except synth.InputError as error:
        return None, str(error)


@lru_cache(maxsize=RETAINED)
def _alone(text: str) -> dict[str, str]:
    facts, _other = _parsed(text, False)
    return {} if facts is None else app_api.alone(facts)
