"""A method's options as controls, whatever the method."""

from typing import Any

import streamlit as st


def ask(defaults: dict[str, Any], chosen: dict[str, Any], *, key: str) -> dict[str, Any]:
    """The options that differ from their defaults."""
    out = {}
    for name, default in defaults.items():
        value = _one(name, default, chosen.get(name, default), f"{key}_{name}")
        if value != default:
            out[name] = value
    return out


def _one(name: str, default: Any, value: Any, key: str) -> Any:
    label, help_text = name.replace("_", " ").capitalize(), f"Usual: {default}. The method's page in docs/ explains it."
    if isinstance(default, bool):
        return st.checkbox(label, value=bool(value), key=key, help=help_text)
    if isinstance(default, int):
        return int(st.number_input(label, value=int(value), step=1, key=key, help=help_text))
    if isinstance(default, float):
        return float(st.number_input(label, value=float(value), format="%.4g", key=key, help=help_text))
    return st.text_input(label, value=str(value), key=key, help=help_text).strip() or default
