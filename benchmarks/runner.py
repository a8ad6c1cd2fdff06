"""The runner of all benchmarks: cases are data, each is measured once and stored as a line of JSON.

A script describes its cases (`grid`), says how one is measured, and ends with ``start(main, ...)``, which makes its
options of the defaults given, with ``--json`` and ``--help`` for all. `measured` passes over the cases whose lines the
JSON file holds, so that a run that was stopped goes on; ``--fresh`` measures them again and replaces their lines.
Benchmarks of another form than lines store what they found with `write`.
"""

import argparse
import importlib
import json
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("PUBLIC_TABLES", ROOT.parent / "shared"))
RESULTS, PICTURES = ROOT / "benchmarks" / "results", ROOT / "docs" / "pictures"
Row = dict[str, Any]
sys.path.insert(1, str(ROOT))  # where some benchmarks find what tests have: databases, clusters, planted faults


def start(main: Callable[[argparse.Namespace], Any], *, json: str = "", public: bool = False, **usual: Any) -> None:
    """Calls ``main`` with what the command line gives; ends with its return value.

    ``usual``: each option's default, which says its type: a list, or a text with commas (or semicolons), is given with
    these between its items, a tuple has the choices, the first being the default; a type, or a list of it, stands for
    none. ``json``: the name of the file in benchmarks/results. ``public``: ends the program where the public tables are
    absent.
    """
    reported = sys.modules[main.__module__].__doc__ or ""
    reported += (
        "\nNeeds the public tables and score.py in ../shared; ends at once where they are absent." if public else ""
    )
    parser = argparse.ArgumentParser(description=reported, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=RESULTS / f"{json}.json" if json else None, help="where to store")
    parser.add_argument("--fresh", action="store_true", help="measure again what the file holds")
    parser.add_argument("--first-seed", type=int, default=0, help="leave runs of lower seeds to another process")
    for name, default in usual.items():
        parser.add_argument("--" + name.replace("_", "-"), **_taken(default))
    given = parser.parse_args()
    if public:
        need_tables()
    from synth.errors import SynthError  # after the answer to --help

    try:
        ended = main(given)
    except SynthError as error:
        ended = str(error)
    sys.exit(ended)


def _taken(default: Any) -> dict[str, Any]:
    """How an option is read whose default is this."""
    if default is False:
        return {"action": "store_true"}
    if isinstance(default, type):
        return {"type": default}
    if isinstance(default, tuple):
        return {"choices": default, "default": default[0]}
    mark = ";" if ";" in str(default) else ","  # of items that have commas
    if isinstance(default, str) and mark in default:
        default = [part for part in default.split(mark) if part]
    if not isinstance(default, list):
        kind = Path if isinstance(default, Path) else type(default)
        return {"type": kind, "default": default, "help": f"by default {default}" if default != "" else None}
    kind = next((v if isinstance(v, type) else type(v) for v in default), str)
    default = [v for v in default if not isinstance(v, type)]

    def listed(text: str) -> list:
        return [kind(part) for part in text.split(mark) if part]

    usual = "by default " + mark.join(f"{v:g}" if kind is float else str(v) for v in default) if default else None
    return {"type": listed, "default": default, "help": usual, "action": "store" if default else "extend"}


def need_tables() -> None:
    """Ends the program where the public tables and score.py are absent."""
    if not SHARED.exists():
        sys.exit("the public tables and score.py are not beside this checkout; nothing was measured")


def grid(**axes: Iterable[Any]) -> list[Row]:
    """All cases with one value of each axis, the last axis fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def same(row: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Whether a stored line is that of a case; older lines name no seed where it was the first."""
    return all(row.get(name, 0 if name == "seed" else None) == value for name, value in cell.items())


def measured(
    given: argparse.Namespace,
    cells: Sequence[Row],
    one: Callable[[Any, Row], Row | list[Row]],
    *,
    prepare: Callable[..., AbstractContextManager[Any]] = nullcontext,
    by: tuple[str, ...] = ("table",),
) -> list[Row]:
    """All lines of ``given.json``, after measuring the cases that it lacks, each stored as soon as it is measured.

    ``one(place, cell)`` finds what is added to the case, once or several times. ``prepare`` makes the place for
    consecutive cases that are equal in ``by``.
    """
    rows = read(given.json, [])
    cells = [c for c in cells if c.get("seed", 0) >= getattr(given, "first_seed", 0)]
    todo = [c for c in cells if given.fresh or not any(same(r, c) for r in rows)]
    if held := len(cells) - len(todo):
        print(f"{held} of {len(cells)} cases are passed over: their lines are in {given.json}", file=sys.stderr)
    for values, some in groupby(todo, key=lambda c: [c.get(name) for name in by]):
        with prepare(*values) as place:
            for cell in some:
                result = one(place, cell)
                new = [cell | f for f in (result if isinstance(result, list) else [result])]
                rows = [r for r in rows if not any(same(r, cell | {k: n[k] for k in cell}) for n in new)] + new
                write(given.json, rows)
                for row in new:
                    show(row)
    return rows


