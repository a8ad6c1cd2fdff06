"""Licences of what the image holds, from the packages' own words: ``make licences``. Fails for one nobody looked at."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Words of licences that allow use, change and passing on; weak copyleft is of files that are not changed here.
FREE = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|Unlicense|HPND|Zlib|MPL|Mozilla|LGPL|CC0|Public Domain|"
    r"NCSA|0BSD|Universal Permissive|BSL-1\.0|Historical Permission|\bPIL\b",
    re.IGNORECASE,
)
# Looked at by a person, with what it means.
LOOKED_AT = {
    "copulas": "BUSL-1.1: no commercial synthetic-data service for third parties until its change date; "
    "`make run WITHOUT=report` leaves it out",
}
PROPRIETARY = re.compile(r"^(nvidia-|cuda-)")  # NVIDIA's own terms; GPU images alone


def locked() -> set[str]:
    """Packages of the lock but those that only a GPU needs."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return {m.lower().replace("_", "-") for m in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)}


def main() -> int:
    wanted = locked()
    command = [
        sys.executable,
        "-m",
        "piplicenses",
        "--python",
        str(ROOT / ".venv/bin/python"),
        "--format=json",
        "--from=mixed",
    ]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    found = {p["Name"].lower().replace("_", "-"): (p["Version"], p["License"]) for p in told}
    out = ROOT / "build" / "licences.md"
    out.parent.mkdir(exist_ok=True)
    lines, strange = ["| package | version | licence | note |", "|---|---|---|---|"], []
    for name in sorted(wanted):
        version, licence = found.get(name, ("not installed here", ""))
        note = LOOKED_AT.get(name, "")
        if licence and not note and not FREE.search(licence):
            strange.append(f"{name}: {licence}")
        shown = " ".join(licence.split())
        lines.append(f"| {name} | {version} | {shown if len(shown) < 80 else shown[:77] + '...'} | {note} |")
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    absent = sorted(wanted - set(found))
    listed = f"{len(absent)} not installed here ({', '.join(absent) or 'none'})"
    print(f"{len(wanted)} packages, {listed}; {out.relative_to(ROOT)}")
    for line in strange:
        print(f"nobody has looked at {line}; add it to LOOKED_AT or leave the package out")
    return 1 if strange else 0


if __name__ == "__main__":
    sys.exit(main())
