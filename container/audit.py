"""Known vulnerabilities of what the lock holds: ``make pip-audit``. Skips, saying so, where nothing can be asked."""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements.txt"


def main() -> int:
    options = ["--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off"]
    command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(LOCK)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        print("pip-audit: skipped, the database of vulnerabilities cannot be reached")
        return 0
    asked = [d for d in found if "vulns" in d]
    bad = [d for d in asked if d["vulns"]]
    for package in bad:
        print(f"{package['name']} {package['version']}: {', '.join(v['id'] for v in package['vulns'])}")
    if not asked:
        print(f"pip-audit: skipped, the database knows none of the {len(found)} packages or cannot be reached")
        return 0
    unknown = len(found) - len(asked)
    print(f"pip-audit: {len(asked)} packages asked about, {unknown} not known there, {len(bad)} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
