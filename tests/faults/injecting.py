"""Runs a deed again and again, each time with a fault at the next system call, and looks at what is left.

Started by ``run`` with the shim loaded: a child is forked for every fault; this process, which is never struck,
judges. Prints one JSON object. ``python tests/faults/injecting.py spend`` (also: restore, first, job, bundle) runs
every fault.
"""

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KINDS = {"kill": 1, "torn write": 2, "full disk": 3, "broken disk": 4, "read-only disk": 5}
Deed = Callable[[Path], str]
Judge = Callable[[Path, str, str], None]


def shim(folder: Path) -> Path | None:
    """The compiled shim, None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    made = folder / "shim.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(made), str(HERE / "shim.c"), "-ldl"], check=True
    )
    return made


def struck_environment(library: Path) -> dict[str, str]:
    """With the shim loaded, and its path said to whoever arms it."""
    shim = {"LD_PRELOAD": str(library), "FAULT_SHIM": str(library)}
    return {**os.environ, **shim, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def run(deed: str, *, stride: int = 1, kinds: str = ",".join(KINDS), folder: Path) -> dict[str, Any]:
    """All faults of one deed, every ``stride``-th system call; what was found. Errors: AssertionError for a bad end."""
    library = shim(folder)
    assert library is not None
    command = [sys.executable, str(HERE / "injecting.py"), deed, "--stride", str(stride), "--kinds", kinds]
    command += ["--folder", str(folder), "--inside"]
    done = subprocess.run(command, env=struck_environment(library), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def struck(deed: Deed, place: Path, at: int, kind: int) -> tuple[str, int]:
    """What the deed said when a fault came at its ``at``-th call (empty: it was killed), and how many calls it made."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        library = ctypes.CDLL(os.environ["FAULT_SHIM"])
        library.fault_seen.restype = ctypes.c_long
        library.fault_arm(os.fsencode(place), ctypes.c_long(at), kind)
        try:
            said = deed(place)
        except BaseException as error:  # the judge is to see it
            said = f"{type(error).__name__}: {error}"
        seen = library.fault_seen()
        os.write(writer, f"{seen}\n{said}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as reported:
        words = reported.read().decode()
    os.waitpid(child, 0)
    seen, _, said = words.partition("\n")
    return said, int(seen or 0)


def every(
    deed: Deed, prepare: Callable[[Path], None], judge: Judge, *, stride: int, kinds: list[str], base: Path
) -> Any:
    """Counts the deed's system calls, then strikes at each of them in every way."""
    made = iter(range(10**9))

    def fresh() -> Path:
        place = base / f"case{next(made)}"
        place.mkdir()
        prepare(place)
        return place

    place = fresh()
    said, calls = struck(deed, place, 0, 0)
    judge(place, said, "none")
    faults: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for number in range(1, calls + 1, stride):
        for kind in kinds:
            place = fresh()
            said, _ = struck(deed, place, number, KINDS[kind])
            try:
                judge(place, said, kind)
            except Exception as error:
                raise AssertionError(f"{kind} at call {number} of {calls}: {said!r}: {error!r}") from error
            faults[kind] += 1
            ends[said.split(" ")[0].split(":")[0] if said else "killed"] += 1
            shutil.rmtree(place)
    return {"calls": calls, "faults": sum(faults.values()), "by kind": dict(faults), "ends": dict(ends)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("deed", choices=["spend", "restore", "first", "job", "bundle"])
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", type=Path, help="a JSON file that holds what was found, by deed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if not asked.inside:
            result = run(asked.deed, stride=asked.stride, kinds=asked.kinds, folder=folder)
            print(json.dumps(result))
            if asked.keep:
                retained = json.loads(asked.keep.read_text()) if asked.keep.exists() else {}
                retained[asked.deed] = {"stride": asked.stride, **result}
                asked.keep.write_text(json.dumps(retained, indent=1) + "\n")
            return
        from tests.faults import deeds

        deed, prepare, judge = deeds.DEEDS[asked.deed]
        memory = Path("/dev/shm")  # if it is there: a kill leaves a disk's cache whole, and syncs take most of the time
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else folder)))
        print(json.dumps(every(deed, prepare, judge, stride=asked.stride, kinds=asked.kinds.split(","), base=base)))


if __name__ == "__main__":
    main()
