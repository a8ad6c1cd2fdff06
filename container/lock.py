"""Writes requirements.txt, the one lock: every archive that may be installed, by its SHA-256.

    make lock

Each package stands under the parts that need it: ``app`` is what the application and the command line need, the others
are pyproject.toml's extras. Versions are kept where they fit; strike a line out to have it renewed.

torch has two builds under one version: the Python package index's, which on Linux needs NVIDIA's libraries, and
PyTorch's own for CPUs. The lock's torch is the latter. The other, with those libraries, stands in lines that begin
with ``#gpu``, which pip passes over: pick.py takes them where they are asked for.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

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


def resolved(extra: str | None) -> Locked:
    """By package its lines of the lock: version and hashes of all its archives."""
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "pyproject.toml",
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
    command += ["--extra", extra] if extra else []
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)
    parts = re.split(r"^(?=[A-Za-z0-9])", done.stdout, flags=re.MULTILINE)
    return {part.split("==")[0].strip(): part for part in parts if "==" in part}


def main() -> None:
    extras = [
        e
        for e in tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        if e != "gpu"
    ]
    app = resolved(None)
    found, needed = dict(app), {name: ["app"] for name in app}
    for extra in extras:
        for name, lines in resolved(extra).items():
            if name not in app:
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
            lines = f"# for: app\ntorch=={version}{hashes}\n" if name == "torch" else ""
        text += lines
    LOCK.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
