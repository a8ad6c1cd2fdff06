"""Prints the lines of requirements.txt that some parts need, hashes and all: what install.sh hands to pip.

python container/pick.py app databases report
"""

import platform
import re
import sys
from collections.abc import Collection
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements.txt"
BLOCK = re.compile(r"^# for: (.*)\n((?:(?!# for: ).*\n?)*)", re.MULTILINE)


def blocks(text: str) -> list[tuple[set[str], str]]:
    """The parts that need a package, and its lines."""
    return [(set(found[1].split()), found[2]) for found in BLOCK.finditer(re.sub(r"^#gpu ", "", text, flags=re.M))]


def picked(text: str, parts: Collection[str], *, linux: bool = True) -> str:
    """The lines of a lock that the parts need. With ``gpu`` torch is the package index's build.

    Not on Linux for x86-64 (``linux`` false), that build is one for CPUs, and needs no libraries of NVIDIA's.
    """
    wanted = {"app", *parts}
    chosen = [(needed, lines) for needed, lines in blocks(text) if needed & (wanted | (set() if linux else {"gpu"}))]
    other = "gpu" in wanted or not linux
    kept = [lines for needed, lines in chosen if not (other and lines.startswith("torch==") and "gpu" not in needed)]
    if not linux:
        kept = [lines for lines in kept if not re.match("nvidia-|cuda-|triton", lines)]
    return "".join(kept)


def known(text: str) -> set[str]:
    """The parts that a lock tells apart."""
    return set().union(*(needed for needed, _ in blocks(text)))


def main() -> None:
    text = LOCK.read_text(encoding="utf-8")
    parts = known(text) - {"gpu"} if sys.argv[1:] == ["all"] else set(sys.argv[1:])
    if strange := sorted(parts - known(text)):
        sys.exit(f"{', '.join(strange)}: no such extra; choose of {', '.join(sorted(known(text) - {'app'}))}")
    linux = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    sys.stdout.write(picked(text, parts, linux=linux))


if __name__ == "__main__":
    main()
