"""Writes the image's lock files: every archive that may be installed, by its SHA-256.

    make lock

The versions are those of requirements.txt. ``requirements.lock`` holds all but two parts that an image chooses:
``report.lock`` (the extra `report`, whose copulas is under BUSL-1.1) and torch, of which there are two builds under one
version: ``torch-gpu.lock`` (as the Python package index has it, with NVIDIA's libraries) and ``torch-cpu.lock``
(PyTorch's own index of CPU builds; its hash stands here, since a resolver sees one index at a time).
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXTRAS = ("ui", "peers", "sgd")  # of those that pyproject.toml has
GPU = re.compile(r"^(torch|triton|nvidia-|cuda-)")
TORCH_CPU = {
    "2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"],  # cp311, manylinux_2_28, x86_64
}
HEAD = "# Made by `make lock` from pyproject.toml and requirements.txt; not to be edited.\n"
Locked = dict[str, str]


def resolved(extras: list[str]) -> Locked:
    """By package its lines of the lock: version and hashes of all its archives."""
    command = [sys.executable, "-m", "uv", "pip", "compile", str(ROOT / "pyproject.toml"), "--generate-hashes",
               "--constraint", str(ROOT / "requirements.txt"), "--python-version", "3.11", "--python-platform",
               "x86_64-manylinux_2_28", "--no-annotate", "--no-header", "--quiet"]  # fmt: skip
    for extra in extras:
        command += ["--extra", extra]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return {part.split("==")[0].strip(): part for part in parts if "==" in part}


def written(name: str, parts: Locked, note: str) -> None:
    """One lock file."""
    text = HEAD + f"# {note}\n" + "".join(parts[package] for package in sorted(parts))
    (HERE / name).write_text(text, encoding="utf-8")


def main() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    extras = [e for e in EXTRAS if e in known]
    plain, whole = resolved(extras), resolved([*extras, "report"])
    gpu = {n: p for n, p in whole.items() if GPU.match(n)}
    version = gpu["torch"].split("==")[1].split()[0]
    if version not in TORCH_CPU:
        sys.exit(f"torch {version}: write the SHA-256 of its CPU wheel into TORCH_CPU of {__file__}")
    hashes = " ".join(f"\\\n    --hash=sha256:{h}" for h in TORCH_CPU[version])
    written("requirements.lock", {n: p for n, p in plain.items() if n not in gpu}, "Everything but report and torch.")
    more = {n: p for n, p in whole.items() if n not in plain}
    written("report.lock", more, "The extra `report`; copulas is under BUSL-1.1 (docs/container.md).")
    written("torch-gpu.lock", gpu, "torch with NVIDIA's libraries.")
    written("torch-cpu.lock", {"torch": f"torch=={version}+cpu {hashes}\n"}, "torch for CPUs alone.")


if __name__ == "__main__":
    main()
