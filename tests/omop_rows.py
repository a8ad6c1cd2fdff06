"""Made-up rows in the form of five OMOP tables (version 5.4): what a test or a trial of the starter runs on."""

from pathlib import Path

import numpy as np
import pandas as pd

CONDITIONS, DRUGS = ["320128", "201826", "255573"], ["1503297", "1308216", "1545958"]
MEASURED = {
    "3004249": (8876, 130),
    "3012888": (8876, 80),
    "3025315": (9529, 75),
    "3004410": (8554, 6),
    "3016723": (8840, 1),
}


def write(folder: Path, *, persons: int, seed: int = 0) -> None:
    """A CSV file for each table; columns that the starter leaves out stand in person too."""
    rng = np.random.default_rng(seed)
    tables: dict[str, list[dict]] = {
        n: [] for n in ("person", "visit_occurrence", "condition_occurrence", "measurement", "drug_exposure")
    }

    def add(table: str, **cells: object) -> None:
        tables[table].append({f"{table}_id": len(tables[table]) + 1, **cells})

    for person in range(1, persons + 1):
        old = rng.uniform(20, 90)
        born = pd.Timestamp("2015-01-01") - pd.Timedelta(days=int(365.25 * old))
        sick, dead = rng.random() < old / 100, rng.random() < (old / 120) ** 3
        end = pd.Timestamp("2024-06-30") - pd.Timedelta(days=int(rng.integers(0, 900)))
        add(
            "person",
            gender_concept_id=rng.choice([8507, 8532]),
            year_of_birth=born.year,
            birth_datetime=born.date(),
            race_concept_id=rng.choice([8527, 8516, 8515, 0], p=[0.6, 0.2, 0.1, 0.1]),
            ethnicity_concept_id=rng.choice([38003563, 38003564], p=[0.2, 0.8]),
            death_date=end.date() if dead else None,
        )
        for _ in range(rng.poisson(1 + 2 * sick)):
            kind = rng.choice([9201, 9202, 9203], p=[0.3, 0.6, 0.1] if sick else [0.05, 0.85, 0.1])
            start = end - pd.Timedelta(days=int(rng.integers(20, 2000)))
            stay = int(rng.integers(1, 15)) if kind == 9201 else 0
            last = start + pd.Timedelta(days=stay)
            add(
                "visit_occurrence",
                person_id=person,
                visit_concept_id=kind,
                visit_start_date=start.date(),
                visit_end_date=last.date(),
            )
            keys = {"person_id": person, "visit_occurrence_id": len(tables["visit_occurrence"])}
            for _ in range(rng.poisson(1.5 if sick else 0.3)):
                day = (start + pd.Timedelta(days=int(rng.integers(0, stay + 1)))).date()
                which = int(rng.integers(0, 3))
                add(
                    "condition_occurrence",
                    **keys,
                    condition_concept_id=CONDITIONS[which],
                    condition_start_date=day,
                    condition_end_date=None,
                )
                add(
                    "drug_exposure",
                    **keys,
                    drug_concept_id=DRUGS[which],
                    drug_exposure_start_date=day,
                    drug_exposure_end_date=None,
                    quantity=30 * int(rng.integers(1, 4)),
                )
            for _ in range(rng.poisson(2)):
                concept = rng.choice(list(MEASURED))
                unit, usual = MEASURED[concept]
                add(
                    "measurement",
                    **keys,
                    measurement_concept_id=concept,
                    measurement_date=start.date(),
                    unit_concept_id=unit,
                    value_as_number=round(usual * rng.lognormal(0.1 * sick, 0.15), 1),
                )
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
