"""Simulates the sample table: a health and income survey of an invented town. Nobody in it exists.

    python data/simulate.py

writes town_survey.csv.gz and town_survey.schema.json beside this file (or into the folder given as argument).
Every number below is made up to look plausible; none was fitted to records. The schema is stated here, not read
off the rows, so all of it is public.
"""

import csv
import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
from scipy.special import expit, ndtri

ROWS = 20_000
SEED = 20_240_607
REGIONS = {"Harbour": 0.24, "Old Town": 0.18, "Northfield": 0.22, "Millside": 0.20, "Uplands": 0.16}
EDUCATION = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
MARITAL = ("single", "married", "partnered", "divorced", "widowed")
INSURANCE = ("public", "private", "both", "none")
# Occupation: (share among those who work, mean education from 0 to 6, median yearly income in thousands)
OCCUPATIONS = {
    "accountant": (0.03, 4.2, 46),
    "baker": (0.02, 2.6, 27),
    "bus driver": (0.03, 2.3, 31),
    "care worker": (0.07, 2.4, 26),
    "carpenter": (0.03, 2.8, 33),
    "cashier": (0.05, 2.0, 22),
    "chemist": (0.01, 5.2, 58),
    "cleaner": (0.06, 1.3, 20),
    "clerk": (0.09, 3.0, 32),
    "cook": (0.04, 2.2, 25),
    "dentist": (0.006, 5.6, 92),
    "electrician": (0.03, 3.0, 37),
    "engineer": (0.05, 4.7, 61),
    "farmer": (0.03, 2.2, 28),
    "fisher": (0.02, 1.8, 26),
    "hairdresser": (0.02, 2.6, 22),
    "journalist": (0.01, 4.4, 42),
    "judge": (0.002, 5.4, 105),
    "librarian": (0.01, 4.5, 38),
    "manager": (0.06, 4.2, 74),
    "mechanic": (0.04, 2.7, 34),
    "nurse": (0.06, 3.8, 40),
    "painter": (0.02, 2.2, 28),
    "physician": (0.012, 5.7, 98),
    "police officer": (0.02, 3.3, 43),
    "programmer": (0.04, 4.3, 63),
    "sales agent": (0.06, 3.0, 35),
    "teacher": (0.06, 4.8, 45),
    "warehouse worker": (0.06, 1.8, 27),
    "welder": (0.02, 2.6, 36),
}
STAYS_HOME = ("not working", "retired", "student")
WEEKDAYS = (0.25, 0.22, 0.15, 0.20, 0.14, 0.03, 0.01)  # share of visits, Monday first
FIRST_DAY, WEEKS = np.datetime64("2023-01-02"), 52  # from a Monday on

Columns = dict[str, np.ndarray]


