"""The image's files say what they must: not root, pinned, hashed, healthy, and in step with the project."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from synth.cli import serve_app
from synth.errors import UsageError
from tests.conftest import ROOT

PLACE = ROOT / "container"
LOCKS = ("requirements.lock", "report.lock", "torch-cpu.lock", "torch-gpu.lock")


def instructions(path: Path) -> list[tuple[str, str]]:
    """A Dockerfile's instructions with their words, continued lines joined, comments left out."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in joined]


STEPS = instructions(ROOT / "Dockerfile")


def words(kind: str) -> list[str]:
    return [text for name, text in STEPS if name == kind]


def test_every_instruction_is_one_and_the_first_image_is_pinned():
    known = {
        "ARG",
        "FROM",
        "WORKDIR",
        "COPY",
        "RUN",
        "LABEL",
        "ENV",
        "USER",
        "VOLUME",
        "EXPOSE",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    }
    assert {name for name, _ in STEPS} <= known
    assert STEPS[0][0] == "ARG"
    assert re.fullmatch(r"BASE=python:3\.11\.\d+-slim-\w+", STEPS[0][1])
    assert all(text.split()[0] == "${BASE}" for text in words("FROM"))


def test_the_image_runs_as_nobody_in_particular_and_tells_its_health():
    order = [name for name, _ in STEPS]
    last = len(order) - 1 - order[::-1].index("FROM")
    user = order.index("USER", last)
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", STEPS[user][1])
    assert user < order.index("ENTRYPOINT")
    assert "RUN" not in order[user:]
    (health,) = words("HEALTHCHECK")
    assert "/_stcore/health" in health
    assert json.loads(words("ENTRYPOINT")[0]) == ["synth"]
    assert json.loads(words("CMD")[-1])[0] == "app"


def test_nothing_is_fetched_but_through_the_lock_files():
    for text in words("RUN"):
        assert not re.search(r"\b(curl|wget|apt-get|pip install|git clone)\b", text), text
    script = (PLACE / "install.sh").read_text()
    assert "--require-hashes --no-deps --only-binary :all:" in script
    for line in script.splitlines():
        if "$install" in line and "locked=" not in line:
            assert "--no-index" in line, line
    assert script.startswith("#!/bin/sh\n")
    assert "set -eu" in script


def test_what_is_copied_is_there():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for text in words("COPY"):
        parts = shlex.split(text)
        if parts[0].startswith("--from"):
            continue
        for source in parts[:-1]:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in ignored


def locked(name: str) -> dict[str, str]:
    """By package its version, each with a hash at least."""
    parts = re.split(r"^(?=[A-Za-z0-9])", (PLACE / name).read_text(), flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in part for part in parts)
    found = [re.match(r"([A-Za-z0-9._-]+)==(\S+)", part) for part in parts]
    return {m[1].lower().replace("_", "-"): m[2] for m in found if m}


def requirements() -> dict[str, str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    return {name.lower().replace("_", "-"): version for name, version in found}


@pytest.mark.parametrize("name", LOCKS)
def test_locks_have_the_versions_of_the_requirements(name):
    ours, theirs = requirements(), locked(name)
    assert theirs
    differing = {
        n: (v, ours[n])
        for n, v in theirs.items()
        if n in ours and v.removesuffix("+cpu") != ours[n].removesuffix("+cpu")
    }
    assert not differing, "run `make lock`"


def test_locks_hold_what_the_project_needs_and_keep_the_parts_apart():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {
        re.split(r"[<>=\[! ]", need)[0].lower() for need in [*project["dependencies"], *extras["ui"], *extras["peers"]]
    }
    core = locked("requirements.lock")
    assert wanted - {"torch"} <= set(core), "run `make lock`"
    assert not {"copulas", "sdmetrics"} & set(core)
    assert {"copulas", "sdmetrics"} <= set(locked("report.lock"))
    assert set(locked("torch-cpu.lock")) == {"torch"}
    assert {"torch", "triton"} <= set(locked("torch-gpu.lock"))
    assert not any(name.startswith("nvidia") for name in core)


@pytest.mark.parametrize(
    "header",
    [
        "Strict-Transport-Security",
        "Content-Security-Policy",
        "X-Content-Type-Options",
        "X-Frame-Options",
        "Referrer-Policy",
        "Permissions-Policy",
        "Cache-Control",
    ],
)
def test_the_sample_proxy_sets_every_header_on_every_answer(header):
    text = (PLACE / "proxy" / "nginx.conf").read_text()
    assert re.search(rf'add_header {header} "[^"]+" always;', text)
    assert text.count("{") == text.count("}")


def test_proxy_and_application_agree_on_the_largest_upload():
    size = re.search(r"client_max_body_size (\d+)m;", (PLACE / "proxy" / "nginx.conf").read_text())
    assert size is not None
    assert int(size[1]) == serve_app.UPLOAD_MIB
    assert f'SYNTH_UPLOAD_MIB: "{serve_app.UPLOAD_MIB}"' in (PLACE / "compose.yaml").read_text()


@pytest.mark.parametrize("stated", ["0", "-1", "1.5", "many", "10**9", "\u0663"])
def test_an_upload_limit_that_is_none_is_refused(stated):
    with pytest.raises(UsageError, match="SYNTH_UPLOAD_MIB"):
        serve_app.upload_limit(stated)


def test_the_sample_service_is_read_only_and_without_rights():
    text = (PLACE / "compose.yaml").read_text()
    for words_ in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "internal: true"):
        assert words_ in text
    assert "ports" not in text.split("proxy:")[0]
