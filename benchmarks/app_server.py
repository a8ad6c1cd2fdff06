"""The application in a process of its own, on a free port; a browser for it; and the tables of its tour.

None of these is the sample of the documentation.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import psutil
from public_tables import SYNTH
from runner import SHARED

IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu"]


class Served(NamedTuple):
    """Where it answers, the seconds from the command until it did, and its process."""

    url: str
    seconds: float
    pid: int


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answered(port: int) -> None:
    """Waits until something listens, a minute at most."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the server did not come up")


@contextmanager
def serving(home: Path, *, port: int = 0, **more: str) -> Iterator[Served]:
    """The application with its state in a folder, on a free port or this one; ``more``: environment variables."""
    token = "token-of-the-measurements"
    env = {**os.environ, "SYNTH_HOME": str(home), "SYNTH_LEDGER": str(home / "ledger.sqlite"), "SYNTH_TOKEN": token}
    env |= more
    began, port = time.perf_counter(), port or free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*SYNTH, "app", "--port", str(port), "--headless"], env=env, **quiet)
    try:
        answered(port)
        yield Served(f"http://127.0.0.1:{port}/?token={token}", time.perf_counter() - began, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def used(*, whole: bool = False, also: tuple[int, ...] = ()) -> dict[bool, float]:
    """Seconds of the processor so far of the processes below this one: of a browser (True), and of all others.

    ``also``: more processes, with those below them. ``whole``: with this process, and with those that have ended.
    """
    own = psutil.Process()
    first = [own, *map(psutil.Process, also)]
    result = {True: 0.0, False: 0.0}
    for process in {*first, *(child for one in first for child in one.children(recursive=True))}:
        with suppress(psutil.Error):
            times = process.cpu_times()
            ended = times.children_user + times.children_system if whole else 0.0
            if whole or process != own:
                result["chrom" in process.name()] += times.user + times.system + ended
    return result


def wide(folder: Path) -> list[Path]:
    """5,000 made-up people: 50 columns of categories, numbers and dates."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 5000)
    columns: dict[str, Any] = {}
    for i in range(25):
        columns[f"answer_{i}"] = np.array(list("abcdef"))[(kind + rng.integers(0, 3, 5000)) % (2 + i % 5)]
    for i in range(20):
        columns[f"amount_{i}"] = (rng.gamma(2.0, 30.0, 5000) + 10 * kind).round().astype(int)
    days = np.datetime64("2015-01-01") + rng.integers(0, 3000, (5, 5000)).astype("timedelta64[D]")
    columns |= {f"day_{i}": days[i] for i in range(5)}
    pd.DataFrame(columns).to_csv(folder / "wide.csv", index=False)
    return [folder / "wide.csv"]


def credit(folder: Path) -> list[Path]:
    """Default of credit card clients."""
    pd.read_csv(SHARED / "data" / "credit_default_taiwan.csv.gz").to_csv(folder / "credit.csv", index=False)
    return [folder / "credit.csv"]


def bank(folder: Path) -> list[Path]:  # noqa: ARG001 - the files lie where they are
    """A Czech bank's accounts and what belongs to them; its districts are public."""
    names = ("account", "district", "disp", "card", "loan", "order")
    return [SHARED / "data" / "relational_bank" / f"{n}.csv" for n in names]


def hospital(folder: Path) -> list[Path]:
    """8,000 stays of some 4,400 made-up patients, as a hospital's system exports them: semicolons, decimal commas."""
    rng = np.random.default_rng(5)
    patients, stays = 4400, 8000
    owner = np.r_[np.arange(patients), rng.choice(patients, stays - patients, p=_few_ill(rng, patients))]
    day = np.datetime64("2021-01-01") + rng.integers(0, 1090, stays).astype("timedelta64[D]")
    length = rng.gamma(1.5, 4.0, stays).round(1)
    icu = rng.random(stays) < 0.1
    weight = rng.normal(76, 15, patients).clip(35, 190).round(1)[owner]
    reported = pd.DataFrame(
        {
            "PatientID": [f"KH-{7 * i + 10234:06d}" for i in owner],
            "Aufnahme": pd.Series(day).dt.strftime("%d.%m.%Y"),
            "Geschlecht": rng.choice(["m", "w", "d"], patients, p=[0.48, 0.515, 0.005])[owner],
            "Alter": rng.normal(58, 20, patients).clip(0, 103).astype(int)[owner],
            "Gewicht": [f"{w:.1f}".replace(".", ",") for w in weight],
            "Station": rng.choice(["Innere", "Chirurgie", "Neurologie", "Onkologie", "HNO"], stays),
            "ICD": np.char.add(
                rng.choice(list("CEIJKMS"), stays), np.char.zfill(rng.integers(0, 60, stays).astype(str), 2)
            ),
            "Voraufenthalte": rng.poisson(0.8, stays).clip(0, 7),
            "Verweildauer": [f"{v:.1f}".replace(".", ",") for v in length],
            "ICU_Stunden": np.where(icu, rng.poisson(40, stays).astype(str), ""),
            "Entlassart": rng.choice([1, 2, 3, 9], stays, p=[0.8, 0.1, 0.07, 0.03]),
        }
    )
    reported.to_csv(folder / "export_stationaer.csv", index=False, sep=";", encoding="windows-1252")
    return [folder / "export_stationaer.csv"]


def _few_ill(rng: np.random.Generator, patients: int) -> np.ndarray:
    weight = rng.gamma(0.5, 1.0, patients)
    return weight / weight.sum()


def households(folder: Path) -> list[Path]:
    """1,500 made-up households and their persons, whose files share a column that no table's name tells."""
    rng = np.random.default_rng(6)
    size = rng.integers(1, 7, 1500)
    owner, rooms = np.repeat(np.arange(1500), size), rng.integers(1, 8, 1500)
    region = rng.choice(["Lima", "Cusco", "Puno"], 1500, p=[0.5, 0.3, 0.2])
    homes = pd.DataFrame({"idhogar": [f"h{i:05d}" for i in range(1500)], "region": region, "rooms": rooms})
    age = rng.integers(0, 95, len(owner))
    persons = pd.DataFrame(
        {
            "idpersona": np.arange(len(owner)) + 100_000,
            "idhogar": [f"h{i:05d}" for i in owner],
            "age": age,
            "sex": rng.choice(["f", "m"], len(owner)),
            "schooling": np.minimum(age // 6, rng.integers(0, 4, len(owner)) + rooms[owner] // 3),
        }
    )
    homes.to_csv(folder / "viviendas.csv", index=False)
    persons.to_csv(folder / "personas.csv", index=False)
    return [folder / "viviendas.csv", folder / "personas.csv"]


MAKERS = {"wide": wide, "credit": credit, "bank": bank, "hospital": hospital, "households": households}
