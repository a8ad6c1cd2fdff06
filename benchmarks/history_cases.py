"""Simulated histories of persons whose truth is known, and how near made ones are to it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

FIRST_DAY, DAYS = np.datetime64("2015-01-01"), 3653
STAGES, WARDS, WORK = list("abcd"), ["east", "north", "south", "west"], ["job", "none", "school"]
BINS = np.array([1, 2, 4, 8, 15, 22, 31, 46, 61, 91, 121, 182, 365, 730])  # steps of time
RUN = 12  # the longest run of rows told apart


@dataclass(frozen=True, kw_only=True)
class Case:
    """A simulation: ``rows`` of so many persons, at most so many each; which columns have which part in it."""

    rows: Callable[[int, int, np.random.Generator], pd.DataFrame]
    order: str
    group: str
    state: str
    lasting: str
    first: str | None
    last: str
    season: str | None
    facts: dict[str, dict]

    def schema(self, most: int) -> dict:
        """Its schema, all of it public."""
        return {"unit": "pid", "max_rows": most, "order": self.order, "columns": self.facts}


def _categories(names: list[str], **more: str) -> dict:
    return {"type": "categorical", "categories": names, **more}


def visits(persons: int, most: int, rng: np.random.Generator) -> pd.DataFrame:
    """Visits at irregular times: persons at high risk come more often and longer, more visits in winter."""
    out = []
    for pid in range(persons):
        high = rng.random() < 0.35
        sex = "f" if rng.random() < 0.5 else "m"
        number = min(1 + rng.geometric(1 / (0.35 * most if high else 0.12 * most)), most)
        day, stage, ward = int(rng.integers(0, int(0.8 * DAYS))), int(rng.random() < 0.3), int(rng.integers(4))
        mine = []
        while len(mine) < number and day < DAYS:
            month = (FIRST_DAY + day).astype("datetime64[M]").astype(int) % 12
            winter = month in (11, 0, 1, 2)
            if winter or rng.random() < 0.6:
                cause = (
                    "cold" if rng.random() < (0.5 if winter else 0.05) else ("injury", "heart")[int(rng.random() < 0.5)]
                )
                kind = "new" if not mine else "again" if rng.random() < 0.7 else "control"
                mine.append([f"P{pid}", sex, "high" if high else "low", str(FIRST_DAY + day), STAGES[stage]])
                mine[-1] += [WARDS[ward], cause, kind, "open"]
                stage = min(stage + int(rng.random() < (0.12 if high else 0.06)), 3)
                ward = ward if rng.random() < 0.85 else int(rng.integers(4))
            again = rng.random() < 0.3  # a control after four weeks to the day
            day += 28 if again else max(1, int(rng.lognormal(np.log(25 if high else 80), 0.7)))
        if mine:
            mine[-1][-1] = "died" if rng.random() < 0.1 + 0.2 * stage else "closed"
        out += mine
    return pd.DataFrame(out, columns=["pid", "sex", "risk", "day", "stage", "ward", "cause", "kind", "outcome"])


def panel(persons: int, most: int, rng: np.random.Generator) -> pd.DataFrame:
    """A row each year; persons without work drop out more often, and states last."""
    years, out = min(most, 25), []
    for pid in range(persons):
        region = WARDS[int(rng.choice(4, p=[0.4, 0.3, 0.2, 0.1]))]
        year = 0 if rng.random() < 0.7 else int(rng.integers(1, years))
        work, income = int(rng.choice(3, p=[0.6, 0.2, 0.2])), int(rng.integers(1, 6))
        while year < years:
            out.append([f"P{pid}", region, str(2000 + year), WORK[work], str(income)])
            if rng.random() < (0.2 if work == 1 else 0.04):
                break
            if rng.random() < 0.15:
                work = int(rng.choice(3, p=[0.6, 0.3, 0.1]))
            income = int(np.clip(income + rng.choice([-1, 0, 1], p=[0.1, 0.75, 0.15]) - (work == 1), 1, 5))
            year += 1
    return pd.DataFrame(out, columns=["pid", "region", "year", "work", "income"])


KEY = {"type": "identifier", "pattern": "P[0-9]{6}"}
CASES = {
    "visits": Case(
        rows=visits,
        order="day",
        group="risk",
        state="stage",
        lasting="ward",
        first="kind",
        last="outcome",
        season="cause",
        facts={
            "pid": KEY,
            "sex": _categories(["f", "m"], of="unit"),
            "risk": _categories(["high", "low"], of="unit"),
            "day": {"type": "datetime", "min": "2015-01-01", "max": "2024-12-31"},
            "stage": _categories(STAGES),
            "ward": _categories(WARDS),
            "cause": _categories(["cold", "heart", "injury"]),
            "kind": _categories(["again", "control", "new"]),
            "outcome": _categories(["closed", "died", "open"]),
        },
    ),
    "panel": Case(
        rows=panel,
        order="year",
        group="region",
        state="income",
        lasting="work",
        first=None,
        last="work",
        season=None,
        facts={
            "pid": KEY,
            "region": _categories(WARDS, of="unit"),
            "year": {"type": "integer", "min": 2000, "max": 2024},
            "work": _categories(WORK),
            "income": _categories(["1", "2", "3", "4", "5"]),
        },
    ),
}


def _joint(*columns) -> pd.Series:
    """Shares of combinations."""
    frame = pd.DataFrame({i: np.asarray(c) for i, c in enumerate(columns)})
    return frame.value_counts(normalize=True)


def tables(case: Case, rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """(what, shares) of all that histories are judged by."""
    rows = rows.astype(str)
    dated = case.season is not None
    time = rows[case.order].to_numpy("datetime64[D]").astype(int) if dated else rows[case.order].astype(int).to_numpy()
    person = pd.factorize(rows["pid"])[0]
    order = np.lexsort((time, person))
    rows, time, person = rows.iloc[order].reset_index(drop=True), time[order], person[order]
    next_one = np.append(person[1:] == person[:-1], False)
    first, last = np.append(True, ~next_one[:-1]), ~next_one
    near = np.flatnonzero(next_one)
    number = np.bincount(person)[person]
    rank = np.arange(len(rows)) - np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
    gap = np.digitize(time[near + 1] - time[near], BINS)
    group, state, lasting = (rows[n].to_numpy() for n in (case.group, case.state, case.lasting))
    yield "gaps", _joint(gap)
    yield "gaps by group", _joint(gap, group[near])
    yield "gap after gap", _joint(*(lambda at: (gap[at], gap[at + 1]))(np.flatnonzero(near[1:] == near[:-1] + 1)))
    yield "number of rows by group", _joint(number[first], group[first])
    yield "first times", _joint(time[first] // (183 if dated else 1))
    if case.season is not None:
        month = pd.to_datetime(rows[case.order]).dt.month.to_numpy()
        yield "months", _joint(month)
        yield "causes by month", _joint(rows[case.season], month)
    yield "state after state", _joint(state[near], state[near + 1])
    yield "lasting state after itself", _joint(lasting[near], lasting[near + 1])
    ahead = np.maximum(number // 2, 1)
    far = np.flatnonzero((rank + ahead < number) & (number > 3))
    yield "state half a history later", _joint(state[far], state[far + ahead[far]])
    ends = np.flatnonzero(last | (lasting != np.append(lasting[1:], "")))
    yield "lengths of runs", _joint(np.minimum(np.diff(np.append(-1, ends)), RUN))
    yield "state by group", _joint(state, group)
    if case.first:
        yield "first events", _joint(rows[case.first], first)
    yield "last events", _joint(rows[case.last], last)
    yield "last events by state", _joint(state[last], rows[case.last].to_numpy()[last])


def scores(case: Case, truth: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Total variation of each table."""
    return {
        what: 0.5 * float(one.sub(other, fill_value=0).abs().sum())
        for (what, one), (_, other) in zip(tables(case, truth), tables(case, made), strict=True)
    }
