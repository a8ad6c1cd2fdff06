"""Every benchmark is a script of the runner: it says what it is for, where it is named, and stores by the runner."""

import ast
import importlib.util
import json
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "benchmarks"
# Run by the Python of another project's environment, which has none of ours: those that start them say how.
FOREIGN = {"related_rival", "risks_anonymeter", "sdnist_score", "syntheval_score"}
SCRIPTS = {
    path.stem: path.read_text()
    for path in sorted(FOLDER.glob("*.py"))
    if '__name__ == "__main__"' in path.read_text() and path.stem not in {"runner", *FOREIGN}
}
# All in one process, since most of a script's second is spent on loading what the others load as well.
HELP = """
import contextlib, io, json, runpy, sys
folder, answers = sys.argv[1], {}
sys.path.insert(0, folder)
for name in sys.argv[2:]:
    shown = io.StringIO()
    sys.argv = [name, "--help"]
    try:
        with contextlib.redirect_stdout(shown):
            runpy.run_path(f"{folder}/{name}.py", run_name="__main__")
    except SystemExit as ended:
        if not ended.code and "--json" in shown.getvalue() and "--fresh" in shown.getvalue():
            answers[name] = shown.getvalue()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers():
    """What each script answers to --help; of one that does not, nothing."""
    done = subprocess.run([sys.executable, "-c", HELP, FOLDER, *SCRIPTS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_benchmark_answers_help_at_once(answers):
    """With what it is for, and with the options that all share; nothing is measured or written."""
    assert set(answers) == set(SCRIPTS)
    for name, text in SCRIPTS.items():
        assert ast.get_docstring(ast.parse(text)).splitlines()[0] in answers[name], name


def test_commands_of_the_docs_have_options_that_exist(answers):
    """Those that stand beside figures, and those of `make`: each option is one of the script's."""
    pages = {p: p.read_text().replace("\\\n", " ") for p in [ROOT / "Makefile", *(ROOT / "docs").rglob("*.md")]}
    results = [(p, *c) for p, text in pages.items() for c in re.findall(r"benchmarks/(\w+)\.py( [^`#\n|]*)", text)]
    assert len(results) > 60
    for page, name, words in results:
        options = re.findall(r"(?<!\S)\[?(--[a-z-]+)", words)
        assert not [o for o in options if f"  {o} " not in answers[name] and f"  {o}\n" not in answers[name]], page


def test_every_benchmark_is_named_where_somebody_looks():
    pages = [ROOT / "Makefile", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = set(re.findall(r"benchmarks/(\w+)\.py", "\n".join(p.read_text() for p in pages)))
    assert set(SCRIPTS) <= named
    assert named <= {*SCRIPTS, *FOREIGN}
    assert set(FOREIGN) <= set(re.findall(r"\b(\w+)\.py\b", "\n".join(SCRIPTS.values()))) | named


def test_every_benchmark_stores_by_the_runner():
    """Options, files of results and printed lines are the runner's: no script parses or writes these itself."""
    for name, text in SCRIPTS.items():
        tree = ast.parse(text)
        imports = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        taken = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "runner"]
        assert "argparse" not in imports, name
        assert "start" in {a.name for n in taken for a in n.names}, name
        last = tree.body[-1].body[-1]
        assert isinstance(last, ast.Expr), name
        assert ast.unparse(last).startswith("start(main"), name
        files = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in ("write_text", "open")]
        assert not [n for n in files if re.search(r"given\.json|RESULTS", ast.unparse(n.value))], name


def test_the_runner_goes_on_where_it_was_stopped(tmp_path):
    """A case is measured once; again with `fresh`, in the place of its line; other lines stay, failures too."""
    code = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import runner
from argparse import Namespace
from pathlib import Path
given, seen = Namespace(json=Path({str(tmp_path / "lines.json")!r}), fresh=False), []
cells = runner.grid(table=["a", "b"], seed=range(2))

def one(place, cell):
    if cell["seed"]:
        raise KeyboardInterrupt
    seen.append(cell)
    return {{"score": len(seen)}}

def whole(place, cell):
    seen.append(cell)
    return [{{"failed": "why"}}] if cell["table"] == "b" else [{{"score": 7}}, {{"score": 8, "seed": 9}}]

try:
    runner.measured(given, cells, one)
except KeyboardInterrupt:
    pass
assert seen == cells[:1], seen
rows = runner.measured(given, cells, whole)
assert seen == cells, seen
assert rows == runner.read(given.json, [])
assert [r.get("score", r.get("failed")) for r in rows] == [1, 7, 8, "why", "why"], rows
assert runner.measured(given, cells, whole) == rows and len(seen) == 4
given.fresh = True
assert len(runner.measured(given, cells[2:], whole)) == 5 and len(seen) == 6
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_what_benchmarks_import_within_functions_exists():
    """What stands at the top of a file, the answer to `--help` has imported."""
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text())
        top = set(map(id, tree.body))
        inner = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and id(n) not in top]
        for node in (n for n in inner if n.module.split(".")[0] in ("synth", "tests")):
            module = importlib.import_module(node.module)
            for name in (a.name for a in node.names):
                known = hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}")
                assert known, f"{path.name}: from {node.module} import {name}"


def test_pictures_are_read_alike_from_either_form_of_folder(tmp_path):
    """MNIST's own files, packed or not, and npm's lists of a digit each, of which the first are learnt from."""
    code = f"""
import gzip, json, sys
sys.path.insert(0, {str(FOLDER)!r})
import mnist, numpy as np
from pathlib import Path
own, npm = Path({str(tmp_path / "own")!r}), Path({str(tmp_path / "npm")!r})
own.mkdir(), (npm / "src").mkdir(parents=True)
grey = np.random.default_rng(0).integers(0, 256, (10, 3, 28, 28)).astype(np.uint8)
mnist.TRAINED = 2
for digit in range(10):
    (npm / "src" / f"{{digit}}.json").write_text(json.dumps({{"data": (grey[digit] / 255).round(4).ravel().tolist()}}))
for part, of in (("train", grey[:, :2]), ("t10k", grey[:, 2:])):
    labels = np.repeat(np.arange(10), of.shape[1])
    for name, array in (("images-idx3", of.reshape(-1, 28, 28)), ("labels-idx1", labels.astype(np.uint8))):
        raw = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()
        (own / f"{{part}}-{{name}}-ubyte.gz").write_bytes(gzip.compress(raw))
    for a, b in zip(mnist.read(own, part), mnist.read(npm, part), strict=True):
        assert (a == b).all() and len(a) == len(labels), part
try:
    mnist.read(own / "none", "train")
except mnist.InputError as error:
    assert "--from" in str(error)
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
