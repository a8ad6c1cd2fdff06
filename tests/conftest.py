"""Shared fixtures: a state of one's own for every test, small tables, the command line in this process."""

import atexit
import gc
import json
import os
import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from synth.errors import COMMITTED, FUNCTION, OPTION
from synth.privacy.noise import SystemNoise
from tests.made import ID, binary, codes, dated, facts_of, number

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests start some hundred processes: where bytecode is not kept, each compiles the same files again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
MEMORY, ROOM, OWN = Path("/dev/shm"), 4 << 30, "facsimile-tests-"


def _in_memory() -> bool:
    """Whether temporary files can lie in memory: on a disk every line of a ledger waits forty milliseconds for its
    syncs, the suite for minutes, and no test can cut the power. Programs that tests compile must run there."""
    return (
        MEMORY.is_dir()
        and os.access(MEMORY, os.W_OK)
        and shutil.disk_usage(MEMORY).free > ROOM
        and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    )


def _own_folder() -> Path:
    """A folder of this run in memory, which goes with it where all went well; those of runs that are gone go now."""
    for left in MEMORY.glob(f"{OWN}*"):
        if not psutil.pid_exists(int(left.name.removeprefix(OWN))):
            shutil.rmtree(left, ignore_errors=True)
    result = MEMORY / f"{OWN}{os.getpid()}"
    result.mkdir(mode=0o700)
    return result


MADE: list[Path] = []  # by this process, and not by one that started it
if "TMPDIR" not in os.environ and _in_memory():
    MADE.append(_own_folder())
    os.environ["TMPDIR"] = str(MADE[0])
    tempfile.tempdir = None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    """Tests of what a module makes once run in one process, or each of several would make it for itself."""
    for item in items:
        fixtures, module = item._fixtureinfo.name2fixturedefs.values(), item.nodeid.partition("::")[0]
        shared = any(f[-1].scope == "module" and f[-1].baseid == module for f in fixtures)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(module))


def pytest_collection_finish() -> None:
    _settle()


@pytest.fixture(autouse=True, scope="module")
def settled():
    """After a module, what it loaded joins what stays."""
    yield
    _settle()


def _settle() -> None:
    """Takes what is loaded out of the collector's sight: Streamlit asks for a full collection after every run of
    a page, and walking the libraries and tests of the whole suite took most of a second each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(exitstatus: int) -> None:
    """What was frozen is given back, so that libraries do not call it leaked when the interpreter ends. The files of
    what failed stay to be looked at, until the next run."""
    gc.unfreeze()
    if exitstatus == 0:
        for folder in MADE:
            atexit.register(shutil.rmtree, folder, ignore_errors=True)


@pytest.fixture(scope="session")
def states(tmp_path_factory):
    """New folders for the tests' states: pytest's own way looks through all earlier ones for the next number."""
    place, numbers = tmp_path_factory.mktemp("states"), count()
    return lambda: place / str(next(numbers))


@pytest.fixture(autouse=True)
def own_state(states, monkeypatch):
    """Ledger and jobs of a test never touch the user's; what an earlier test charged in this process is forgotten."""
    COMMITTED.clear()
    home = states()
    home.mkdir(mode=0o700)
    monkeypatch.setenv("SYNTH_HOME", str(home))
    monkeypatch.setenv("SYNTH_LEDGER", str(home / "ledger.sqlite"))
    return home


@pytest.fixture(scope="session")
def public_table():
    """Path of a real public table by file name; skips where the tables are absent."""

    def find(name: str) -> Path:
        if not (SHARED / name).exists():
            pytest.skip(f"the public table {name} is not beside this checkout")
        return SHARED / name

    return find


SMALL = facts_of(
    id=ID,
    age=number(0, 99),
    sex=binary("f", "m"),
    region=codes("1", "2", "3", "4", missing=["?"]),
    income=number(0, 100000, decimals=2, nullable=True),
    seen=dated("2020-01-01", "2020-12-31", nullable=True),
    ill=binary("no", "yes"),
) | {"target": "ill"}


