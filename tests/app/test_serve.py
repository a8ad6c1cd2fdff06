"""`synth app` comes up for a user who never started it before, asks nothing, and goes when it is stopped."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from synth.cli import serve_app
from synth.errors import UsageError
from tests.app.ports import free_port


@pytest.mark.xdist_group("app")
@pytest.mark.parametrize("flags", [[], ["--headless"]], ids=["with a browser", "headless"])
def test_a_first_start_serves_and_stops(tmp_path, flags):
    port = free_port()
    home = {**os.environ, "HOME": str(tmp_path), "BROWSER": "true"}  # `true` stands for a browser: it opens nothing
    server = subprocess.Popen(
        [sys.executable, "-m", "synth", "app", "--port", str(port), *flags],
        env=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        answer = ""
        for _ in range(300):
            if server.poll() is not None:
                break
            try:
                answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).read().decode()
                break
            except OSError:
                time.sleep(0.1)
        assert answer == "ok", server.stdout.read() if server.poll() is not None else "no answer"
    finally:
        server.send_signal(signal.SIGTERM)
        reported, _ = server.communicate(timeout=30)
    assert "mail" not in reported
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    ("address", "roles", "hosts", "fine"),
    [
        ("127.0.0.1", "", "", True),
        ("0.0.0.0", "", "", False),
        ("0.0.0.0", "roles.toml", "", True),
        ("0.0.0.0", "", "localhost", True),
    ],
)
def test_beyond_this_machine_people_must_sign_in(monkeypatch, address, roles, hosts, fine):
    monkeypatch.setenv("SYNTH_ROLES", roles)
    monkeypatch.setenv("SYNTH_HOSTS", hosts)
    if fine:
        serve_app.check_address(address)
    else:
        with pytest.raises(UsageError, match="must sign in"):
            serve_app.check_address(address)


@pytest.fixture
def environment(monkeypatch):
    """An environment without the application's variables, as it was afterwards."""
    for name in serve_app.VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))


@pytest.mark.usefixtures("environment")
def test_flags_become_the_variables_that_workers_inherit(tmp_path):
    (tmp_path / "roles.toml").write_text('[roles]\nsteward = ["ann@example.org"]\n')
    os.environ["SYNTH_SECRETS"] = "kept"
    serve_app.settle(
        {
            "--address": "0.0.0.0",
            "--tables": [tmp_path, tmp_path],
            "--roles": tmp_path / "roles.toml",
            "--secrets": None,
        }
    )
    result = {v: os.environ.get(v) for v in ("SYNTH_ADDRESS", "SYNTH_TABLES", "SYNTH_ROLES", "SYNTH_SECRETS")}
    assert result == {
        "SYNTH_ADDRESS": "0.0.0.0",
        "SYNTH_TABLES": f"{tmp_path}:{tmp_path}",
        "SYNTH_ROLES": str(tmp_path / "roles.toml"),
        "SYNTH_SECRETS": "kept",
    }
    serve_app.check_address("0.0.0.0")
    serve_app.check_roles()


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(("flag", "words"), [("--tables", "no such folder"), ("--roles", "no such file")])
def test_a_flag_that_names_nothing_is_refused(tmp_path, flag, words):
    absent = tmp_path / "absent"
    with pytest.raises(UsageError, match=words):
        serve_app.settle({flag: [absent] if flag == "--tables" else absent})


def test_a_faulty_file_of_roles_stops_the_start(tmp_path):
    (tmp_path / "roles.toml").write_text("[roles]\nking = ['a']")
    done = subprocess.run(
        [sys.executable, "-m", "synth", "app", "--headless", "--roles", str(tmp_path / "roles.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "king" in done.stderr
    assert "Traceback" not in done.stderr
