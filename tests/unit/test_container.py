"""The image's files say what they must: not root, pinned, hashed, healthy, and in step with the project."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from synth.cli import serve_app
from synth.errors import UsageError
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "container"))
import pick

PLACE = ROOT / "container"
LOCK = (ROOT / "requirements.txt").read_text()


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


def picked(*parts: str, **where: bool) -> dict[str, str]:
    """By package the version that an installation of these parts gets, each with a hash at least."""
    lines = re.split(r"^(?=[A-Za-z0-9])", pick.picked(LOCK, parts, **where), flags=re.MULTILINE)
    assert all("--hash=sha256:" in part for part in lines if "==" in part)
    found = [re.match(r"([A-Za-z0-9._-]+)==(\S+)", part) for part in lines]
    return {m[1].lower().replace("_", "-"): m[2] for m in found if m}


def test_the_lock_holds_what_the_project_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = {"app": project["dependencies"], **project["optional-dependencies"]}
    assert pick.known(LOCK) == set(parts), "run `make lock`"
    for part, needs in parts.items():
        named = {re.split(r"[<>=\[! ]", need)[0].lower() for need in needs} - {"facsimile-synth"}
        assert named <= set(picked(part)), f"{part}: run `make lock`"
        assert set(picked("app")) <= set(picked(part))
    assert set(picked("databases")) < set(picked("spark"))


def test_the_application_is_without_what_is_large_or_under_other_terms():
    """Spark, JAX, a browser's driver, the tools of tests; and copulas, which comes with the extra `report` alone."""
    heavy = {
        "pyspark",
        "jax",
        "jaxlib",
        "polars",
        "opendp",
        "playwright",
        "vl-convert-python",
        "pytest",
        "mypy",
        "ruff",
    }
    assert not {*heavy, "copulas", "sdmetrics"} & set(picked("app"))
    assert {*heavy, "copulas", "sdmetrics"} <= set(picked(*(pick.known(LOCK) - {"gpu"})))
    assert "copulas" not in picked("databases", "spark", "mbi", "fetch", "gpu", "dev")


def test_torch_is_one_build():
    """The one for CPUs unless the other is asked for; pip, which passes over #gpu, sees the first."""
    plain, gpu = (pick.picked(LOCK, parts) for parts in ((), ("gpu",)))
    for text in (plain, gpu, LOCK, pick.picked(LOCK, (), linux=False)):
        assert len(re.findall(r"^torch==", text, re.MULTILINE)) == 1
    assert not any(n.startswith(("nvidia", "cuda", "triton")) for n in picked("databases", "report"))
    assert {"triton", "nvidia-cublas"} <= set(picked("gpu"))
    assert set(picked()) == set(picked(linux=False)) == set(picked("gpu", linux=False))
    assert re.findall("torch==.*\n.*", plain) != re.findall("torch==.*\n.*", gpu)


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
