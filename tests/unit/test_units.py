"""At most max_rows rows of a person are kept, at random, and one person's rows never decide another's."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.privacy.noise import SystemNoise
from synth.sources.formats.text_table import from_frame
from synth.sources.rows.spill import keep
from tests.conftest import SMALL, small_frame
from tests.made import ran


def retained(persons, most):
    return keep(from_frame(pd.DataFrame({"p": persons})).column("p"), most, SystemNoise())


def test_the_rows_kept_are_drawn_evenly():
    """Each of five rows is the one kept about as often (chi-squared over 2,000 draws)."""
    drawn = np.bincount([retained(["a"] * 5, 1)[0] for _ in range(2000)], minlength=5)
    assert np.sum((drawn - 400) ** 2 / 400) < 33  # 1e-6


def test_a_row_without_a_person_is_a_unit_of_its_own():
    assert retained(["", "", "a", "a", ""], 1).tolist() in ([0, 1, 2, 4], [0, 1, 3, 4])


def persons(rows=600):
    frame = small_frame(rows)
    frame["id"] = [f"P{i % (rows // 4)}" for i in range(rows)]
    return frame


@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "zero_out"])
def test_noise_grows_with_the_rows_of_a_person_and_the_card_says_so(relation):
    schema = synth.Schema.parse(SMALL)
    made = {}
    for most in (1, 3):
        asked = {"method": "independent", "dataset": f"d{most}", "num_rows": 20, "separate": True}
        made[most] = ran(persons(), schema, relation=relation, unit="id", max_rows=most, **asked).card
    first = {most: card["mechanisms"][0] for most, card in made.items()}
    assert first[3]["sensitivity"] == pytest.approx(3 * first[1]["sensitivity"])
    assert first[3]["sigma"] == pytest.approx(3 * first[1]["sigma"])
    assert (made[3]["unit"], made[3]["max_rows_of_a_unit"]) == ("id", 3)
    guess = "which of two contents one person has" if relation == "replace_one" else "whether one person was used"
    assert guess in made[3]["meaning"], "contents are two steps apart where a person comes or goes"
    assert made[3]["rows"]["source_count"] == "private"
    assert "not linked" in made[3]["linkage"]


def test_rows_beyond_the_bound_are_not_counted():
    """With one row of each of 150 persons kept, the noisy total is near 150, not 600."""
    schema = synth.Schema.parse(SMALL)
    result = ran(persons(), schema, epsilon=8.0, method="independent", unit="id", max_rows=1)
    assert abs(result.num_rows - 150) < 60


WRONG = [
    (("--unit", "nobody", "--max-rows", "2"), "nobody"),
    (("--unit", "age", "--max-rows", "2"), "identifier"),
    (("--unit", "id"), "max_rows"),
    (("--max-rows", "2"), "unit"),
    (("--unit", "id", "--max-rows", "-1"), "max"),
]


@pytest.mark.parametrize(("options", "word"), WRONG, ids=lambda o: " ".join(o) if isinstance(o, tuple) else "")
def test_a_senseless_unit_is_refused(command, small, tmp_path, options, word):
    code, _, stderr = command(f"run {small[0]} --schema {small[1]} --epsilon 1 --out {tmp_path}/o", *options)
    assert code == 2
    assert word in stderr
    assert synth.Ledger().entries() == []


def test_the_unit_may_stand_in_the_schema(command, small, tmp_path):
    schema = tmp_path / "s.json"
    schema.write_text(json.dumps({**SMALL, "unit": "id", "max_rows": 2}))
    said, _ = command.done(
        f"run {small[0]} --schema {schema} --epsilon 1 --method independent --out {tmp_path}/o --json"
    )
    card = json.loads((tmp_path / "o" / "card.json").read_text())
    assert (card["unit"], card["max_rows_of_a_unit"]) == ("id", 2)
    line = next(e for e in synth.Ledger().entries() if e.kind == "spend")
    assert (line.unit, line.question["max_rows"]) == ("id", 2)
    assert json.loads((tmp_path / "o" / "schema.json").read_text())["max_rows"] == 2
    assert json.loads(said)["epsilon_derived"] <= 1.0