def as_text(result):
    """A result's table as its file has it: every cell text, missing codes and all."""
    return pd.DataFrame({n: a.to_pandas() for n, a in result.texts.items()})


def small_frame(rows: int = 1000) -> pd.DataFrame:
    """A table of the small schema with dependencies: age drives income and illness, region the visits."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 90, rows)
    region = rng.choice(["1", "2", "3.0", "4", "?"], rows, p=[0.4, 0.3, 0.2, 0.05, 0.05])
    income = np.round(np.exp(rng.normal(9 + age / 60, 0.4, rows)).clip(0, 100000), 2)
    seen = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D")
    return pd.DataFrame(
        {
            "id": [f"P{i:05d}" for i in range(rows)],
            "age": age.astype(str),
            "sex": rng.choice(["f", "m"], rows),
            "region": region,
            "income": np.where(rng.random(rows) < 0.1, "", income.astype(str)),
            "seen": np.where(region == "?", "", seen.strftime("%Y-%m-%d")),
            "ill": np.where(rng.random(rows) < 1 / (1 + np.exp(-(age - 60) / 8)), "yes", "no"),
        }
    )


@pytest.fixture
def small(tmp_path):
    """(path of a CSV, path of its schema): a thousand rows of every kind of column."""
    table, schema = tmp_path / "small.csv", tmp_path / "schema.json"
    small_frame().to_csv(table, index=False)
    schema.write_text(json.dumps(SMALL))
    return table, schema


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the command line in this process; returns (exit code, stdout, stderr). Its first argument may be a line of
    several words."""
    from synth import cli

    def call(line: str = "", *more: object) -> tuple[int, str, str]:
        arguments = [*line.split(), *map(str, more)]
        monkeypatch.setattr("sys.argv", ["synth", *arguments])
        capsys.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = left.code or 0
        reported = capsys.readouterr()
        shown = reported.err + ("" if "--json" in arguments else reported.out)
        assert not OPTION.search(shown), "the command line writes options as flags (synth/cli/answer.py)"
        assert not FUNCTION.search(shown), "the command line writes functions as commands (synth/cli/answer.py)"
        return code, reported.out, reported.err

    def done(line: str, *more: object) -> tuple[str, str]:
        """(stdout, stderr) of a command that must succeed."""
        code, *said = call(line, *more)
        assert code == 0, said[1]
        return tuple(said)

    call.done = done
    return call


DATABASES = count()


@pytest.fixture(scope="session")
def server():
    """One PostgreSQL for all tests of this process: it takes seconds to start."""
    from tests.engines import postgres

    with postgres() as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster(server):
    """A database of the module's own in that PostgreSQL."""
    from tests.engines import database

    engine = database(server, f"tests_{next(DATABASES)}")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def ledger_server():
    """One PostgreSQL for all ledgers of this process, whose disk is waited for."""
    from tests.ledgers import started

    with started() as server:
        yield server


@pytest.fixture
def on_server(ledger_server, monkeypatch, own_state):
    """Makes the address of a new database of that server; its password is where a ledger looks for it."""
    from tests.ledgers import PASSWORD

    (own_state / "password").write_text(PASSWORD)
    monkeypatch.setenv("SYNTH_LEDGER_PASSWORD_FILE", str(own_state / "password"))
    return ledger_server.new


@pytest.fixture(params=["file", "server"])
def anywhere(request, tmp_path):
    """A place for a new ledger: each law holds in a file and on a server."""
    if request.param == "file":
        return tmp_path / "ledger.sqlite"
    return request.getfixturevalue("on_server")()


@pytest.fixture
def few_steps(monkeypatch):
    """The fit of related tables ends soon: for laws of reading, charging and writing, whatever the model is worth."""
    from synth.generators import TREES
    from synth.generators.core.related import Nested
    from synth.generators.core.related_fit import TreeOptions

    monkeypatch.setitem(TREES, "mixture", Nested(options=TreeOptions(fits=2, roots=6, children=12, steps=20)))


class Keyed(SystemNoise):
    """The system's noise from a key that tests know: unlike seeded noise it may leave, and so is drawn again."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(key)

    def _generator(self):
        return self._rng
