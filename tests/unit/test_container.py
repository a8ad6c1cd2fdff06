"""The image's files and the manifests say what they must: not root, pinned, hashed, healthy, in step with the project.

``make kubernetes-check`` holds the manifests to Kubernetes' schemas as well, and starts their parts.
"""

import copy
import importlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import streamlit

from container import dist, pick, trim
from synth.cli import serve_app
from synth.errors import UsageError
from tests.conftest import ROOT

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
    known = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "LABEL", "ENV"}
    known |= {"USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
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
            assert "--no-index" in line or "--require-hashes" in line, line
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
    results = [re.match(r"([A-Za-z0-9._-]+)==(\S+)", part) for part in lines]
    return {m[1].lower().replace("_", "-"): m[2] for m in results if m}


def test_the_lock_holds_what_the_project_names(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "container")  # as a script has it
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base, extras = importlib.import_module("lock").parts(project)
    parts = {"base": base, **extras, "gpu": project["optional-dependencies"]["gpu"]}
    assert pick.known(LOCK) == set(parts), "run `make lock`"
    for part, needs in parts.items():
        named = {re.split(r"[<>=\[! ]", need)[0].lower() for need in needs} - {"facsimile-synth"}
        assert named <= set(picked(part)), f"{part}: run `make lock`"
        assert set(picked("base")) <= set(picked(part))
    assert set(picked("databases")) < set(picked("spark"))


def test_the_usual_set_is_what_the_card_names_and_can_be_had_without_what_is_under_other_terms():
    """No Spark, JAX, browser's driver, tools of tests; and copulas, which SDMetrics needs, unless it is left out."""
    heavy = {"pyspark", "jax", "jaxlib", "polars", "opendp"}
    heavy |= {"playwright", "vl-convert-python", "pytest", "mypy", "ruff"}
    named = {"streamlit", "torch", "pandas", "scikit-learn", "folktables", "sdmetrics", "opacus"}
    usual, less = (set(picked(*pick.chosen(words, there=pick.known(LOCK)))) for words in ((), ("-report",)))
    assert {*named, "copulas"} <= usual
    assert not heavy & usual
    assert named - less == {"sdmetrics"}
    assert "copulas" not in less
    everything = pick.chosen(["all"], there=pick.known(LOCK))
    assert {*heavy, "copulas", "sdmetrics"} <= set(picked(*everything))
    assert "copulas" not in picked(*pick.chosen(["all", "-report"], there=pick.known(LOCK)))


def test_the_library_alone_brings_no_page_no_report_and_no_gradients():
    alone = set(picked(*pick.chosen(["-app", "-papers", "-report", "-fetch", "-pdf"], there=pick.known(LOCK))))
    assert not {"streamlit", "altair", "sdmetrics", "copulas", "weasyprint", "opacus", "zuko", "folktables"} & alone
    assert {"torch", "numpy", "pandas", "duckdb", "typer"} <= alone
    with pytest.raises(SystemExit, match="no such part"):
        pick.chosen(["-reports"], there=pick.known(LOCK))
    with pytest.raises(SystemExit, match="cannot be left out"):
        pick.chosen(["-base"], there=pick.known(LOCK))


def test_the_terms_of_copulas_are_said_where_it_comes_in():
    """In README, where licences are listed, and by `make run`, which says how to be without."""
    for text in ((ROOT / "README.md").read_text(), (ROOT / "docs/container.md").read_text(), _made("run")):
        plain = " ".join(text.split()).replace("`", "")
        assert "commercial synthetic-data service" in plain
        assert "WITHOUT=report" in plain
    assert "--without report" in _made("run", "WITHOUT=report")
    assert "BUSL" in (ROOT / "container/licences.py").read_text()


def _made(*words: str) -> str:
    """What make would do, of everything anew."""
    command = ["make", "--dry-run", "--always-make", "--directory", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_streamlit_is_the_minor_version_whose_private_names_were_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (pin,) = [need for need in project["optional-dependencies"]["app"] if need.startswith("streamlit")]
    least, most = re.fullmatch(r"streamlit>=(\d+\.\d+),<(\d+\.\d+)", pin).groups()
    assert least.split(".")[0] == most.split(".")[0]
    assert int(most.split(".")[1]) == int(least.split(".")[1]) + 1
    said = (
        f"the application uses private names of Streamlit, tested with {least}: run tests/app, mend what changed, and "
        "move the pin in pyproject.toml"
    )
    for version in (streamlit.__version__, picked("app")["streamlit"]):
        assert version.rsplit(".", 1)[0] == least, said


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
    assert "ports" not in text.split("  proxy:")[0]


def test_every_service_has_few_rights_and_dumps_no_memory(services):
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["ulimits"]["core"] == 0, name
        assert service["read_only"], name
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}, name
    app = services["facsimile"]
    assert {"noexec", "nosuid", "nodev"} <= set(app["tmpfs"][0].partition(":")[2].split(","))
    assert app["pids_limit"]
    assert app["mem_limit"]
    assert [v for v in app["volumes"] if not str(v).endswith(":ro")] == ["state:/state"]
    assert all(str(v).endswith(":ro") for n in ("proxy", "provider") for v in services[n]["volumes"])
    assert not any({"privileged", "network_mode", "pid", "ipc", "devices", "cap_add"} & set(s) for s in (app,))
    assert set(services["proxy"]["cap_add"]) <= {"NET_BIND_SERVICE", "SETGID", "SETUID", "CHOWN", "DAC_OVERRIDE"}


@pytest.mark.parametrize("files", [["compose.yaml"], ["compose.yaml", "compose.gpu.yaml"]])
def test_docker_reads_the_compose_files(files):
    asked = [word for name in files for word in ("-f", str(PLACE / name))]
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
    ):
        pytest.skip("docker compose is not installed")
    done = subprocess.run(["docker", "compose", *asked, "config", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def services() -> dict:
    """The services of compose.yaml, as a reader of the Compose Specification understands them."""
    compose = pytest.importorskip("compose_spec", reason="the extra `dev` is not installed whole")
    return compose.PyCompose.from_yaml((PLACE / "compose.yaml").read_text()).to_dict()["services"]


def test_compose_files_follow_the_specification(services):
    import compose_spec

    gpu = compose_spec.PyCompose.from_yaml((PLACE / "compose.gpu.yaml").read_text()).to_dict()["services"]
    assert set(gpu) < set(services)
    with pytest.raises(ValueError, match="memlimit"):
        compose_spec.PyCompose.from_yaml("services: {a: {image: b, memlimit: 3}}")


def test_the_application_reaches_the_provider_and_nobody_reaches_the_application(services):
    """Sign-in asks the provider for its keys, so that the application is in a network with a way out."""
    app, proxy, provider = (services[n] for n in ("facsimile", "proxy", "provider"))
    assert set(provider["networks"]) <= set(app["networks"])
    assert set(app["networks"]) - set(proxy["networks"]), "a way out that strangers do not come in by"
    assert "ports" not in app
    assert all(str(port).startswith("127.0.0.1:") for port in provider["ports"])
    assert provider["profiles"] == ["trial"]


def test_secrets_lie_where_the_application_looks(services):
    app = services["facsimile"]
    targets = [s if isinstance(s, str) else s["target"] for s in app["secrets"]]
    places = {t if t.startswith("/") else f"/run/secrets/{t}" for t in targets}
    reported = {k: str(v) for k, v in app["environment"].items()}
    assert {reported["SYNTH_ROLES"], reported["SYNTH_SECRETS"], reported["SYNTH_SOURCES"]} <= places
    assert reported["SYNTH_SECRETS"].endswith(".toml")


def test_secrets_that_streamlit_would_pass_over_are_refused(tmp_path):
    for name, rule in (("signin", "must end in .toml"), ("absent.toml", "no such file")):
        (tmp_path / "signin").write_text("")
        with pytest.raises(UsageError, match=rule):
            serve_app.check_secrets(tmp_path / name)


def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    """conda-forge's names of two packages are others; versions are said as in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (PLACE / "conda" / "recipe.yaml").read_text()
    names = {"torch": "pytorch", "duckdb": "python-duckdb"}
    wanted = [re.fullmatch(r"([\w-]+)(.*)", one).groups() for one in project["dependencies"]]
    listed = re.findall(r"^    - (\S+) (\S+)$", recipe.split("  run:\n")[1].split("\n\n")[0], re.MULTILINE)
    assert listed == [("python", project["requires-python"]), *((names.get(n, n), limits) for n, limits in wanted)]
    assert f"  version: {project['version']}\n" in recipe
    assert [f"{n} = {to}" in recipe for n, to in project["scripts"].items()] == [True]


@pytest.mark.parametrize(
    ("described", "ending"),
    [("v1.2.0-0-gabc1234", ""), ("v1.1.0-5-gabc1234", ".dev5+gabc1234"), ("abc1234", ".dev0+gabc1234")],
)
def test_a_version_is_its_tag_s(described, ending):
    assert dist.suffix("1.2.0", described) == ending
    with pytest.raises(ValueError, match="make them one"):
        dist.suffix("1.3.0", "v1.2.0-0-gabc1234")


@pytest.mark.long
def test_a_release_has_the_same_bytes_in_two_folders_whatever_the_umask(tmp_path, monkeypatch):
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("this is no checkout of git's")
    sums = []
    for name, umask in (("a", 0o002), ("b", 0o077)):
        monkeypatch.setattr(dist, "DIST", tmp_path / name)
        (tmp_path / name).mkdir()
        before = os.umask(umask)
        try:
            dist.packed(".dev0+gabc1234")
        finally:
            os.umask(before)
        assert len(list((tmp_path / name).iterdir())) == 2
        sums.append(dist.summed(tmp_path / name).read_text())
        time.sleep(1.1)  # archives count seconds
    assert sums[0] == sums[1]


def test_checksums_are_signed_and_a_changed_one_is_noticed(tmp_path):
    """As SECURITY.md tells whoever takes a release."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed: apt-get install openssh-client")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.whl").write_bytes(b"wheel")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    sums = dist.summed(tmp_path / "d")
    dist.sign(sums, str(tmp_path / "key"))
    (tmp_path / "signers").write_text(f"release {(tmp_path / 'key.pub').read_text()}")
    reported = re.search(r"ssh-keygen -Y verify .*", (ROOT / "SECURITY.md").read_text())
    assert reported is not None
    command = reported[0].replace("release-signers", str(tmp_path / "signers"))
    assert subprocess.run(command, shell=True, cwd=sums.parent, **quiet).returncode == 0
    assert subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=sums.parent, **quiet).returncode == 0
    sums.write_text(sums.read_text().replace("a.whl", "b.whl"))
    assert subprocess.run(command, shell=True, cwd=sums.parent, **quiet).returncode != 0


