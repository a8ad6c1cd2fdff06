"""Docstrings of public names are contracts: arguments, shapes, errors, what is private, where the proof is.

The form: a sentence; arguments with shapes, units and ranges; ``Errors:`` naming what may be raised; ``**Guarantee**``
where something is released; ``Privacy:`` with one of ``WORDS``. Proof notes are named by the modules of mechanisms and
accounting.
"""

import ast
import re
from pathlib import Path

import pytest

import synth

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("public only", "released answers only", "reads rows, under noise", "reads rows, exact")
PRIVACY = re.compile(rf"Privacy: (?:{'|'.join(WORDS)})\b")
WHOLE = ("mechanisms", "privacy", "privacy/accounting", "questions", "generators/base.py", "errors.py")
ENTRIES = {"pipeline/dry_run.py": ["dry_run"]}
PROVED = [
    p
    for room in ("mechanisms", "privacy/accounting")
    for p in sorted((ROOT / "synth" / room).glob("*.py"))
    if p.stem != "__init__"
]
Node = ast.FunctionDef | ast.ClassDef


def top(path: Path) -> dict[str, Node]:
    """Public functions and classes of a module, by name."""
    body = ast.parse(path.read_text()).body
    return {n.name: n for n in body if isinstance(n, Node) and not n.name.startswith("_")}


def public() -> list[tuple[str, Node]]:
    """The library's names, the pipeline's entry points, and everything in the rooms that an auditor reads."""
    result: dict[str, Node] = {}
    for at in WHOLE:
        place = ROOT / "synth" / at
        for path in [place] if at.endswith(".py") else sorted(place.glob("*.py")):
            result |= {f"{path.relative_to(ROOT)}:{n}": node for n, node in top(path).items()}
    for homes in (ENTRIES, LIBRARY):
        result |= dict(defined(home, n) for home, names in homes.items() for n in names)
    return sorted(result.items())


def library() -> dict[str, list[str]]:
    """The names of ``synth`` and ``synth.app_api``, by the module that each comes from."""
    homes: dict[str, list[str]] = {}
    for name, home in (synth._HOME | synth.app_api._HOME).items():
        module, colon, inside = home.partition(":")
        if (not colon or inside) and not name.isupper():  # else the module itself, or a constant
            homes.setdefault(module.replace(".", "/") + ".py", []).append(inside or name)
    return homes


def defined(home: str, name: str) -> tuple[str, Node]:
    """Where a name is defined, and what it is: in this module of synth/, or in the one it imports the name from."""
    path = ROOT / "synth" / home
    if name in (here := top(path)):
        return f"synth/{home}:{name}", here[name]
    imports = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ImportFrom)]
    module = next(str(n.module) for n in imports if any((a.asname or a.name) == name for a in n.names))
    return defined(module.removeprefix("synth.").replace(".", "/") + ".py", name)


LIBRARY = library()
PUBLIC = public()


def raised(node: Node) -> set[str]:
    """Classes that the code of a function, or of a class's public methods and construction, raises by name."""
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
    bodies = [m for m in methods if m.name == "__post_init__" or not m.name.startswith("_")] or [node]
    raises = [n.exc for b in bodies for n in ast.walk(b) if isinstance(n, ast.Raise) and n.exc]
    reported = {ast.unparse(e).partition("(")[0] for e in raises}
    return {t for t in reported if t.endswith("Error")} - {"AttributeError", "NotImplementedError"}


def test_a_public_name_says_what_is_private_and_what_is_raised():
    wrong = []
    for name, node in PUBLIC:
        text = ast.get_docstring(node) or ""
        wrong += [f"{name}: Privacy: {' | '.join(WORDS)}"] * (not PRIVACY.search(text))
        methods = " ".join(ast.get_docstring(m) or "" for m in ast.walk(node) if isinstance(m, ast.FunctionDef))
        wrong += [f"{name} raises {e}, unsaid" for e in raised(node) if e not in text + methods]
    assert not wrong


def functions(node: Node) -> list[ast.FunctionDef]:
    """The function itself, or a class's public methods."""
    if isinstance(node, ast.FunctionDef):
        return [node]
    return [m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")]


SHAPE = re.compile(r"\([\w*+ /.,]+,\)|\(\w[\w ]*(?:, ?[\w *+]+)+\)|shape|element by element")


def test_arrays_have_their_shapes_said():
    """Each public function that takes or gives arrays says a shape, in its docstring or its class's."""
    unsaid = []
    for name, node in PUBLIC:
        for f in functions(node):
            handed = ast.unparse(f.args) + (ast.unparse(f.returns) if f.returns else "")
            text = (ast.get_docstring(f) or "") + (ast.get_docstring(node) or "")
            if "ndarray" in handed and not SHAPE.search(text):
                unsaid.append((name, f.name))
    assert not unsaid


ENTRY = {name for home, names in LIBRARY.items() for name, _ in (defined(home, n) for n in names)}


def test_every_argument_of_a_name_of_the_library_is_explained():
    """By its name in the docstring: there it has its meaning, or the function that it is as of."""
    unsaid = []
    for name, node in (p for p in PUBLIC if p[0] in ENTRY and isinstance(p[1], ast.FunctionDef)):
        text, given = ast.get_docstring(node) or "", [*node.args.args, *node.args.kwonlyargs]
        unsaid += [(name, a.arg) for a in given if not re.search(rf"\b{a.arg}\b", text)]
    assert not unsaid


def test_what_a_mechanism_lets_out_has_its_guarantee():
    """A function of a mechanism that reads rows under noise states what it guarantees."""
    wrong = []
    for path in sorted((ROOT / "synth" / "mechanisms").glob("*.py")):
        for name, node in top(path).items():
            for f in functions(node):
                text = ast.get_docstring(f) or ""
                released = "reads rows, under noise" in text or f.name == "answer"
                if released and "**Guarantee**" not in text + (ast.get_docstring(node) or ""):
                    wrong.append(f"{path.stem}.{name}.{f.name}")
    assert not wrong


@pytest.mark.parametrize("path", PROVED, ids=lambda p: p.stem)
def test_mechanisms_and_accounting_point_to_their_proof(path):
    match = re.search(
        r"Proof note: ([\w/]+\.md)", (ast.get_docstring(ast.parse(path.read_text())) or "").replace("\n", " ")
    )
    assert match, path
    note = path.parent / match[1] if "/" not in match[1] else ROOT / match[1]
    assert note.exists(), f"{path.name}: {match[1]}"


def test_only_what_reads_rows_is_handed_rows():
    """No lip service: a function of a mechanism says that it reads rows just where it is handed what was read."""
    private = {"rows", "total", "gradients", "features", "exact"}  # parameters that carry exact figures of rows
    wrong = []
    for path in sorted((ROOT / "synth" / "mechanisms").glob("*.py")):
        for name, node in top(path).items():
            if isinstance(node, ast.FunctionDef):
                arrays = {
                    a.arg
                    for a in node.args.args
                    if "ndarray" in ast.unparse(a.annotation or ast.Constant(""))
                    or "Mapping" in ast.unparse(a.annotation or ast.Constant(""))
                }
                reads = "Privacy: reads rows" in (ast.get_docstring(node) or "")
                if bool(arrays & private) and not reads:
                    wrong.append(f"{path.stem}.{name}")
    assert not wrong


def test_the_public_names_are_all_here():
    assert len(PUBLIC) > 180
    assert {"synth/pipeline/run.py:run", "synth/mechanisms/counts.py:sensitivity"} <= {n for n, _ in PUBLIC}
