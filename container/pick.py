"""Prints the lines of requirements.txt that some parts need, hashes and all: what install.sh hands to pip.

python container/pick.py databases -report     the usual parts and databases, but for what report alone needs
python container/pick.py --only report         what report alone needs
"""

import platform
import re
import sys
from collections.abc import Collection
from pathlib import Path

USUAL = {"base", "app", "papers", "report", "fetch", "pdf", "labelled"}  # what is installed where nothing else is said
LOCK = Path(__file__).resolve().parent.parent / "requirements.txt"
BLOCK = re.compile(r"^# for: (.*)\n((?:(?!# for: ).*\n?)*)", re.MULTILINE)


def blocks(text: str) -> list[tuple[set[str], str]]:
    """The parts that need a package, and its lines."""
    return [(set(found[1].split()), found[2]) for found in BLOCK.finditer(re.sub(r"^#gpu ", "", text, flags=re.M))]


def picked(text: str, parts: Collection[str], *, linux: bool = True) -> str:
    """The lines of a lock that the parts need. With ``gpu`` torch is the package index's build.

    Not on Linux for x86-64 (``linux`` false), that build is one for CPUs, and needs no libraries of NVIDIA's.
    """
    wanted = {"base", *parts}
    chosen = [(needed, lines) for needed, lines in blocks(text) if needed & (wanted | (set() if linux else {"gpu"}))]
    other = "gpu" in wanted or not linux
    kept = [lines for needed, lines in chosen if not (other and lines.startswith("torch==") and "gpu" not in needed)]
    if not linux:
        kept = [lines for lines in kept if not re.match("nvidia-|cuda-|triton", lines)]
    return "".join(kept)


def known(text: str) -> set[str]:
    """The parts that a lock tells apart."""
    return set().union(*(needed for needed, _ in blocks(text)))


def chosen(words: Collection[str], *, there: Collection[str]) -> set[str]:
    """The parts that some words ask for beside the usual ones; ``-part`` leaves one out, ``all`` are all but gpu.

    >>> sorted(chosen(["databases", "-report"], there={"base", "app", "papers", "databases", "fetch", "pdf", "report"}))
    ['app', 'base', 'databases', 'fetch', 'papers', 'pdf']

    Errors: SystemExit for a part that is not there, or cannot be left out.
    """
    out = {word[1:] for word in words if word.startswith("-")}
    more = {*there} - {"gpu"} if "all" in words else {word for word in words if not word.startswith("-")}
    if strange := sorted((more | out) - {*there}):
        sys.exit(f"{', '.join(strange)}: no such part; choose of {', '.join(sorted({*there} - {'base'}))}")
    if "base" in out:
        sys.exit("base: cannot be left out")
    return (USUAL | more) - out


def main() -> None:
    text = LOCK.read_text(encoding="utf-8")
    if sys.argv[1:2] == ["--only"]:
        sys.stdout.write("".join(lines for needed, lines in blocks(text) if needed <= {*sys.argv[2:]}))
        return
    linux = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    sys.stdout.write(picked(text, chosen(sys.argv[1:], there=known(text)), linux=linux))


if __name__ == "__main__":
    main()
