"""How long a check, a spend and a look take on a long ledger, and how verification grows.

python benchmarks/ledger.py --out benchmarks/results/ledger.json
"""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from synth.privacy.ledger import accounts, sqlite
from synth.privacy.ledger.ledger import Ledger, Spend

QUESTION = {"method": "mixture", "columns": ["AGE", "SEX"], "mu": 0.1, "sensitivity": 1.0, "max_rows": 1}
SHARED = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}


def charge(dataset: str, epsilon: float = 0.1) -> Spend:
    """A spend as a run makes it."""
    return Spend(dataset=dataset, epsilon=epsilon, delta=1e-9, question=QUESTION, **SHARED)


def filled(path: Path, lines: int, datasets: int) -> Ledger:
    """A ledger with so many spends of unlike sizes; the accounts are made once at the end."""
    book = Ledger(path)
    book.set_policy("dataset-0", max_epsilon=1e9, max_delta=0.5)
    follow = accounts.follow
    with sqlite.writing(path) as db:
        accounts.follow = lambda _: None
        try:
            for i in range(lines):
                sqlite.append(
                    db, kind="spend", run=f"run-{i}", dataset=f"dataset-{i % datasets}", actor="ann",
                    epsilon=0.1 + i * 1e-7, delta=1e-9, question=QUESTION, **SHARED,
                )  # fmt: skip
        finally:
            accounts.follow = follow
        accounts.rebuild(db)
    return book


def median(act: Callable[[], object], times: int) -> float:
    """Milliseconds, the median of so many."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(1000 * (time.perf_counter() - start))
    return round(sorted(taken)[times // 2], 2)


def measured(lines: int, datasets: int) -> dict[str, Any]:
    """All acts on one ledger."""
    with tempfile.TemporaryDirectory() as folder:
        book = filled(Path(folder) / "ledger.sqlite", lines, datasets)
        acts: dict[str, Callable[[], object]] = {
            "check": lambda: book.check(charge("dataset-0")),
            "check of a new name": lambda: book.check(charge("new")),
            "spend": lambda: book.spend(charge("dataset-0")),
            "newest page": lambda: book.page(size=100),
            "newest page of a dataset": lambda: book.page("dataset-0", size=100),
            "oldest page": lambda: book.page(size=100, number=lines // 100),
            "refusals": lambda: book.page(kind="refusal", size=100),
            "totals": book.summary,
            "charge of a run": lambda: book.charge("run-7"),
        }
        found = {name: median(act, 9) for name, act in acts.items()}
        return {"lines": lines, "datasets": datasets, "ms": found, "verify_s": round(median(book.verify, 1) / 1000, 2)}


def main() -> None:
    """Runs all sizes and writes one JSON file."""
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path)
    options.add_argument("--lines", type=int, nargs="*", default=[10_000, 100_000])
    asked = options.parse_args()
    sizes = [(n, d) for n in asked.lines for d in (1, 100)]
    told = {"python": platform.python_version(), "measured": [measured(n, d) for n, d in sizes]}
    text = json.dumps(told, indent=1)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
