"""Imports point one way; privacy noise has one source. Read from the code itself, so a new arrow fails here."""

import ast
import inspect
import os
import re
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from tests.parsed import nodes

pytestmark = pytest.mark.xdist_group("code")
ROOT = Path(__file__).resolve().parent.parent
# Ground first: a room imports rooms that stand before it, and itself.
ROOMS = ["languages", "errors", "lazy", "files", "schema", "questions", "numeric", "jobs", "sources", "privacy"]
ROOMS += ["generators", "mechanisms", "release", "verified", "pipeline", "evaluate", "capacity", "report", "cli"]
LOOSE = {"__init__", "__main__", "app_api"}  # the interfaces and the command's entry: they know every room


def imports(path: Path) -> set[str]:
    """Dotted names of the modules of synth that a file imports, at once or when first used, without `synth.`."""
    result = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            result |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inside = node.module == "synth"
            result |= {f"synth.{a.name}" for a in node.names} if inside else {node.module}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Lazy":
            result.add(ast.unparse(node.args[0]).strip("f'"))
    return {name.removeprefix("synth.") for name in result if name.startswith("synth.")}


def modules() -> list[Path]:
    return sorted((ROOT / "synth").rglob("*.py"))


def owner(path: Path) -> str:
    return path.relative_to(ROOT / "synth").parts[0].removesuffix(".py")


def test_no_arrow_points_upwards():
    wrong = []
    for path in (p for p in modules() if owner(p) not in LOOSE):
        below = set(ROOMS[: ROOMS.index(owner(path)) + 1])
        wrong += [f"{path}: synth.{name}" for name in imports(path) if name.split(".")[0] not in below]
    assert not wrong


def module(path: Path) -> str:
    """The dotted name of a file of synth, without the leading `synth.`."""
    return ".".join(path.relative_to(ROOT / "synth").with_suffix("").parts).removesuffix(".__init__")


def inside(path: Path, there: set[str]) -> set[str]:
    """The modules of its own room that a file imports, wherever in it and for types alone too."""
    results = set()
    for node in (n for n in nodes(path) if isinstance(n, ast.ImportFrom) and n.module):
        room = node.module.removeprefix("synth.")
        parts = {f"{room}.{a.name}".removeprefix("synth.") for a in node.names}
        results |= (parts & there) | ({room} if parts - there else set())
    results |= {a.name.removeprefix("synth.") for n in nodes(path) if isinstance(n, ast.Import) for a in n.names}
    return {n for n in results & there if n.split(".")[0] == owner(path)} - {module(path)}


def test_no_modules_of_a_room_go_in_a_circle():
    """A module that is imported where it is called, or for types alone, is needed too: a reader must go there."""
    paths = {module(p): p for p in modules() if owner(p) not in LOOSE}
    left = {n: inside(p, set(paths)) for n, p in paths.items()}
    while ready := {n for n, needs in left.items() if not needs & set(left)}:
        left = {n: needs for n, needs in left.items() if n not in ready}
    while above := set(left) - set().union(*left.values()):  # what only leads to a circle
        left = {n: needs for n, needs in left.items() if n not in above}
    assert not left


def test_nothing_else_stands_beside_the_rooms():
    assert {owner(path) for path in modules()} == {*ROOMS, *LOOSE}
    assert {p.stem for p in (ROOT / "synth").glob("*.py")} == {"errors", "lazy", *LOOSE}


def test_generators_never_see_rows_noise_or_ledger():
    for path in (ROOT / "synth" / "generators").rglob("*.py"):
        rooms = {name.split(".")[0] for name in imports(path)}
        assert not rooms & {"privacy", "mechanisms", "sources", "pipeline"}, path
        assert not imports(path) & {"schema.codec"}, path
    from synth.generators import GENERATORS
    from synth.generators.base import Fit, Run, Setting

    for made in map(type, GENERATORS.values()):  # and nobody hands them any
        assert [*inspect.signature(made.measure).parameters] == ["self", "run"]
        assert [*inspect.signature(made.fit).parameters] == ["self", "releases", "setting", "how"]
    handed = {f.name for kind in (Run, Fit) for f in fields(kind)}
    assert handed == {"ask", "setting", "rng", "device", "progress"}
    public = {"schema", "tree", "mu", "sensitivity", "signed", "public_rows", "rho", "epsilon", "workload", "priors"}
    assert {f.name for f in fields(Setting)} == public | {"slice_sigma", "step_sigma"}


def test_the_command_line_adds_nothing_to_the_library():
    for path in (ROOT / "synth" / "cli").rglob("*.py"):
        assert not imports(path) & {"privacy.noise", "privacy.curator", "mechanisms.counts"}, path


