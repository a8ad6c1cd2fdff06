"""Writes a release into dist/: wheel, sdist, what they need (SBOM, licences), checksums, and their signature.

    make dist [SIGN=key]

What is packed is HEAD, not the working tree. Under a tag v1.2.3 the version is pyproject.toml's and must be the tag's;
elsewhere it has the distance from the last tag and the commit behind it, so that no two builds share a name. ``key``:
a private key of ssh-keygen, whose public half SECURITY.md tells how to use.
"""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
NAMESPACE = "facsimile-release"
READABLE = 0o022  # the umask of what is packed: modes go into both archives


def suffix(version: str, described: str) -> str:
    """What follows the version for ``git describe``'s words. Errors: ValueError for a tag of another version.

    >>> suffix("1.2.0", "v1.2.0-0-gabc1234"), suffix("1.3.0", "v1.2.0-5-gabc1234"), suffix("1.2.0", "abc1234")
    ('', '.dev5+gabc1234', '.dev0+gabc1234')
    """
    tag, _, rest = described.partition("-")
    count, _, commit = rest.partition("-")
    if not tag.startswith("v"):
        return f".dev0+g{described}"
    if count != "0":
        return f".dev{count}+{commit}"
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and pyproject.toml says {version}; make them one")
    return ""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def packed(added: str) -> None:
    """Wheel and sdist of HEAD, whose bytes follow from the commit and the tools alone: all times are the commit's."""
    time = git("log", "-1", "--format=%ct")
    with tempfile.TemporaryDirectory() as name:
        whole = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "--no-same-permissions", "-C", name], input=whole, check=True, umask=READABLE)
        command = [
            sys.executable,
            "setup.py",
            "-q",
            "egg_info",
            "--tag-build",
            added,
            "sdist",
            "--dist-dir",
            str(DIST),
            "bdist_wheel",
            "--dist-dir",
            str(DIST),
        ]
        own = os.environ | {"SOURCE_DATE_EPOCH": time}  # which the wheel follows, and the sdist does not
        done = subprocess.run(command, cwd=name, capture_output=True, text=True, check=False, env=own, umask=READABLE)
        if done.returncode:
            sys.exit(f"make dist: {done.stderr[-2000:]}")
    for sdist in DIST.glob("*.tar.gz"):
        repacked(sdist, int(time))


def repacked(sdist: Path, time: int) -> None:
    """The same files in the order of their names, of one time and of nobody."""
    with tarfile.open(sdist) as old:
        held = [(m, old.extractfile(m)) for m in sorted(old.getmembers(), key=lambda m: m.name)]
        whole = io.BytesIO()
        with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as new:
            for one, content in held:
                one.mtime, one.uid, one.gid, one.uname, one.gname, one.pax_headers = time, 0, 0, "", "", {}
                new.addfile(one, content)
    sdist.write_bytes(gzip.compress(whole.getvalue(), mtime=time))


def summed(folder: Path) -> Path:
    """SHA256SUMS of everything in a folder."""
    named = sorted(p for p in folder.iterdir() if not p.name.startswith("SHA256SUMS"))
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in named]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return folder / "SHA256SUMS"


def sign(sums: Path, key: str) -> None:
    """SHA256SUMS.sig beside the checksums."""
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, sums], check=True)


def main() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        added = suffix(version, git("describe", "--tags", "--long", "--always", "--match", "v*"))
    except ValueError as error:
        sys.exit(f"make dist: {error}")
    DIST.mkdir(exist_ok=True)
    for old in DIST.iterdir():
        old.unlink()
    packed(added)
    for made in ("sbom.json", "licences.md"):
        if (ROOT / "build" / made).exists():
            (DIST / made).write_bytes((ROOT / "build" / made).read_bytes())
    sums = summed(DIST)
    if len(sys.argv) > 1 and sys.argv[1]:
        sign(sums, sys.argv[1])
    else:
        print("not signed: name a private key of ssh-keygen, make dist SIGN=~/.ssh/release")
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>10,} {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
