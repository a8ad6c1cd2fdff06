"""Writes requirements.txt, the one lock: every archive that may be installed, by its SHA-256.

    make lock

Each package stands under the parts that need it: ``base`` is what the library and the command line cannot do without,
the others are pyproject.toml's extras; pick.py says which are usual, though they can be left out. Versions are
kept where they fit; strike a line out to have it renewed.

torch has two builds under one version: the Python package index's, which on Linux needs NVIDIA's libraries, and
PyTorch's own for CPUs. The lock's torch is the latter. The other, with those libraries, stands in lines that begin
with ``#gpu``, which pip passes over: pick.py takes them where they are asked for.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from pick import USUAL

HERE = Path(__file__).resolve().parent
LOCK = HERE.parent / "requirements.txt"
GPU = re.compile(r"^(torch|triton|nvidia-|cuda-)")
TORCH_CPU = {
    "2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"],  # cp311, manylinux_2_28, x86_64
}
HEAD = """\
# Every archive that may be installed, by its SHA-256. Made by `make lock`, from pyproject.toml; not to be edited.
# `# for:` says which parts need a package; container/pick.py prints a choice. torch is the build for CPUs, which
# container/install.sh finds where PyTorch keeps it; lines with #gpu are those of the build with NVIDIA's libraries.
"""
Locked = dict[str, str]


def resolved(requirements: list[str]) -> Locked:
    """By package its lines of the lock: version and hashes of all its archives."""
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "-",
        "--generate-hashes",
        "--constraint",
        str(LOCK),
        "--python-version",
        "3.11",
        "--python-platform",
        "x86_64-manylinux_2_28",
        "--no-annotate",
        "--no-header",
        "--quiet",
    ]
    asked = "\n".join(requirements)
    done = subprocess.run(command, check=True, input=asked, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)
    parts = re.split(r"^(?=[A-Za-z0-9])", done.stdout, flags=re.MULTILINE)
    return {part.split("==")[0].strip(): part for part in parts if "==" in part}


def parts(project: dict[str, Any]) -> tuple[list[str], dict[str, list[str]]]:
    """What is needed whatever is left out, and what each extra needs besides; gpu has lines of its own.

    What an extra of pyproject.toml takes from a usual one stands under that one alone, which can be left out.

    >>> extras = {"app": ["own[report]", "c"], "report": ["b"], "gpu": ["a"], "x": ["own[y]"], "y": ["d"]}
    >>> parts({"name": "own", "dependencies": ["a"], "optional-dependencies": extras})
    (['a'], {'app': ['c'], 'report': ['b'], 'x': ['d'], 'y': ['d']})
    """
    extras = {n: list(needs) for n, needs in project["optional-dependencies"].items() if n != "gpu"}
    for needs in extras.values():
        for other in [n for n in needs if n.startswith(f"{project['name']}[")]:
            named = set(other.split("[")[1].rstrip("]").split(",")) - USUAL
            needs[:] = [n for n in needs if n != other] + [n for name in sorted(named) for n in extras[name]]
    return project["dependencies"], extras


def main() -> None:
    needs, extras = parts(tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"])
    base = resolved(needs)
    found, needed = dict(base), {name: ["base"] for name in base}
    for extra, more in extras.items():
        for name, lines in resolved([*needs, *more]).items():
            if name not in base:
                found[name] = lines
                needed.setdefault(name, []).append(extra)
    version = found["torch"].split("==")[1].split()[0]
    if version not in TORCH_CPU:
        sys.exit(f"torch {version}: write the SHA-256 of its CPU wheel into TORCH_CPU of {__file__}")
    text = HEAD
    for name in sorted(found):
        lines = f"# for: {' '.join(needed[name])}\n{found[name]}"
        if GPU.match(name):
            text += re.sub("^", "#gpu ", f"# for: gpu\n{found[name]}".rstrip(), flags=re.MULTILINE) + "\n"
            hashes = "".join(f" \\\n    --hash=sha256:{h}" for h in TORCH_CPU[version])
            lines = f"# for: base\ntorch=={version}{hashes}\n" if name == "torch" else ""
        text += lines
    LOCK.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
