"""A table as hospitals have them, simulated: visits of patients who come again, keys, notes, dates of birth."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

ROWS, PATIENTS = 8000, 4397
SECRETS = ("patient", "MRN", "Fallnummer", "note", "geburtsdatum", "dob")  # columns of which no cell may get out
PHRASES = (
    "patient reports severe pain since morning left right knee chest no fever stable after surgery given follow up in "
    "two weeks wife called daughter smokes denies alcohol allergic to penicillin refuses treatment uncertain history"
)
WORDS = PHRASES.split()


def messy(rows: int = ROWS, patients: int = PATIENTS, seed: int = 5) -> pd.DataFrame:
    """Visits, all cells text. Every patient comes at least once, some many times."""
    rng = np.random.default_rng(seed)
    weights = rng.pareto(3, patients) + 0.2
    who = np.concatenate([np.arange(patients), rng.choice(patients, rows - patients, p=weights / weights.sum())])
    rng.shuffle(who)
    birth = np.datetime64("1921-03-17") + rng.integers(0, 33_000, patients).astype("timedelta64[D]")
    moment = np.datetime64("2023-01-01T00") + rng.integers(0, 8760, rows).astype("timedelta64[h]")
    codes = np.array([f"{a}{n:02d}" for a in "CEIJKMNS" for n in range(50)])  # 400 diagnoses
    shares = 1 / (1 + np.arange(len(codes))) ** 0.7
    postal = np.array([f"{n:05d}" for n in rng.choice(np.arange(1067, 99998), 350, replace=False)])
    age = 2023 - birth.astype("datetime64[Y]").astype(int) - 1970
    return pd.DataFrame(
        {
            "patient": 700_000 + 13 * who,
            "MRN": [f"MRN{n:08d}" for n in 51_000_000 + 7 * who],
            "Fallnummer": 20_230_000_000 + rng.permutation(10 * rows)[:rows],
            "note": _notes(rng, rows),
            "geburtsdatum": pd.to_datetime(birth[who]).strftime("%d.%m.%Y"),
            "dob": birth[who].astype(str),
            "postcode": rng.choice(postal, rows),
            "diagnosis": rng.choice(codes, rows, p=shares / shares.sum()),
            "admitted": pd.to_datetime(moment).strftime("%Y-%m-%d %H:%M"),
            "sex": np.where(rng.random(rows) < 0.52, "female", "male"),
            "ward": rng.choice(["surgery", "medicine", "children", "eyes"], rows),
            "age": age[who],
            "temperature": np.round(rng.normal(37.1, 0.7, rows), 1),
        }
    ).astype(str)


def _notes(rng: np.random.Generator, rows: int) -> list[str]:
    """Notes of 5 to 20 words, nearly all different."""
    return [" ".join(rng.choice(WORDS, n)) for n in rng.integers(5, 21, rows)]


def clean(table: pd.DataFrame) -> pd.DataFrame:
    """The same visits without what makes the table messy."""
    return table[["sex", "ward", "age", "temperature"]]


def secrets(table: pd.DataFrame) -> dict[str, set[str]]:
    """The cells that may not get out, by column."""
    return {name: set(table[name]) for name in SECRETS}


def reported_in(folder: Path, cells: set[str], *, but: tuple[str, ...] = ()) -> set[str]:
    """Which of these cells stand word for word in the files of a folder, between what parts cells there."""
    result: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in but:
            result |= cells & parts(path, path.stat().st_mtime_ns)
    return result


@lru_cache(maxsize=16)
def parts(path: Path, changed: int) -> frozenset[str]:  # noqa: ARG001 - what is written again is read again
    """What stands in a file between what parts cells there: read once for all of its columns."""
    marks = str.maketrans(dict.fromkeys(',"\n\r\t<>;[]{}=', "\n"))
    return frozenset(part.strip() for part in path.read_bytes().decode("utf-8", "replace").translate(marks).split("\n"))
