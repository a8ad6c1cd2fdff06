"""The catalogues of translations, from the texts that stand in the code: `make texts` adds what is new, drops what is
gone, and says what is not translated yet; `--check` only says it.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import polib
from jinja2 import Environment, nodes
from jinja2.ext import extract_from_ast

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = ROOT / "synth" / "languages"
# Modules of the library whose sentences the pages show: all their texts, elsewhere those of errors alone.
SPEAKING = (
    "schema/column.py",
    "schema/key_pattern.py",
    "release/card",
    "evaluate/verdict.py",
    "evaluate/from_rows.py",
    "evaluate/amounts.py",
    "evaluate/column_numbers.py",
    "evaluate/chart_data.py",
    "evaluate/detection.py",
    "evaluate/examination.py",
    "evaluate/related_fidelity.py",
    "evaluate/risks.py",
    "evaluate/shadows.py",
    "evaluate/utility.py",
    "evaluate/quality.py",
    "generators/core/problem.py",
    "pipeline/encoded_rows.py",
    "privacy/accounting/composition.py",
    "privacy/ledger/server_words.py",
    "privacy/noise.py",
    "privacy/relation.py",
    "report/publishable.py",
    "schema/dataset.py",
    "pipeline/reached.py",
    "pipeline/retention.py",
    "schema/dialect.py",
    "sources/draft",
    "jobs/stages.py",
)
KINDS = (
    "InputError",
    "UsageError",
    "BudgetError",
    "SpentError",
    "EmptyTableError",
    "LedgerLostError",
    "UnsettledError",
)
# Of the command line and of Python alone: no page reaches them, and they stay English.
ELSEWHERE = (
    "cli/",
    "evaluate/audit/",
    "capacity/",
    "pipeline/synthesizer.py",
    "privacy/ledger/copies.py",
    "schema/census",
    "generators/core/mixtures.py",
)


def template(node: ast.expr) -> str | None:
    """The text of a literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _literals(node: ast.AST) -> Iterator[ast.expr]:
    """The outermost text literals below a node, without those of its docstrings and annotations."""
    if isinstance(node, ast.Constant):
        yield node
    if isinstance(node, ast.Constant | ast.JoinedStr):  # what is put together is no text of a catalogue
        return
    kinds = (getattr(node, "annotation", None), getattr(node, "returns", None))
    for child in ast.iter_child_nodes(node):
        if not (child in kinds or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))):
            yield from _literals(child)


WORDS = re.compile(r"[A-Za-z]{2}(?![^{}]*\})")  # outside of places


def _speaks(text: str) -> bool:
    several = len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and " " in text.strip()
    return several and not text.lstrip().startswith("<") and not re.search(r"\[0-9\]|\(\?P", text)


def _heading(text: str) -> bool:
    return text.isalpha() and text[:1].isupper() and text[1:].islower()