def test_trimming_a_library_leaves_it_working(tmp_path):
    """Sections and symbols are for debuggers; what is loaded stays as it is."""
    module = next(Path(np.__file__).parent.glob("_core/_multiarray_umath*.so"))
    copy = tmp_path / "trimmed.so"
    shutil.copy(module, copy)
    trim.strip(copy)
    end = copy.stat().st_size
    assert end <= module.stat().st_size
    assert copy.read_bytes()[64:4096] == module.read_bytes()[64:4096]
    trim.strip(copy)
    assert copy.stat().st_size == end
    (tmp_path / "text.so.txt").write_text("no library")
    trim.strip(tmp_path / "text.so.txt")
    assert (tmp_path / "text.so.txt").read_text() == "no library"


def test_every_file_that_the_application_opens_is_in_the_wheel():
    """The image once lacked a style sheet that a checkout has."""
    root = Path(__file__).resolve().parents[2]
    named = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["app"]
    retained = {p for pattern in named for p in (root / "app").glob(pattern)}
    others = {p for p in (root / "app").rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")}
    assert others == retained


KUBERNETES_PLACE = ROOT / "container" / "kubernetes"
SPEC = importlib.util.spec_from_file_location("kubernetes_check", ROOT / "container" / "kubernetes_check.py")
check = importlib.util.module_from_spec(SPEC)


SPEC.loader.exec_module(check)


PART = {
    "image": "registry.example/facsimile@sha256:" + "0" * 64,
    "env": [{"name": "SYNTH_LEDGER", "value": "postgresql://clerk@ledger/ledger"}],
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
    "volumeMounts": [{"name": "state"}, {"name": "roles"}],
}
POD = {
    "automountServiceAccountToken": False,
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [PART],
    "volumes": [{"name": "roles", "configMap": {"name": "ledger-roles"}}],
}
SOUND = [
    {"kind": "ConfigMap", "metadata": {"name": "ledger-roles"}},
    {
        "kind": "StatefulSet",
        "metadata": {"name": "application"},
        "spec": {"template": {"spec": POD}, "volumeClaimTemplates": [{"metadata": {"name": "state"}}]},
    },
]
FAULTS = {
    "may run as root": lambda pod, _: pod["securityContext"].pop("runAsNonRoot"),
    "any system call": lambda pod, _: pod["securityContext"].pop("seccompProfile"),
    "has a token": lambda pod, _: pod.pop("automountServiceAccountToken"),
    "rights that it does not need": lambda _, part: part["securityContext"].update(readOnlyRootFilesystem=False),
    "not named by its digest": lambda _, part: part.update(image="postgres:15"),
    "holds a secret": lambda _, part: part["env"][0].update(value="postgresql://clerk:word@ledger/ledger"),
    "SYNTH_LEDGER_KEY holds": lambda _, part: part["env"].append({"name": "SYNTH_LEDGER_KEY", "value": "hush"}),
    "nothing is called": lambda _, part: part["volumeMounts"].append({"name": "elsewhere"}),
    "there is no": lambda pod, _: pod["volumes"][0]["configMap"].update(name="other"),
}


def test_sound_objects_break_no_rule():
    assert check.faults(SOUND) == []
    assert "lies in the open" in check.faults([{"kind": "Secret", "metadata": {"name": "s"}}])[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_breaks_its_rule(fault):
    objects = copy.deepcopy(SOUND)
    pod = objects[1]["spec"]["template"]["spec"]
    FAULTS[fault](pod, pod["containers"][0])
    assert len(wrong := check.faults(objects)) == 1
    assert fault in wrong[0]


def test_the_files_hold_no_secret_and_name_every_image_once():
    files = {p.name: p.read_text() for p in KUBERNETES_PLACE.iterdir()}
    text = "\n".join(files.values())
    assert not re.search(r"kind: Secret\b|stringData|://\w+:\w+@", text)
    images = set(re.findall(r"(?m)^ +image: (\S+)", text))
    assert images == set(re.findall(r"(?m)^  - name: (\S+)\n    newName", files["kustomization.yaml"]))
    assert text.count("digest: sha256:") == len(images)
    listed = re.search(r"resources: \[(.*)\]", files["kustomization.yaml"])[1].split(", ")
    assert {*listed, "kustomization.yaml", "roles.sql"} == set(files)
