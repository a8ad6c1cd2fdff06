"""A made-up clinic: patients, their stays and what was done there, with its schema."""

import numpy as np
import pandas as pd

from tests.made import ID, a_key, codes, dated, facts_of, number, several

KEY = ID
SCHEMA = several(
    a_key("stays", "patients", "patient", 3, parent_columns="pid", order="day"),
    a_key("acts", "stays", "sid", 2),
    patients=facts_of(pid=KEY, sex=codes("f", "m"), born=number(1930, 1999)),
    stays=facts_of(sid=KEY, patient=KEY, ward=codes(*list("abcd")), day=dated("2020-01-01", "2020-12-31")),
    acts=facts_of(sid=KEY, code=codes(*list("xyz"))),
) | {"dataset": "clinic"}


def clinic(patients=400, seed=5):
    """Women go to wards a and b, and what is done follows the ward; some have more stays than are kept."""
    rng = np.random.default_rng(seed)
    woman = rng.random(patients) < 0.5
    many = rng.integers(0, 5, patients)
    owner = np.repeat(np.arange(patients), many)
    ward = rng.integers(0, 2, len(owner)) + 2 * ~woman[owner]
    act = np.repeat(np.arange(len(owner)), rng.integers(0, 4, len(owner)))
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, len(owner)), unit="D")
    return {
        "patients": pd.DataFrame(
            {
                "pid": [f"p{i}" for i in range(patients)],
                "sex": np.where(woman, "f", "m"),
                "born": rng.integers(1930, 2000, patients).astype(str),
            }
        ),
        "stays": pd.DataFrame(
            {
                "sid": np.arange(len(owner)).astype(str),
                "patient": [f"p{i}" for i in owner],
                "ward": np.array(list("abcd"))[ward],
                "day": days.strftime("%Y-%m-%d"),
            }
        ),
        "acts": pd.DataFrame({"sid": act.astype(str), "code": np.array(list("xyz"))[(ward[act] % 3)]}),
    }
