"""Known vulnerabilities of what the image holds: ``make pip-audit``. Skips, saying so, where nothing can be asked."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCKS = ("requirements.lock", "report.lock", "torch-cpu.lock")


def main() -> int:
    named = [part for lock in LOCKS for part in ("--requirement", str(HERE / lock))]
    options = ["--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off"]
    command = [sys.executable, "-m", "pip_audit", *options, *named]
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