class Dice:
    """Draws by inversion from uniforms alone, the most stable of numpy's streams."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def uniform(self, size: int) -> np.ndarray:
        return self._rng.random(size)

    def normal(self, size: int) -> np.ndarray:
        return ndtri(np.clip(self.uniform(size), 1e-12, 1 - 1e-12))

    def yes(self, probability: np.ndarray) -> np.ndarray:
        return self.uniform(len(probability)) < probability

    def choice(self, weights: np.ndarray) -> np.ndarray:
        """One index a row from ``weights`` (rows, m), which need not sum to 1."""
        edges = np.cumsum(weights, axis=1)
        return (self.uniform(len(weights))[:, None] * edges[:, -1:] > edges[:, :-1]).sum(axis=1)


def simulate(rows: int = ROWS, seed: int = SEED) -> Columns:
    """The survey's columns as text, in the file's order."""
    dice = Dice(seed)
    people = persons(dice, rows)
    people |= work(dice, people)
    people |= health(dice, people)
    return written(dice, people)


def persons(dice: Dice, rows: int) -> Columns:
    """Age 16 to 99, sex, region, education (more among the young, less in Millside) and marital status."""
    age = np.minimum(16 + 84 * (0.55 * dice.uniform(rows) + 0.45 * dice.uniform(rows) ** 1.6), 99.99).astype(int)
    female = dice.yes(0.49 + 0.08 * (age > 70))
    region = dice.choice(np.tile(list(REGIONS.values()), (rows, 1)))
    pull = np.array([0.1, 0.3, 0.0, -0.5, 0.4])[region]
    latent = 3.0 + 1.5 * dice.normal(rows) + pull - 0.022 * (age - 45)
    ceiling = np.select([age < 18, age < 22, age < 26], [2, 3, 5], 6)
    education = np.clip(np.rint(latent), 0, ceiling).astype(int)
    young, old = expit((30 - age) / 4), expit((age - 74) / 5)
    weights = np.stack(
        [
            0.12 + 3 * young,
            0.6 + 0 * young,
            0.2 + 0.2 * young,
            0.003 * np.minimum(age, 60),
            (0.6 + 0.5 * female) * old,
        ],
        axis=1,
    )
    weights[age < 18, 1:] = 0
    return {
        "age": age,
        "female": female,
        "region": region,
        "education": education,
        "marital": dice.choice(weights),
    }


def work(dice: Dice, p: Columns) -> Columns:
    """Occupation by education and sex, weekly hours, and income: zeros, a log-normal body, a heavy tail."""
    age, rows = p["age"], len(p["age"])
    student = dice.yes(np.select([age < 18, age < 26], [0.9, 0.35], 0.01))
    retired = ~student & dice.yes(expit((age - 65) / 1.3))
    idle = ~student & ~retired & dice.yes(0.10 + 0.10 * (p["education"] < 2) + 0.05 * p["female"])
    shares, levels, medians = (np.array(column) for column in zip(*OCCUPATIONS.values(), strict=True))
    lean = np.array(
        [
            0.9
            if n in ("care worker", "nurse", "teacher", "hairdresser", "cashier", "clerk")
            else -0.9
            if n in ("welder", "mechanic", "electrician", "carpenter", "fisher")
            else 0.0
            for n in OCCUPATIONS
        ]
    )
    fit = np.exp(-((p["education"][:, None] - levels) ** 2) / 1.6 + lean * np.where(p["female"], 1, -1)[:, None])
    job = dice.choice(shares * fit)
    place = np.select([idle, retired, student], [-3, -2, -1], job)
    part_time = dice.yes(np.where(p["female"], 0.36, 0.12))
    usual = np.where(part_time, 20 + 5 * dice.normal(rows), 40 + 3.5 * np.abs(dice.normal(rows)) ** 1.4)
    hours = np.clip(np.rint(usual), 1, 80).astype(int)
    skill = 0.012 * np.minimum(age - 16, 35) + 0.05 * (p["education"] - 3) - 0.11 * p["female"]
    wage = medians[job] * 1000 * (hours / 40) ** 0.95 * np.exp(skill - 0.2 + 0.33 * dice.normal(rows))
    wage *= np.where(dice.yes(np.full(rows, 0.015)), (1 - dice.uniform(rows)) ** -0.55, 1.0)
    pension = 17_000 * np.exp(0.11 * p["education"] + 0.35 * dice.normal(rows))
    other = np.where(dice.yes(np.full(rows, 0.45)), 6_500 * np.exp(0.6 * dice.normal(rows)), 0)
    income = np.select([place >= 0, place == -2], [wage, pension], other)
    income = np.clip(np.rint(income / 10) * 10, 0, 1_000_000).astype(int)
    return {"place": place, "hours": hours, "income": income}


def health(dice: Dice, p: Columns) -> Columns:
    """Smoking, body mass index, the chronic condition, visits (many zeros), the last visit's day, insurance."""
    age, rows, rich = p["age"], len(p["age"]), np.log1p(p["income"]) - 10
    smoker = dice.yes(expit(-0.9 - 0.28 * (p["education"] - 3) - 0.00055 * (age - 45.0) ** 2 - 0.25 * p["female"]))
    bulge = 26.1 - 0.0028 * (age - 58.0) ** 2 - 0.35 * (p["education"] - 3) - 0.6 * smoker - 0.5 * p["female"]
    bmi = np.clip(np.round(bulge * np.exp(0.15 * dice.normal(rows)), 1), 13.0, 60.0)
    risk = -2.2 + 0.052 * (age - 45) + 0.095 * (bmi - 26) + 0.65 * smoker - 0.10 * np.clip(rich, -4, 4)
    chronic = dice.yes(expit(risk + 0.4 * (p["region"] == 3)))
    never = dice.yes(expit(0.1 - 1.9 * chronic - 0.016 * (age - 45) - 0.35 * p["female"]))
    rate = np.exp(0.55 + 0.75 * chronic + 0.007 * (age - 45) + 0.7 * dice.normal(rows))
    visits = np.where(never, 0, 1 + np.floor(-np.log1p(-dice.uniform(rows)) * rate)).clip(0, 60).astype(int)
    latest = dice.uniform(rows) ** (1 / np.maximum(visits, 1))  # the largest of that many uniforms
    week = np.floor(latest * WEEKS)
    weekday = dice.choice(np.tile(WEEKDAYS, (rows, 1)))
    weights = np.stack(
        [
            1.2 - 0.3 * np.tanh(rich),
            0.3 * np.exp(0.8 * np.tanh(rich)),
            0.12 + 0.1 * (age > 60),
            0.10 - 0.08 * (age > 60),
        ],
        axis=1,
    )
    insurance = dice.choice(weights)
    day = (week * 7 + weekday).astype(int)
    return {"smoker": smoker, "bmi": bmi, "chronic": chronic, "visits": visits, "day": day, "insurance": insurance}


