"""Names are the field's words: this project's own former ones are refused as parts of any name that code gives."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TERMS = {
    "found": "result, estimate, match",
    "told": "released, reported, message",
    "kept": "retained, stored",
    "calm": "shrinkage",
    "calmed": "shrunk",
    "drawn_in": "shrunk",
    "eased": "loss_reduction",
    "moved": "shifted, shrunk_by",
    "unevenness": "roughness",
    "simplicity": "mutual_information",
    "heaps": "heaping",
}
LOGITS = {
    "head": "conditional",
    "heads": "conditionals",
}  # where they are fitted: elsewhere a head is a table's or hash's
ROOMS = ("synth/generators/marginals", "synth/generators/product_mixture")
STORED = {  # fields whose names are keys of releases
    "synth/questions/pulls.py": {"kept"},
    "synth/generators/gradients/datalens.py": {"kept"},
}


def given(path: Path) -> set[str]:
    """Names that a file gives: to itself, functions, classes, arguments, variables and attributes.

    Names of tests are sentences, and so not meant.
    """
    names = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return {n for n in names if not n.startswith("test_")}


def words(name: str) -> str:
    """The words of a name, each between underscores.

    >>> words("_toldApart"), words("KEPT"), words("MarkedRows2")
    ('_told_apart_', '_kept_', '_marked_rows_2_')
    """
    return "_" + "_".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)).lower() + "_"


@pytest.mark.parametrize("room", ["synth", "app", "benchmarks", "tests"])
def test_names_are_the_fields_words(room):
    wrong = []
    for path in sorted((ROOT / room).rglob("*.py")):
        place = str(path.relative_to(ROOT))
        terms = TERMS | (LOGITS if place.startswith(ROOMS) else {})
        for name in sorted(given(path) - STORED.get(place, set())):
            wrong += [f"{place}: {name}; say {terms[t]}" for t in terms if f"_{t}_" in words(name)]
    assert not wrong
