"""How long a check, a spend and a look take on a long ledger, and how verification grows.

python benchmarks/ledger.py [--lines 10000,100000] [--json FILE]
python benchmarks/ledger.py --lines 10000 --server --json benchmarks/results/ledger-server.json      (on PostgreSQL)
"""

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import shake_256
from operator import eq
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runner import grid, start, tell

from synth.privacy.ledger import accounts, entries, row_marks, transactions
from synth.privacy.ledger.ledger import Ledger, Spend

QUESTION = {"method": "mixture", "columns": ["AGE", "SEX"], "mu": 0.1, "sensitivity": 1.0, "max_rows": 1}
SHARED = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}


def charge(dataset: str, epsilon: float = 0.1) -> Spend:
    """A spend as a run makes it."""
    return Spend(dataset=dataset, epsilon=epsilon, delta=1e-9, question=QUESTION, **SHARED)


def mark(number: int) -> bytes:
    """As many bytes as a mark of the rows of ten columns has."""
    return shake_256(str(number).encode()).digest(40 + 8 * 128 + 8 * 10)


def filled(place: str | Path, lines: int, datasets: int) -> Ledger:
    """A ledger of so many lines: spends of unlike sizes, and a tenth of marks of rows that change now and then.

    The accounts are made once, at the end.
    """
    book = Ledger(place)
    book.set_policy("dataset-0", max_epsilon=1e9, max_delta=0.5)
    follow, key = accounts.follow, transactions.key(book.store)
    with transactions.writing(book.store) as db:
        accounts.follow = lambda _: None
        try:
            for i in range(lines - 1):
                reported = {"run": f"run-{i}", "dataset": f"dataset-{i % datasets}", "actor": "ann"}
                if i % 10 == 9:
                    sealed = row_marks.sealed(db, key, mark(i // 1000), dataset=reported["dataset"], apart=False)
                    entries.append(db, kind="fingerprint", question=sealed, **reported)
                else:
                    entries.append(
                        db, kind="spend", epsilon=0.1 + i * 1e-7, delta=1e-9, question=QUESTION, **reported, **SHARED
                    )
        finally:
            accounts.follow = follow
        accounts.rebuild(db)
    return book


def timed(act: Callable[[], object], times: int = 15) -> list[float]:
    """Milliseconds: processor time in the median, and what a clock says in the median and at most."""
    worked, taken = [], []
    for _ in range(times):
        start, clock = time.process_time(), time.perf_counter()
        act()
        worked.append(1000 * (time.process_time() - start))
        taken.append(1000 * (time.perf_counter() - clock))
    return [round(x, 1) for x in (sorted(worked)[times // 2], sorted(taken)[times // 2], max(taken))]


@contextmanager
def placed(server: bool) -> Iterator[str | Path]:
    """A place for a new ledger: a file, or a database of a server of its own."""
    with TemporaryDirectory() as folder:
        if not server:
            yield Path(folder) / "ledger.sqlite"
            return
        from tests.ledgers import PASSWORD, started

        (Path(folder) / "password").write_text(PASSWORD)
        os.environ |= {"SYNTH_HOME": folder, "SYNTH_LEDGER_PASSWORD_FILE": f"{folder}/password"}
        with started() as cluster:
            yield cluster.new()


def measured(lines: int, datasets: int, *, server: bool) -> dict[str, Any]:
    """All acts on one ledger. Seconds of processor time for the verification, which reads every line."""
    with placed(server) as place:
        book = filled(place, lines, datasets)
        half = [f"dataset-{i}" for i in range(datasets // 2)]
        acts: dict[str, Callable[[], object]] = {
            "check": lambda: book.check(charge("dataset-0")),
            "check of a new name": lambda: book.check(charge("new")),
            "spend": lambda: book.spend(charge("dataset-0")),
            "newest page": lambda: book.page(size=100),
            "oldest page": lambda: book.page(size=100, number=lines // 100),
            "oldest page of a dataset": lambda: book.page(
                "dataset-0", size=100, number=max(1, lines // 100 // datasets)
            ),
            "oldest page of half the datasets": lambda: book.page(half, size=100, number=max(1, lines // 200)),
            "refusals": lambda: book.page(kind="refusal", size=100),
            "totals": book.summary,
            "charge of a run": lambda: book.charge("run-7"),
            "rows like these charged elsewhere": lambda: book.twins(mark(-1), dataset="new", alike=eq),
        }
        if not half:
            del acts["oldest page of half the datasets"]
        result = {name: timed(act) for name, act in acts.items()}
        start = time.process_time()
        assert book.verify().ok
        return {"lines": lines, "datasets": datasets, "ms": result, "verify_s": round(time.process_time() - start, 2)}


def main(given) -> None:
    results = [measured(**size, server=given.server) for size in grid(lines=given.lines, datasets=[1, 100])]
    tell(given.json, {"python": platform.python_version(), "measured": results})


if __name__ == "__main__":
    start(main, json="ledger", lines=[10_000, 100_000], server=False)