def written(dice: Dice, p: Columns) -> Columns:
    """All columns as text, with what is missing left empty: by structure, or by not having been answered."""
    rows = len(p["age"])
    jobs = np.array([*OCCUPATIONS, *STAYS_HOME], dtype=object)[p["place"]]
    refused = 0.05 + 0.07 * (p["income"] > 80_000)
    table = {
        "person_id": np.array([f"P{100_000 + i}" for i in range(rows)], dtype=object),
        "age": text(p["age"]),
        "sex": np.where(p["female"], "female", "male").astype(object),
        "region": np.array(list(REGIONS), dtype=object)[p["region"]],
        "education": unless(dice.yes(np.full(rows, 0.015)), np.array(EDUCATION, dtype=object)[p["education"]]),
        "marital_status": np.array(MARITAL, dtype=object)[p["marital"]],
        "occupation": unless(dice.yes(np.full(rows, 0.02)), jobs),
        "weekly_hours": unless(p["place"] < 0, text(p["hours"])),
        "income": unless(dice.yes(refused), text(p["income"])),
        "insurance": np.array(INSURANCE, dtype=object)[p["insurance"]],
        "smoker": unless(dice.yes(np.full(rows, 0.03)), np.where(p["smoker"], "yes", "no").astype(object)),
        "bmi": unless(dice.yes(0.04 + 0.04 * p["female"]), np.array([f"{v:.1f}" for v in p["bmi"]], dtype=object)),
        "visits": text(p["visits"]),
        "last_visit": unless(p["visits"] == 0, (FIRST_DAY + p["day"]).astype(str).astype(object)),
        "chronic_condition": np.where(p["chronic"], "yes", "no").astype(object),
    }
    order = np.argsort(dice.uniform(rows), kind="stable")
    return {name: column[order] for name, column in table.items()}


def text(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers as text."""
    return numbers.astype(str).astype(object)


def unless(missing: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """The texts, empty where missing."""
    return np.where(missing, "", texts)


def schema() -> dict:
    """What anyone may know of the survey without having seen a row."""
    columns: dict[str, dict] = {
        "person_id": {"type": "identifier", "description": "number of the interview"},
        "age": {"type": "integer", "min": 16, "max": 99, "description": "age in years"},
        "sex": {"type": "boolean", "categories": ["female", "male"]},
        "region": {"type": "categorical", "categories": list(REGIONS), "description": "quarter of the town"},
        "education": {
            "type": "ordinal",
            "categories": list(EDUCATION),
            "nullable": True,
            "description": "highest degree; empty: no answer",
        },
        "marital_status": {"type": "categorical", "categories": list(MARITAL)},
        "occupation": {
            "type": "categorical",
            "categories": [*OCCUPATIONS, *STAYS_HOME],
            "nullable": True,
            "description": "occupation or status; empty: no answer",
        },
        "weekly_hours": {
            "type": "integer",
            "min": 1,
            "max": 80,
            "nullable": True,
            "description": "usual hours of work a week; empty for those who do not work",
        },
        "income": {
            "type": "integer",
            "min": 0,
            "max": 1_000_000,
            "nullable": True,
            "resolution": 10,
            "description": "yearly income, rounded to tens; empty: no answer",
        },
        "insurance": {"type": "categorical", "categories": list(INSURANCE), "description": "health insurance"},
        "smoker": {"type": "boolean", "categories": ["no", "yes"], "nullable": True},
        "bmi": {
            "type": "float",
            "min": 13.0,
            "max": 60.0,
            "decimals": 1,
            "nullable": True,
            "description": "body mass index, kg per square metre; empty: not measured",
        },
        "visits": {"type": "integer", "min": 0, "max": 60, "description": "visits to a physician in 2023"},
        "last_visit": {
            "type": "datetime",
            "min": "2023-01-02",
            "max": "2023-12-31",
            "resolution": "day",
            "nullable": True,
            "description": "day of the last visit; empty without a visit",
        },
        "chronic_condition": {
            "type": "boolean",
            "categories": ["no", "yes"],
            "description": "a chronic condition was diagnosed",
        },
    }
    named = {name: {**facts, "source": "public"} for name, facts in columns.items()}
    return {"dataset": "town-survey", "target": "chronic_condition", "positive": "yes", "columns": named}


def main(folder: Path) -> None:
    """Writes table and schema; the same bytes each time."""
    table = simulate()
    lines = io.StringIO()
    out = csv.writer(lines, lineterminator="\n")
    out.writerow(table)
    out.writerows(zip(*table.values(), strict=True))
    packed = gzip.compress(lines.getvalue().encode(), 9, mtime=0)
    (folder / "town_survey.csv.gz").write_bytes(packed)
    facts = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    (folder / "town_survey.schema.json").write_text(facts, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
