"""Takes out of an environment what nothing here ever opens, to a third of its size: install.sh calls it.

    python container/trim.py SITE-PACKAGES [--image]

Everywhere: PyTorch's headers and its own tests as programs. In an image also the packages' own tests, sources of
compiled modules, maps of scripts, an extension for notebooks, and the tables of symbols of libraries, which only
debuggers read.
"""

import shutil
import struct
import sys
from pathlib import Path

TESTED = ("ibis", "networkx", "pandas", "pyarrow", "randomgen", "scipy", "sklearn", "sympy")
SOURCES = (".c", ".cpp", ".h", ".hpp", ".pxd", ".pyx", ".map")
HEADER, SEGMENT = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")


def everywhere(lib: Path) -> None:
    """PyTorch's headers and test programs: 195 MB."""
    for folder in ("include", "test"):
        shutil.rmtree(lib / "torch" / folder, ignore_errors=True)
    for program in [*(lib / "torch/bin").glob("test_*"), *(lib / "torch/bin").glob("protoc*")]:
        program.unlink()


def image(lib: Path) -> None:
    """What only developers of the packages open."""
    for package in TESTED:
        for folder in sorted((lib / package).rglob("tests")):
            shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(lib / "pydeck/nbextension", ignore_errors=True)
    for path in [p for p in lib.rglob("*") if p.is_file() and not p.is_symlink()]:
        if path.suffix in SOURCES:
            path.unlink()
        elif ".so" in path.suffixes:
            strip(path)


def strip(path: Path) -> None:
    """Cuts off what lies behind the segments that are loaded: the tables of sections and symbols (ELF, 64 bits)."""
    with path.open("r+b") as file:
        head = file.read(HEADER.size)
        if head[:6] != b"\x7fELF\x02\x01":
            return
        fields = list(HEADER.unpack(head))
        programs, size, count = fields[5], fields[9], fields[10]
        end = programs + size * count
        for number in range(count):
            file.seek(programs + size * number)
            segment = SEGMENT.unpack(file.read(SEGMENT.size))
            end = max(end, segment[2] + segment[5])
        fields[6], fields[12], fields[13] = 0, 0, 0  # no table of sections any more
        file.seek(0)
        file.write(HEADER.pack(*fields))
        file.truncate(end)


if __name__ == "__main__":
    everywhere(Path(sys.argv[1]))
    if "--image" in sys.argv:
        image(Path(sys.argv[1]))
