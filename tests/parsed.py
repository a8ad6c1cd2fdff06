"""The code as syntax trees, parsed once for all rules about it: their tests run in one process, the group ``code``."""

import ast
from functools import cache
from pathlib import Path


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a file's syntax tree, its module first."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
