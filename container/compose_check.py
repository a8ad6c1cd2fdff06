"""Proves compose.yaml without an engine: its processes, by its configuration, in a network of their own, in a browser.

    sudo .venv/bin/python container/compose_check.py

Proxy, application and trial provider are started as compose.yaml says, with its environment, its secrets and the names
that its networks give them; Chromium signs three people in through the proxy. Needs root, nginx and Chromium.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEOPLE = {
    "ann@example.org": "Data",
    "bob@example.org": "Approve",
    "carl@example.org": "Releases",
}  # what each sees first
LOOPBACK = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 0x41))"


def main() -> None:
    """Enters a network and a file system of its own, and proves there."""
    if "--inside" not in sys.argv:
        within = [
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            sys.executable,
            __file__,
            "--inside",
        ]
        sys.exit(subprocess.run(within, check=False).returncode)
    import compose_spec

    services = compose_spec.PyCompose.from_yaml((HERE / "compose.yaml").read_text()).to_dict()["services"]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        prepare(work, services)
        started = [subprocess.Popen(c, env=e, cwd=work, stdout=sys.stderr) for c, e in commands(work, services)]
        try:
            wait("http://facsimile:8501/_stcore/health")
            wait("http://provider:9000/jwks")
            signed_in()
        finally:
            for process in started:
                process.terminate()
                process.wait(30)


def prepare(work: Path, services: dict[str, Any]) -> None:
    """Names as the networks give them, the loopback device, and the secrets where an engine puts them."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run([sys.executable, "-c", LOOPBACK], check=True)
    (work / "hosts").write_text(f"127.0.0.1 localhost {' '.join(services)}\n")
    subprocess.run(["mount", "--bind", work / "hosts", "/etc/hosts"], check=True)
    shutil.copytree(HERE, work / "container", ignore=shutil.ignore_patterns("secrets"))
    subprocess.run(["sh", work / "container/secrets.sh"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    os.mkdir("/run/secrets")
    files = {
        "certificate": "certificate.pem",
        "key": "key.pem",
        "signin.toml": "signin.toml",
        "roles": "roles.toml",
        "sources": "sources.toml",
        "database": "database",
    }
    for secret, file in files.items():
        shutil.copy(work / "container/secrets" / file, f"/run/secrets/{secret}")


def commands(work: Path, services: dict[str, Any]) -> list[tuple[list[str], dict[str, str]]]:
    """What each service runs, with what environment."""
    env = {**os.environ, "SYNTH_HOME": str(work / "state"), "HOME": str(work), "SYNTH_ADDRESS": "0.0.0.0"}
    app = {k: str(v) for k, v in services["facsimile"]["environment"].items()} | {"TMPDIR": str(work)}
    app["SYNTH_TABLES"] = str(work / "container/tables")
    trial = services["provider"]
    provider = [*trial["entrypoint"], *trial["command"]]
    provider = [sys.executable, str(work / "container/trial/provider.py"), *provider[2:]]
    conf = (HERE / "proxy/nginx.conf").read_text()
    if subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr < "nginx version: nginx/1.25":
        conf = conf.replace("http2 on;", "")  # which the image's version has
    (work / "nginx.conf").write_text(conf)
    proxy = ["nginx", "-c", str(work / "nginx.conf"), "-g", "daemon off; error_log stderr;"]
    served = [sys.executable, "-m", "synth", "app", "--headless", "--port", "8501"]
    return [(served, env | app | {"PYTHONPATH": str(HERE.parent)}), (provider, env), (proxy, env)]


def wait(address: str) -> None:
    """Until something answers there."""
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=2)
            return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"compose_check: {address} does not answer")


def signed_in() -> None:
    """Each of three people sees the page of his role, through the proxy."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for person, heading in PEOPLE.items():
            page = browser.new_context(ignore_https_errors=True).new_page()
            page.set_default_timeout(60_000)
            page.goto("https://localhost/")
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("link", name=person).click()
            page.get_by_role("heading", name=heading, exact=True).wait_for()
            print(f"{person} signed in through the proxy, and sees {heading}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
