"""Checks container/kubernetes without a cluster: what kustomize makes of it, by Kubernetes' own schemas and our rules.

    make kubernetes-check        (an environment with kubernetes-validate and PyYAML, and kubectl, which has kustomize)

Then the parts are started by hand, as the manifests start them: PostgreSQL with roles.sql, the job that makes the
ledger, and two application servers with the manifests' environment, each asked for its health; both spend.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PLACE = HERE / "kubernetes"
VERSIONS = ("1.29", "1.31", "1.33", "1.35", "1.37")  # what ReadWriteOncePod is stable in, to the newest schemas


def rendered() -> list[dict[str, Any]]:
    """The objects that `kubectl apply -k` would send."""
    import yaml

    text = subprocess.run(["kubectl", "kustomize", str(PLACE)], capture_output=True, text=True, check=True).stdout
    return [one for one in yaml.safe_load_all(text) if one]


def pods(objects: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod's specification, with the name of what makes it."""
    for one in objects:
        if "template" in one.get("spec", {}):
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def faults(objects: list[dict[str, Any]]) -> list[str]:
    """What breaks a rule of ours: privileges, moving images, secrets in the open, references that lead nowhere."""
    wrong = [f"{o['metadata']['name']}: a secret lies in the open" for o in objects if o["kind"] == "Secret"]
    names = {(o["kind"], o["metadata"]["name"]) for o in objects}
    several = [o for o in objects if o["kind"] == "StatefulSet" and o["spec"].get("replicas", 1) != 1]
    wrong += [f"{o['metadata']['name']}: each server would list the folders of its own disk alone" for o in several]
    for name, pod in pods(objects):
        about = pod["securityContext"]
        if not about.get("runAsNonRoot") or about.get("seccompProfile") != {"type": "RuntimeDefault"}:
            wrong.append(f"{name}: it may run as root, or with any system call")
        if pod.get("automountServiceAccountToken", True):
            wrong.append(f"{name}: it has a token for the cluster")
        for part in pod["containers"]:
            rights = part["securityContext"]
            least = rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
            if not least or rights["capabilities"] != {"drop": ["ALL"]}:
                wrong.append(f"{name}: it has rights that it does not need")
            if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", part["image"]):
                wrong.append(f"{name}: its image {part['image']} is not named by its digest")
            for variable in part.get("env", ()):
                value = str(variable.get("value", ""))
                named = re.search("PASSWORD$|SECRET$|KEY$", variable["name"]) and not value.startswith("/")
                if named or re.search(r"://[^/@]*:[^/@]*@", value):
                    wrong.append(f"{name}: {variable['name']} holds a secret")
            mounted = {m["name"] for m in part.get("volumeMounts", ())}
            there = {v["name"] for v in pod.get("volumes", ())} | claims(objects, name)
            wrong += [f"{name}: nothing is called {m}" for m in mounted - there]
        maps = {v["configMap"]["name"] for v in pod.get("volumes", ()) if "configMap" in v}
        wrong += [f"{name}: there is no {m}" for m in maps if ("ConfigMap", m) not in names]
    return wrong


def claims(objects: list[dict[str, Any]], name: str) -> set[str]:
    """The volumes that a set claims for each of its pods."""
    specs = (o["spec"] for o in objects if o["metadata"]["name"] == name and "template" in o.get("spec", {}))
    return {c["metadata"]["name"] for spec in specs for c in spec.get("volumeClaimTemplates", ())}


def environment(pod: dict[str, Any], home: Path, **changed: str) -> dict[str, str]:
    """A container's environment, its folders below ``home``, its values ``changed`` where this machine differs."""
    plain = {v["name"]: v["value"] for v in pod["containers"][0]["env"]}
    moved = {n: f"{home}{v}" if v.startswith("/") else v for n, v in plain.items()}
    return {**os.environ, **moved, **changed, "OMP_NUM_THREADS": "1"}


@contextmanager
def server(port: int, env: dict[str, str], log: Path) -> Iterator[None]:
    """An application server as a process, once it is healthy."""
    with log.open("wb") as out:
        command = [sys.executable, "-m", "synth", "app", "--headless", "--port", str(port), "--address", "127.0.0.1"]
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=out, stderr=out)
        try:
            for _ in range(240):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
                        assert answer.read() == b"ok"
                        break
                except OSError:
                    time.sleep(0.5)
            else:
                sys.exit(f"kubernetes_check.py: the server did not answer: {log.read_text()[-400:]}")
            yield
        finally:
            process.terminate()
            process.wait(30)


