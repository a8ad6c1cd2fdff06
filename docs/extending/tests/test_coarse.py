"""What the new method does, and what it refuses before the spend."""

import pandas as pd
import pytest

import synth
from synth.generators import GENERATORS
from synth.generators.papers.coarse_checked import Checked

AGES = {"type": "integer", "min": 0, "max": 99, "source": "public"}
SEXES = {"type": "categorical", "categories": ["f", "m"], "source": "public"}
PEOPLE = pd.DataFrame({"age": [30, 41, 30, 77] * 50, "sex": ["f", "m", "m", "f"] * 50})
WIDE = pd.DataFrame({f"c{i}": ["f", "m"] for i in range(201)})


def run(frame, columns, ledger, **options):
    schema = synth.Schema.parse({"columns": columns})
    how = {"epsilon": 1, "delta": 1e-5, "method": "coarse", "options": options, "ledger": ledger}
    return synth.run(frame, schema=schema, dataset="example", seed=1, **how)


def test_it_keeps_to_its_budget_and_to_the_schema(ledger):
    GENERATORS["coarse"] = "papers.coarse:Coarse"  # one more line there
    result = run(PEOPLE, {"age": AGES, "sex": SEXES}, ledger, bins=10)
    assert result.epsilon_derived <= 1
    assert set(result.frame["sex"]) <= {"f", "m"}
    assert result.frame["age"].astype(int).between(0, 99).all()
    assert synth.Ledger(ledger).summary("example")[0].epsilon == 1


def test_what_is_refused_costs_nothing(ledger):
    GENERATORS["coarse"] = Checked()
    with pytest.raises(synth.UsageError, match="201 columns, at most 200"):
        run(WIDE, dict.fromkeys(WIDE, SEXES), ledger)
    with pytest.raises(synth.UsageError, match="bins=1`: must be a number from 2 to 64"):
        run(PEOPLE, {"age": AGES, "sex": SEXES}, ledger, bins=1)
    assert not [e for e in synth.Ledger(ledger).entries() if e.kind == "spend"]