def _called(node: ast.AST, *names: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _heads(trees: dict[str, ast.Module]) -> dict[str, str]:
    """Texts at the head of files, by file and name: ``_(NAME)`` and ``Said(NAME)`` stand for them."""
    return {
        f"{Path(name).stem}.{target.id}": node.value.value
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _kind(error: ast.Call) -> str:
    return error.func.attr if isinstance(error.func, ast.Attribute) else getattr(error.func, "id", "")


def _table(given: ast.Call) -> list[str | None]:
    """The texts of a ``Texts``: its values, and keys that begin like a heading."""
    tables = [d for d in ast.walk(given) if isinstance(d, ast.Dict)]
    keys = [str(k.value) for d in tables for k in d.keys if isinstance(k, ast.Constant)]
    held = [*(k.value for k in given.keywords), *(w for d in tables for w in d.values)]
    values = [template(v) for w in held if not isinstance(w, ast.Dict) for v in _literals(w)]
    return [*(k for k in keys if k[:1].isupper()), *(v for v in values if v and re.search("[A-Za-z]{2}", v))]


def _of(node: ast.AST, heads: dict[str, str], stem: str, *, errors: bool) -> list[tuple[str | None, str]]:
    """The texts that a node of the code marks, with their plurals."""
    if _called(node, "ngettext"):
        return [(template(node.args[0]), str(template(node.args[1])))]
    if _called(node, "_", "translated"):
        at = node.args[0]
        head = heads.get(ast.unparse(at), heads.get(f"{stem}.{ast.unparse(at)}"))
        return [(template(at) if isinstance(at, ast.Constant) else head, "")]
    if _called(node, "Texts"):
        return [(text, "") for text in _table(node)]
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "summary" and template(node.value):
        return [(template(node.value), "")]  # a method in one line
    if isinstance(node, ast.Call) and _kind(node) in ("Said", *(KINDS if errors else ())) and node.args:
        at = node.args[0]
        head = heads.get(ast.unparse(at)) or heads.get(f"{stem}.{ast.unparse(at)}")
        either = [at.body, at.orelse] if isinstance(at, ast.IfExp) else [at]
        found = [head] if head else map(template, at.values if isinstance(at, ast.BoolOp) else either)
        return [(text, "") for text in found if text and WORDS.search(text)]
    return []


def _of_templates() -> Iterator[tuple[str, str]]:
    """The texts of the reports' templates, in ``{% trans %}`` or ``_("...")``, with the files that they stand in."""
    made = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    made.policies["ext.i18n.trimmed"] = True
    made.newstyle_gettext = True  # type: ignore[attr-defined]  # as the reports' own environment has it
    there = ROOT / "synth" / "report" / "templates"
    for path in sorted([*there.glob("*.html"), *there.glob("*.json"), *there.glob("*.md")]):
        tree: nodes.Template = made.parse(path.read_text(encoding="utf-8"))
        for _line, function, found in extract_from_ast(tree, gettext_functions=("_", "gettext")):
            text = str(found[0] if isinstance(found, tuple) else found)
            if function == "gettext":  # a block: its places are written in another way
                text = re.sub(r"%\((\w+)\)s", r"{\1}", text).replace("%%", "%")
            yield text, path.relative_to(ROOT).as_posix()


def _of_papers() -> Iterator[tuple[str, str]]:
    """The texts of the papers, in Markdown: titles, questions and answers, each with the file that it stands in."""
    for path in sorted((ROOT / "synth" / "report" / "documents").glob("*.md")):
        words = re.sub(r"^---\nfile: .*\ntitle: (.*)\n---\n", r"\1\n", path.read_text(encoding="utf-8"))
        for block in re.split(r"\n\n|\n(?=#)", words):
            said = re.sub(r"^#+ | \[\w+\]$", "", " ".join(block.split()))
            for text in said.split(" | "):
                if re.search("[A-Za-z]{2}", re.sub(r"\{\w+\}", "", text)):
                    yield text, path.relative_to(ROOT).as_posix()


def texts() -> dict[str, tuple[str, str]]:
    """Every text: its plural, empty for most, and the file that it stands in."""
    files = [p for room in ("app", "synth") for p in sorted((ROOT / room).rglob("*.py"))]
    trees = {p.relative_to(ROOT).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in files}
    heads, out = _heads(trees), dict[str, tuple[str, str]]()
    for name, tree in trees.items():
        errors = not name.startswith(tuple(f"synth/{part}" for part in ELSEWHERE))
        stem = Path(name).stem
        pairs = [pair for node in ast.walk(tree) for pair in _of(node, heads, stem, errors=errors)]
        if name.startswith(tuple(f"synth/{s}" for s in SPEAKING)):
            pairs += [
                (text, "") for text in map(template, _literals(tree)) if text and (_speaks(text) or _heading(text))
            ]
        for text, many in pairs:
            if text:
                out.setdefault(text, (many, name))
    for text, name in (*_of_templates(), *_of_papers()):
        out.setdefault(text, ("", name))
    return out


def update(path: Path) -> tuple[polib.POFile, list[str]]:
    """The catalogue with exactly the texts of the code, and those that it does not translate."""
    held = {e.msgid: e for e in polib.pofile(str(path))} if path.is_file() else {}
    made = polib.POFile(wrapwidth=110)
    made.metadata = {
        "Language": path.stem,
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    if path.is_file():
        made.metadata |= polib.pofile(str(path)).metadata
    for text, (many, place) in sorted(texts().items(), key=lambda t: (t[1][1], t[0])):
        old = held.get(text)
        entry = polib.POEntry(msgid=text, msgstr="", occurrences=[(place, "")])
        if many:
            entry.msgid_plural = many
            entry.msgstr_plural = dict(old.msgstr_plural) if old and old.msgstr_plural else {0: "", 1: ""}
        elif old:
            entry.msgstr = old.msgstr
        made.append(entry)
    return made, [e.msgid for e in made if not (all(e.msgstr_plural.values()) if e.msgid_plural else e.msgstr)]


def main() -> int:
    """Updates every catalogue, or with ``--check`` looks only; 1 where a text lacks its translation."""
    lacking = 0
    for path in [Path(p) for p in sys.argv[1:] if not p.startswith("-")] or sorted(CATALOGUES.glob("*.po")):
        made, missing = update(path)
        if "--check" not in sys.argv:
            made.save(str(path))
        lacking += len(missing)
        print(f"{path.name}: {len(made)} texts, {len(missing)} without a translation")
    return 1 if lacking and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
