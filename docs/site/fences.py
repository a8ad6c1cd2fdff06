"""Doctests of docstrings as code blocks: in Markdown their `>>>` would open quotations."""

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with every paragraph that begins with a doctest inside a fence."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{p}\n```" if p.startswith(">>>") else p for p in paragraphs)


class Fences(griffe.Extension):
    """Changes the docstrings as they are collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