def test_the_app_uses_public_names_only():
    import synth

    public = {"app_api", *synth.__all__, *(f"app_api.{name}" for name in synth.app_api.__all__)}
    for path in (ROOT / "app").rglob("*.py"):
        froms = [n for n in nodes(path) if isinstance(n, ast.ImportFrom) and n.module == "synth.app_api"]
        assert imports(path) - {"app_api", "languages"} <= public, path
        assert {f"app_api.{a.name}" for n in froms for a in n.names} <= public, path
        used = [n for n in nodes(path) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
        named = {(n.value.id, n.attr) for n in used if isinstance(n.value, ast.Name)}
        assert {b for a, b in named if a == "synth"} <= public, path
        assert {f"app_api.{b}" for a, b in named if a == "app_api"} <= public, path


def test_the_public_face_is_small_and_whole():
    import synth

    assert set(synth._HOME) == {
        *("run", "sample", "plan", "draft", "learn_schema", "Schema", "Synthesizer", "Result", "Release", "Ledger"),
        *(
            "federated",
            "online",
            "Site",
            "compare",
            "report",
            "statistics",
            "estimates",
            "combine",
            "bundle",
            "card",
            "check",
            "methods",
            "mixtures",
        ),
        *("SynthError", "InputError", "UsageError", "BudgetError", "SpentError"),
    }
    for interface in (synth, synth.app_api):
        assert set(interface.__all__) <= set(dir(interface))
        assert all(getattr(interface, name) is not None for name in interface.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = synth.nothing


# Ground first, as for the rooms; the pages stand on all of them, and the entry scripts on the pages' folder.
GROUPS = ["session", "table", "run", "result", "views"]  # four beside the pages are enough
ENTRIES = {"__init__", "main", "pages", "server"}


def test_the_app_is_pages_and_what_several_of_them_share():
    state = ast.parse((ROOT / "app" / "session" / "state.py").read_text())
    (titles,) = (n.value for n in state.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "TITLES")
    assert isinstance(titles, ast.Call)
    assert {p.stem for p in (ROOT / "app" / "views").glob("*.py")} == {k.arg for k in titles.keywords}
    assert {p.parent.name for p in (ROOT / "app").glob("*/*.py")} == set(GROUPS)
    assert {p.stem for p in (ROOT / "app").glob("*.py")} == ENTRIES
    assert not list((ROOT / "app").glob("*/*/*.py")), "groups are flat"


def test_no_group_of_the_app_imports_one_above_it():
    wrong = []
    for path in sorted((ROOT / "app").glob("*/*.py")):
        below = set(GROUPS[: GROUPS.index(path.parent.name) + 1]) - {"views"}  # no page imports another
        ours = [n.removeprefix("app.") for n in _all_imports(path) if n == "app" or n.startswith("app.")]
        wrong += [f"{path}: app.{name}" for name in ours if name.split(".")[0] not in below]
    assert not wrong


def test_pages_are_made_by_templates_that_escape():
    """No markup in code, nothing declared safe: what stands on a page went through a template, which escapes it."""
    tag = re.compile(r"</[a-z]+>|(?<!P)<[a-z]+( [^>]*)?/?>")  # but for the names of groups in a pattern
    for path in [*modules(), *(ROOT / "app").rglob("*.py")]:
        bodies = [n.body for n in nodes(path) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
        reported = {id(b[0].value) for b in bodies if b and isinstance(b[0], ast.Expr)}  # docstrings
        texts = [n for n in nodes(path) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        assert not [t.value for t in texts if id(t) not in reported and tag.search(t.value)], path
        trusted = "Markup(" in path.read_text() and path != ROOT / "synth" / "report" / "html.py"
        assert not trusted, f"{path}: only report/html.py says what a template made"
    for path in (ROOT / "synth" / "report" / "templates").iterdir():
        assert not re.search(r"\|\s*safe|autoescape|<script", path.read_text()), path


def test_the_command_line_needs_nothing_of_the_app():
    """``synth app`` starts the application's server by its path; the library is whole without that folder."""
    for path in modules():
        assert "app" not in {name.split(".")[0] for name in _all_imports(path)}, path


@cache
def named(path: Path) -> set[str]:
    """As ``imports``, with `from synth.a import b` also as a.b, which may be a module."""
    result = imports(path)
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("synth."):
            result |= {f"{node.module}.{a.name}".removeprefix("synth.") for a in node.names}
    return result


@cache
def reached(module: str) -> set[str]:
    """All modules of synth that a module imports, directly or through others."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = ROOT / "synth" / Path(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in seen or not path.exists():
            continue
        seen.add(name)
        waiting += named(path)
    return seen


STEWARD_ONLY = {"report.steward.write", "report.steward.page", "evaluate.fidelity"}
STEWARD_ONLY |= {"evaluate.examination", "evaluate.detection", "evaluate.utility", "evaluate.plugin_scores"}


@pytest.mark.parametrize(
    "module", ["report.publish", "report.publishable", "report.bundle", "report.card_page", "release.card.verify"]
)
def test_what_is_released_cannot_reach_a_comparison_with_real_rows(module):
    assert not reached(module) & STEWARD_ONLY
    assert STEWARD_ONLY - {"report.steward.write"} <= reached("report.steward.write")


def random_calls(path: Path) -> list[str]:
    """Calls that draw from numpy's, the standard library's or torch's random numbers, by their source text."""
    results = []
    for node in nodes(path):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            if text.startswith(("np.random.", "numpy.random.", "random.", "torch.rand")):
                results.append(text)
    return results


def test_privacy_noise_is_drawn_in_one_place():
    """Seeded generators may be made where post-processing starts; no code draws from a global generator."""
    makers = {"np.random.default_rng"}
    for path in modules():
        calls = random_calls(path)
        if path.name == "noise.py":
            continue
        assert set(calls) <= makers, (path, calls)
        if owner(path) in ("files", "schema", "mechanisms", "privacy", "sources"):
            assert not calls, f"{path}: randomness before the last private read comes from privacy/noise.py"


def test_every_mechanism_has_its_proof_note():
    for path in (ROOT / "synth" / "mechanisms").glob("*.py"):
        if path.stem != "__init__":
            assert path.with_suffix(".md").exists(), path


def test_nothing_is_pickled():
    for path in modules():
        names = {n.split(".")[0] for n in _all_imports(path)}
        assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
        assert "torch.load" not in path.read_text(), path


# Who writes files otherwise than by files/whole_files.py, and why.
WRITERS = {
    "synth/files/whole_files.py": "the one place",
    "synth/schema/census.py": "public files fetched into a cache of the user's own",
    "synth/jobs/job.py": "a process's output, as it comes",
    "synth/jobs/worker.py": "a lock",
    "synth/sources/engines/duckdb.py": "a lock",
    "synth/evaluate/audit/whole_tables.py": "made-up tables in a folder of the audit's own",
    "synth/release/chosen.py": "lines that are only ever added",
    "synth/release/store.py": "into a draft that whole_files.py made",
    "synth/sources/formats/csv_files.py": "into a draft that whole_files.py made",
    "synth/report/bundle.py": "a table of a bundle, in a temporary folder of its own",
    "synth/release/folder.py": "whether a steward's log could be written",
    "synth/pipeline/synthesizer.py": "a copy of a stored model into a folder that is not there yet",
    "synth/privacy/ledger/copies.py": "new files, refused where they are there already; a damaged ledger put aside",
    "app/run/prior.py": "a release's files out of a zip, into a folder of their own",
    "app/table/stored.py": "an upload, into a new file of a folder of its own, which is put aside before it is removed",
}
WRITE = {"write_text", "write_bytes", "touch", "rename", "to_csv"}


def _writes(node):
    """Whether a call writes to a file by itself."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    of = node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
    modes = [a.value for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Constant)]
    texts = [m for m in modes if isinstance(m, str) and len(m) < 4]
    return (
        (called in WRITE and (bool(of) or isinstance(node.func, ast.Attribute)))
        or (called in ("open", "fdopen") and any(set(m) & set("wxa+") for m in texts))
        or ((of, called) == ("os", "open") and "O_CREAT" in ast.unparse(node))
        or (of == "shutil" and (called.startswith("copy") or called == "move"))
        or (of, called) == ("os", "replace")
    )


def test_files_are_written_in_one_place():
    """Whole or not at all, and never through a link that a stranger laid: whoever writes otherwise has a reason."""
    result = set()
    for path in [*(ROOT / "synth").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        frames = {"index", "to_csv"}  # a frame's text, where no path is named
        for node in nodes(path):
            if isinstance(node, ast.Call) and _writes(node):
                bare = {k.arg for k in node.keywords} | {getattr(node.func, "attr", "")} >= frames and not node.args
                result |= set() if bare else {str(path.relative_to(ROOT))}
    assert result == set(WRITERS)


@pytest.mark.parametrize("folder", ["app", "benchmarks", "container", "docs", "synth", "tests"])
def test_code_is_laid_out_by_the_formatter_alone(folder):
    """How much one function decides is limited by the linter (C901); a file is as long as its one idea."""
    for path in (ROOT / folder).rglob("*.py"):
        if path.name != "test_architecture.py":
            assert "fmt: skip" not in path.read_text(), path


def test_no_test_imports_another_test():
    """What several of them use stands in a module of helpers, so that a test can be read, moved and run alone."""
    for path in (ROOT / "tests").rglob("*.py"):
        froms = [n for n in nodes(path) if isinstance(n, ast.ImportFrom) and n.module]
        names = _all_imports(path) | {f"{n.module}.{a.name}" for n in froms for a in n.names}
        modules_of_tests = {n for n in names if n.split(".")[0] == "tests" or "." not in n}
        assert not [n for n in modules_of_tests if any(part.startswith("test_") for part in n.split("."))], path


def test_files_of_tests_have_names_of_their_own():
    """Folders of tests are no packages, so that two files of one name cannot be collected together."""
    packages = {"__init__.py", "conftest.py"}  # pytest tells these apart by their folders
    names = [p.name for p in (ROOT / "tests").rglob("*.py") if p.name not in packages]  # doctests collect helpers too
    assert not {n for n in names if names.count(n) > 1}


def _all_imports(path: Path) -> set[str]:
    result = nodes(path)
    plain = {a.name for n in result if isinstance(n, ast.Import) for a in n.names}
    return plain | {n.module for n in result if isinstance(n, ast.ImportFrom) and n.module}


def test_tests_of_a_group_stay_in_one_process(request):
    """Their servers, browsers and models are made once: pytest 9.2 with pytest-xdist 3.8 forgot the groups unsaid."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@code")