def secrets_in(place: Path, words: dict[str, str]) -> None:
    """Files as a volume of secrets has them."""
    place.mkdir(parents=True)
    for name, word in words.items():
        (place / name).write_text(word)


def started(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Starts the parts on this machine. What they did, as JSON data."""
    sys.path.insert(0, str(ROOT))
    from tests.engines import PASSWORD, postgres_server

    by_name = dict(pods(objects))
    words = {"keeper": "keeper's word", "clerk": "clerk's word"}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        home = Path("/dev/shm") / f"facsimile-kubernetes-{os.getpid()}"
        port, _ = stack.enter_context(postgres_server(home, "-c fsync=on"))
        secrets_in(folder / "run/secrets", {**words, "sources": ""})
        (folder / "run/secrets/ledger.key").write_bytes(os.urandom(32))
        roles = (PLACE / "roles.sql").read_text().replace("/secrets/", f"{folder}/run/secrets/")
        address = f"-h 127.0.0.1 -p {port} -U steward postgres".split()
        env = {**os.environ, "PGPASSWORD": PASSWORD}
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", *address], input=roles, env=env, text=True, check=True)

        def ours(name: str, at: Path, **changed: str) -> dict[str, str]:
            ledger = {v["name"]: v["value"] for v in by_name[name]["containers"][0]["env"]}["SYNTH_LEDGER"]
            here = ledger.replace("@ledger/", f"@127.0.0.1:{port}/")
            at.mkdir(exist_ok=True)
            changed |= {"SYNTH_LEDGER": here, "SYNTH_HOME": str(at / "state"), "TMPDIR": str(at)}
            return environment(by_name[name], folder, **changed)

        command = [sys.executable, "-m", "synth", *by_name["ledger-setup"]["containers"][0]["args"]]
        subprocess.run(command, env=ours("ledger-setup", folder / "setup"), cwd=ROOT, check=True)
        # one machine has no proxy that ends TLS and signs people in: the only user's application
        alone = {"SYNTH_ROLES": "", "SYNTH_SECRETS": "", "SYNTH_ADDRESS": "127.0.0.1", "SYNTH_REQUIRE_CAP": "yes"}
        spent = []
        for number, at in enumerate(("first", "second")):
            env = ours("application", folder / at, **alone)
            stack.enter_context(server(port + 1 + number, env, folder / f"{at}.log"))
            if not number:
                cap = ["ledger", "policy", "--dataset", "town", "--max-epsilon", "1.5", "--new"]
                subprocess.run([sys.executable, "-m", "synth", *cap], env=env, cwd=ROOT, check=True)
            spent.append(run(env, folder / at / "out"))
        verify = [sys.executable, "-m", "synth", "ledger", "verify", "--json"]
        shown = subprocess.run(verify, env=env, cwd=ROOT, check=True, capture_output=True, text=True)
        logs = "".join((folder / f"{at}.log").read_text() for at in ("first", "second"))
        assert not [w for w in (*words.values(), "@127.0.0.1") if w in logs], "a log tells a secret"
        return {"servers": 2, "cap": 1.5, "exit codes of runs for 1": spent, **json.loads(shown.stdout)}


def run(env: dict[str, str], out: Path) -> int:
    """A run as an application server starts it: its exit code."""
    data = ROOT / "data" / "town_survey"
    words = f"run {data}.csv.gz --schema {data}.schema.json --epsilon 1 --method independent --dataset town --out {out}"
    return subprocess.run([sys.executable, "-m", "synth", *words.split()], env=env, cwd=ROOT, check=False).returncode


def main() -> None:
    """Validates; with --start starts the parts."""
    if "--start" in sys.argv:  # in the project's environment, with what --render printed in the other one
        print(json.dumps(started(json.load(sys.stdin))))
        return
    objects = rendered()
    if "--render" in sys.argv:
        print(json.dumps(objects))
        return
    import kubernetes_validate

    wrong = faults(objects)
    for version in VERSIONS:
        for one in objects:
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                wrong.append(f"{one['kind']} {one['metadata']['name']}, Kubernetes {version}: {error.message}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    kinds = sorted({o["kind"] for o in objects})
    print(f"{len(objects)} objects ({', '.join(kinds)}) by the schemas of {', '.join(VERSIONS)}: {len(wrong)} faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