def show(row: Mapping[str, Any]) -> None:
    """Prints a line of figures."""
    print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, file=sys.stderr, flush=True)


def read(path: Path | None, default: Any) -> Any:
    """What a file of results holds; ``default`` where there is none."""
    return json.loads(path.read_text()) if path and path.exists() else default


def write(path: Path | None, result: Any) -> Any:
    """Stores results in the file, if one is named."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return result


def tell(path: Path | None, result: Any) -> None:
    """Prints results as JSON and stores them."""
    print(json.dumps(write(path, result), indent=1, ensure_ascii=False))


def apart(
    work: Callable[..., Row], *given: Any, most: float | None = None, env: Mapping[str, str] | None = None
) -> Row:
    """What a benchmark's function finds in a process of its own, beside its processor seconds and its peak of memory.

    Its arguments are pickled. ``most``: seconds after which it is given up; ``failed`` says then, or of an error, why.
    """
    command = [sys.executable, __file__, Path(work.__code__.co_filename).stem, work.__name__]
    return answer_of(command, most=most, input=pickle.dumps(given), env={**os.environ, **(env or {})})


def answer_of(command: Iterable[Any], *, most: float | None = None, whole: bool = False, **how: Any) -> Row:
    """The JSON that a program prints, as its last line or in all, or ``failed``, the reason why there is none."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, timeout=most, **how)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {most:g} s"}
    if done.returncode:
        return {"failed": (done.stderr.decode().strip().splitlines() or ["it ended without a word"])[-1]}
    return json.loads(done.stdout if whole else done.stdout.splitlines()[-1])


def spent(*command: Any, **how: Any) -> tuple[Row, str]:
    """What a program costs, with those that it starts and waits for, and what it prints; ends this one if it fails."""
    began = time.perf_counter()
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, **how) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: ended with {process.returncode}")
    cost = {"seconds": time.perf_counter() - began, "cpu_seconds": used.ru_utime + used.ru_stime}
    return cost | {"peak_mib": used.ru_maxrss / 1024}, said


def sure(result: Any) -> Any:
    """Results as they are; ends the program where they failed."""
    if isinstance(result, dict) and "failed" in result:
        sys.exit(result["failed"])
    return result


def environment(name: str, *packages: str) -> str:
    """The Python of build/NAME, an environment with these packages, made by pip if it is not there."""
    place = ROOT / "build" / name
    if not (place / "ready").exists():
        pip = (place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check")
        for command in ((sys.executable, "-m", "venv", place), (*pip, *packages)):
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
        (place / "ready").touch()
    return str(place / "bin" / "python")


class Clock:
    """A reporter for measured runs, which prints nothing: when each stage began, by the clock and the processor."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, float, float]] = []

    def stage(self, name: str) -> None:
        self.marks.append((name, time.perf_counter(), time.process_time()))

    def progress(self, fraction: float) -> None:
        pass

    def note(self, message: str) -> None:
        pass

    def reported(self) -> dict[str, dict[str, float]]:
        """Of each stage the seconds and the processor's seconds."""
        ends = [*self.marks[1:], ("", time.perf_counter(), time.process_time())]
        out: dict[str, dict[str, float]] = {}
        for (name, wall, used), (_, end, spent) in zip(self.marks, ends, strict=True):
            before = out.get(name, {"seconds": 0.0, "cpu_seconds": 0.0})
            out[name] = {"seconds": before["seconds"] + end - wall, "cpu_seconds": before["cpu_seconds"] + spent - used}
        return out


def _inside(module: str, name: str) -> None:
    """Calls a function whose arguments stand on the standard input, and prints what it finds with its costs."""
    work, given = getattr(importlib.import_module(module), name), pickle.loads(sys.stdin.buffer.read())
    began, used = time.perf_counter(), time.process_time()
    result = work(*given)
    cost = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - used}
    print(json.dumps(cost | {"peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024} | result))


if __name__ == "__main__":
    _inside(*sys.argv[1:])
