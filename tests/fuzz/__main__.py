"""Fuzzing of every reader: ``python -m tests.fuzz --seconds 3600``. A finding is kept with the input that made it.

Each worker is a process of its own with a limit on memory and, for every input, on time: what kills it is a finding
as well. Prints one JSON object; exit code 1 with findings.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from synth.errors import SynthError
from tests.fuzz.mutate import damaged
from tests.fuzz.targets import TARGETS

MEMORY = Path("/dev/shm")  # where it is there: a disk's syncs would take most of the time
LIMIT_SECONDS, LIMIT_BYTES = 20, 4 << 30  # for one input; of address space above what libraries take


def one(name: str, content: bytes, folder: Path) -> str | None:
    """Reads one damaged file; what was wrong with how it ended, None where all is well."""
    target = TARGETS[name]
    place = folder / "in"
    place.mkdir()
    before = set(os.listdir(folder.parent))
    try:
        path = target.make(place)
        path.write_bytes(content)
        target.read(path)
    except SynthError as error:
        message = str(error)
        if "\n" in message or not message or len(message) > 5000:
            return f"message of {len(message)} characters, lines {message.count(chr(10)) + 1}: {message[:200]!r}"
    except (Exception, RecursionError) as error:
        import traceback

        return f"{type(error).__name__}: {str(error)[:300]} at {traceback.extract_tb(error.__traceback__)[-1]}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    outside = set(os.listdir(folder.parent)) - before
    return f"written outside its folder: {outside}" if outside else None


def work(name: str, seed: int, until: float, most: int, folder: str, reported: Any) -> None:
    """Damages and reads until the time or the number is up. Tells its count and findings as they come."""
    home = Path(folder)
    os.environ["SYNTH_HOME"], os.environ["SYNTH_LEDGER"] = str(home / "home"), str(home / "no-ledger.sqlite")
    resource.setrlimit(resource.RLIMIT_AS, (_size() + LIMIT_BYTES,) * 2)
    rng, target = random.Random(f"{name} {seed}"), TARGETS[name]
    seeded = home / "seed"
    seeded.mkdir()
    content = target.make(seeded).read_bytes()
    shutil.rmtree(seeded)
    done = 0
    while done < most and time.monotonic() < until:
        made = content if done == 0 else damaged(content, rng, text=target.text, is_json=target.json)
        (home / "current").write_bytes(made)
        signal.alarm(LIMIT_SECONDS)  # its default is death
        fault = one(name, made, home)
        signal.alarm(0)
        done += 1
        if (home / "no-ledger.sqlite").exists():
            fault = "a ledger was made"
        reported.send((done, fault, made if fault else b""))
        if fault and done == 1:
            return
    reported.send((done, None, b""))


def _size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def fuzz(name: str, *, seed: int, seconds: float, most: int = 10**12, keep: Path | None = None) -> dict[str, Any]:
    """One target for so long; workers that die are replaced."""
    began, count, results = time.monotonic(), 0, []
    start = multiprocessing.get_context("fork")
    while time.monotonic() < began + seconds and count < most and len(results) < 20:
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            ours, theirs = start.Pipe(duplex=False)
            home = Path(folder) / "home"  # alone in its folder: whatever else appears there was written outside
            home.mkdir()
            facts = (name, seed + count, began + seconds, most - count, str(home), theirs)
            worker = start.Process(target=work, args=facts)
            worker.start()
            theirs.close()
            done = 0
            try:
                while True:
                    done, fault, made = ours.recv()
                    if fault:
                        results.append(_retained(name, fault, made, keep))
            except EOFError:
                pass
            worker.join()
            if worker.exitcode:
                current = home / "current"
                made = current.read_bytes() if current.exists() else b""
                what = "too slow" if worker.exitcode == -signal.SIGALRM else f"died ({worker.exitcode})"
                results.append(_retained(name, what, made, keep))
            count += done + bool(worker.exitcode)
            if done == 0 and not worker.exitcode:
                break
    return {"target": name, "inputs": count, "seconds": round(time.monotonic() - began, 1), "findings": results}


def _retained(name: str, fault: str, made: bytes, keep: Path | None) -> str:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{name.replace(' ', '_')}-{abs(hash(made)) % 10**8}").write_bytes(made)
    return fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--targets", default=",".join(TARGETS), help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, help="folder for inputs that made a finding")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    names = [n for n in asked.targets.split(",") if n]
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    warm()
    each = [fuzz(n, seed=seed, seconds=asked.seconds / len(names), keep=asked.keep) for n in names]
    result = {
        "seed": seed,
        "inputs": sum(e["inputs"] for e in each),
        "seconds": round(sum(e["seconds"] for e in each)),
        "findings": sum(len(e["findings"]) for e in each),
        "targets": each,
    }
    text = json.dumps(result, indent=1)
    if asked.json:
        asked.json.write_text(text + "\n")
    print(text)
    return 1 if result["findings"] else 0


def warm() -> None:
    """Loads what the readers need, once, before workers fork."""
    import synth.pipeline.run
    import synth.report.bundle
    import synth.schema.sdv_metadata
    import synth.sources.draft_schema
    from tests.fuzz.targets import _ledger_bytes, _release

    assert synth.report.bundle
    _release()
    _ledger_bytes()


if __name__ == "__main__":
    sys.exit(main())
