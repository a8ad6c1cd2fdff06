"""One small release of related tables for all tests of reports."""

import numpy as np
import pandas as pd
import pytest

import synth
from tests.made import ID, a_key, binary, codes, facts_of, several

KEY = ID
PLAIN = several(
    a_key("people", "homes", "home", 3),
    homes=facts_of(home=KEY, region=codes("n", "s")),
    people=facts_of(home=KEY, sex=binary("f", "m"), work=codes("no", "part", "full")),
) | {"dataset": "homes"}
SCHEMA = synth.app_api.parse_related(PLAIN)


def homes(size=600):
    """In the north people work alike within a home; some homes have more people than are kept, some rows no home."""
    rng = np.random.default_rng(2)
    north = rng.random(size) < 0.5
    owner = np.repeat(np.arange(size), rng.integers(0, 5, size))
    work = np.where(north[owner], (owner * 7) % 3, rng.integers(0, 3, len(owner)))
    people = pd.DataFrame(
        {
            "home": owner.astype(str),
            "sex": rng.choice(["f", "m"], len(owner)),
            "work": np.array(["no", "part", "full"])[work],
        }
    )
    people.loc[::50, "home"] = "nowhere"
    return {
        "homes": pd.DataFrame({"home": np.arange(size).astype(str), "region": np.where(north, "n", "s")}),
        "people": people,
    }


@pytest.fixture(scope="session", name="made")
def related_homes(tmp_path_factory):
    """(release, folder of real tables, ledger) at epsilon 20: noise of under one root in most cells."""
    home = tmp_path_factory.mktemp("homes")
    real = home / "real"
    real.mkdir()
    for name, table in homes().items():
        table.to_csv(real / f"{name}.csv", index=False)
    synth.run(real, schema=SCHEMA, epsilon=20.0, delta=1e-5, out=home / "release", ledger=home / "ledger.sqlite")
    return home / "release", real, home / "ledger.sqlite"
