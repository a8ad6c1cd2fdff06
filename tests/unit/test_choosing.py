"""The card of a chosen run counts every candidate and the choice, wherever it is read; the command line asks for it.

The table nearest to the real rows is told by paid noisy counts, and what cannot be compared is refused.
"""

import json
import shutil
import zipfile

import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.statistics import MOST_CELLS, statistics
from synth.privacy.accounting.guarantee import Guarantee
from synth.privacy.ledger.ledger import Ledger
from synth.release import chosen, folder
from synth.release.card import choice, verify
from synth.release.card.choice import Charge
from synth.report import chosen_release
from synth.report.chosen_release import distances, questions, shared
from tests.conftest import SMALL, small_frame
from tests.made import ran

SCHEMA = synth.Schema.parse(SMALL)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, three runs on it of epsilon 0.5, 1 and 2, one refit, and counts that were paid for; one ledger."""
    place = tmp_path_factory.mktemp("chosen")
    small_frame(400).to_csv(place / "real.csv", index=False)
    (place / "s.json").write_text(json.dumps(SMALL))
    asked = {"schema": SCHEMA, "delta": 1e-6, "dataset": "club", "ledger": place / "l.sqlite"}
    for name, epsilon, rows in (("a", 0.5, 400), ("b", 1.0, 400), ("c", 2.0, 3)):
        run = {"epsilon": epsilon, "method": "independent", "seed": 1, "num_rows": rows}
        synth.run(place / "real.csv", out=place / name, **run, **asked)
    synth.app_api.refit(place / "b", num_rows=50, seed=2, out=place / "b2")
    counts = statistics(place / "real.csv", ask=["count:age*sex", "count:region"], epsilon=20.0, **asked)
    (place / "paid.json").write_text(json.dumps(counts.plain()))
    return place


@pytest.fixture
def at(made, own_state):
    """The same, with a ledger and notes of the test's own."""
    for name in ("", ".key", ".mark"):
        if (made / f"l.sqlite{name}").exists():
            shutil.copy(made / f"l.sqlite{name}", own_state / f"ledger.sqlite{name}")
    return made


def card_of(zipped):
    with zipfile.ZipFile(zipped) as file:
        return {n: file.read(n).decode() for n in file.namelist() if n.endswith((".json", ".md", ".html"))}


def looked(at, *names):
    for name in names:
        chosen_release.look(at / name)


def gaps(at, *names):
    return synth.app_api.choice_distances(at / "paid.json", [at / n for n in names])


def test_the_card_of_a_paid_choice_states_the_sum_everywhere(at, command, tmp_path):
    """0.5 + 1 + 20 for the winner: before this rule card, page, report and model all said its own epsilon."""
    looked(at, "a", "c")
    paid = ("--choice", "private", "--with", at / "c", "--paid", at / "paid.json")
    out, _ = command.done("bundle", at / "a", "--out", tmp_path / "z.zip", *paid, "--json")
    assert (json.loads(out)["epsilon"], json.loads(out)["own_epsilon"]) == (22.5, 0.5)
    parts = card_of(tmp_path / "z.zip")
    card = json.loads(parts["card.json"])
    assert verify.check(card).epsilon == 22.5
    assert card["delta"] == 3e-6
    assert [c["epsilon"] for c in card["selection"]["charges"]] == [2.0, 20.0]
    assert card["registry"]["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 22.5, "delta": 3e-6}
    for name in ("release.json", "model.json"):
        assert json.loads(parts[name])["card"]["epsilon"] == 22.5
    for name in ("card.md", "card.html", "report.html", "README.md"):
        assert "22.5" in parts.get(name, "22.5"), name
    assert "of which other candidates" in parts["card.md"]
    with zipfile.ZipFile(tmp_path / "z.zip") as file:
        file.extractall(tmp_path / "open")
    again = synth.app_api.refit(tmp_path / "open", num_rows=20, out=tmp_path / "again")
    assert again.card["epsilon"] == 22.5, "who fits again from the bundle finds the same claim"
    assert verify.check(verify.load(tmp_path / "again")).epsilon == 22.5
    command.done("card", "check", tmp_path / "open", "--ledger", Ledger().path)


def test_the_counts_decide_and_only_once(at, tmp_path):
    looked(at, "a", "c")
    assert gaps(at, "c", "a")[0] > gaps(at, "c", "a")[1], "three rows are far from any table"
    with pytest.raises(InputError, match="these counts chose"):
        chosen_release.settle(at / "c", "private", candidates=[at / "a"], paid=at / "paid.json")
    with pytest.raises(UsageError, match="name the counts that decide"):
        chosen_release.settle(at / "a", "private", candidates=[at / "c"])
    assert chosen_release.settle(at / "a", "private", candidates=[at / "c"], paid=at / "paid.json")["epsilon"] == 22.5
    other = json.loads((at / "paid.json").read_text())
    other["card"]["ledger_entry"] = {"number": 9, "hash": "f" * 64}
    (tmp_path / "again.json").write_text(json.dumps(other))
    with pytest.raises(UsageError, match="already decided between"):
        chosen_release.settle(at / "a", "private", candidates=[at / "c"], paid=tmp_path / "again.json")


def test_all_scored_runs_count_each_other(at):
    looked(at, "a", "b", "c")
    for name, others in (("a", "bc"), ("c", "ab")):
        card = chosen_release.settle(at / name, "all", candidates=[at / o for o in others])
        assert card["epsilon"] == 3.5
        assert verify.check(card).epsilon == 3.5
    with pytest.raises(
        UsageError, match="1 other release of this dataset was compared with the real rows and not named"
    ):
        chosen_release.settle(at / "a", "all", candidates=[at / "b"])


def test_fits_of_one_release_are_one_spend(at):
    card = chosen_release.settle(at / "b", "all", candidates=[at / "b2"])
    assert (card["epsilon"], card["selection"]["charges"]) == (1.0, [])
    assert verify.check(card).epsilon == 1.0


def test_a_choice_by_released_figures_counts_all_that_was_charged(at):
    """Also where nobody says how it was chosen: the card can be too large then, never too small."""
    for how in ("releases", None):
        card = chosen_release.settle(at / "a", how)
        assert card["epsilon"] == 23.5
        assert verify.check(card).epsilon == 23.5
    assert chosen_release.settle(at / "a", None)["selection"]["covered"] is None
    card = chosen_release.settle(at / "a", "before")
    assert (card["epsilon"], card["selection"]["how"]) == (0.5, "before")
    with pytest.raises(UsageError, match="not the only candidate"):
        chosen_release.settle(at / "a", "only")


def test_a_single_run_is_the_only_one_and_states_its_own(small, command, tmp_path):
    run = f"run {small[0]} --schema {small[1]} --epsilon 1 --method independent --num-rows 20 --out {tmp_path}/out"
    assert command(run)[0] == 0
    card = chosen_release.settle(tmp_path / "out", None)
    assert (card["epsilon"], card["selection"]["how"]) == (1.0, "only")


def test_a_report_on_real_rows_leaves_a_note_beside_the_ledger_and_bundling_asks(at, command, tmp_path):
    command.done("report", at / "c", "--real", at / "real.csv", "--out", tmp_path / "r.html")
    note = chosen.notes(Ledger().store)[0]
    assert (note.what, note.dataset) == ("look", "club")
    assert oct(chosen.place_of_notes(Ledger().store).stat().st_mode)[-3:] == "600"
    assert not [p for p in (at / "c").iterdir() if "look" in p.name]
    assert chosen_release.settle(at / "c", "before")["epsilon"] == 2.0
    code, _, stderr = command("bundle", at / "a", "--out", tmp_path / "z.zip")
    assert (code, (tmp_path / "z.zip").exists()) == (2, False)
    assert "1 other release of this dataset was compared with the real rows" in stderr
    assert "say how this one was chosen with --choice" in stderr
    assert command("bundle", at / "c", "--out", tmp_path / "c.zip")[0] == 0, "its own look is no rival"
    for how, code in (("scores", 2), ("before", 0), ("only", 2), ("dice", 2)):
        assert command("bundle", at / "a", "--out", tmp_path / f"{how}.zip", "--choice", how)[0] == code, how


def test_notes_that_lead_nowhere_are_damage_and_no_notes_are_none(at):  # noqa: ARG001 - whose ledger is meant
    place = chosen.place_of_notes(Ledger().store)
    assert chosen.notes(Ledger().store) == []
    place.symlink_to(place.with_name("gone"))
    with pytest.raises(InputError, match="cannot be read"):
        chosen.notes(Ledger().store)


def test_a_look_that_cannot_be_noted_is_not_taken(at, command, tmp_path):
    chosen.place_of_notes(Ledger().store).mkdir()
    code, _, stderr = command("report", at / "c", "--real", at / "real.csv", "--out", tmp_path / "r.html")
    assert (code, "cannot be recorded" in stderr) == (2, True)
    assert not list(tmp_path.glob("r*"))
    with pytest.raises(InputError, match="cannot be read"):
        chosen_release.settle(at / "a", None)


def test_a_statement_on_the_card_holds_until_another_is_compared(at, command, tmp_path):
    looked(at, "b")
    code, out, stderr = command("card", "write", at / "a", "--choice", "all", "--with", at / "b", "--json")
    assert (code, json.loads(out)["epsilon"]) == (0, 1.5), stderr
    assert folder.load_release(at / "a").card["epsilon"] == 0.5
    assert chosen_release.settle(at / "a", None)["epsilon"] == 1.5
    code, _, stderr = command("report", at / "a", "--publishable", "--out", tmp_path / "p.html")
    assert (code, "epsilon 1.5" in (tmp_path / "p.html").read_text()) == (0, True)
    looked(at, "c")
    with pytest.raises(UsageError, match="say how"):
        chosen_release.settle(at / "a", None)
    code, out, _ = command("card", "write", at / "a", "--choice", "before", "--json")
    assert json.loads(out)["epsilon"] == 0.5


def decided(at):
    return chosen_release.settle(at / "a", "private", candidates=[at / "c"], paid=at / "paid.json")


def test_every_purchase_of_counts_since_the_first_candidate_counts(at):
    """Counts that were bought and not named may have been looked at: card and ledger agree on what the choice took."""
    asked = {"schema": SCHEMA, "delta": 1e-6, "dataset": "club"}
    for _ in range(3):
        synth.statistics(at / "real.csv", ask=["count:age"], epsilon=0.25, **asked)
    card = decided(at)
    assert [(c["epsilon"], c["what"]) for c in card["selection"]["charges"]] == [
        (2.0, "run"),
        (20.0, "choice"),
        *[(0.25, "choice")] * 3,
    ]
    assert verify.check(card).epsilon == card["epsilon"] == 23.25
    (total,) = Ledger().summary("club")
    assert total.epsilon == card["epsilon"] + 1.0, "but for the run that no one compared"


LIES = {
    "own epsilon": (lambda c: c.update(epsilon=0.5), "add up to"),
    "a candidate left out": (lambda c: c["selection"]["charges"].pop(0), "add up to"),
    "the choice left out": (lambda c: c["selection"]["charges"].pop(), "does not count what that cost"),
    "a candidate twice": (lambda c: c["selection"]["charges"].append(c["selection"]["charges"][0]), "twice"),
    "a smaller own part": (lambda c: c["selection"]["of_which_this_run"].update(epsilon=0.1), "add up to"),
    "a smaller sum with its part": (
        lambda c: (c.update(epsilon=22.1), c["selection"]["of_which_this_run"].update(epsilon=0.1)),
        "above the",
    ),
    "delta": (lambda c: c.update(delta=1e-6), "parts take more|its delta"),
    "no statement of the parts": (
        lambda c: [c["selection"].pop(n) for n in ("charges", "of_which_this_run")],
        "counts its own run alone",
    ),
    "a fixed run that counts others": (lambda c: c["selection"].update(how="before"), "yet says"),
}


@pytest.mark.parametrize("lie", LIES)
def test_the_check_finds_every_lie_about_the_choice(at, lie):
    card = json.loads(json.dumps(decided(at)))
    verify.check(card)
    LIES[lie][0](card)
    with pytest.raises(InputError, match=LIES[lie][1]):
        verify.check(card)


def test_the_ledger_tells_a_card_that_counts_lines_of_its_own_making(at, command, tmp_path):
    made_up = Guarantee(unit="row", relation="add_remove", epsilon=0.1, delta=1e-9)
    card = choice.chosen(decided(at), "all", [Charge(number=2, hash="0" * 64, guarantee=made_up)])
    verify.check(card)
    (tmp_path / "card.json").write_text(json.dumps(card))
    code, _, stderr = command("card", "check", tmp_path / "card.json", "--ledger", Ledger().path)
    assert (code, "line 2 of this ledger" in stderr) == (2, True)


def test_other_relations_do_not_add_up(at, tmp_path):
    usual = {"method": "independent", "num_rows": 20, "delta": 1e-6, "dataset": "club"}
    ran(at / "real.csv", SCHEMA, out=tmp_path / "z", relation="zero_out", **usual)
    for others in (["a"], []):
        with pytest.raises(InputError, match="do not add up"):
            chosen_release.settle(tmp_path / "z", "all" if others else "releases", candidates=[at / b for b in others])
    assert chosen_release.settle(tmp_path / "z", "before")["epsilon"] == 1.0


def release(place, frame, schema=SCHEMA):
    """A folder with a synthetic table and its description, as a run writes them."""
    place.mkdir()
    frame.to_csv(place / "synthetic.csv", index=False)
    (place / "schema.json").write_text(schema.to_json())
    return place


def test_the_nearer_table_has_the_smaller_distance(tmp_path):
    """At epsilon 20 a count of 4,000 rows errs by about one: the other table misses the column by half of them."""
    frame = small_frame(4000)
    near = release(tmp_path / "near", small_frame(4000))
    far = release(tmp_path / "far", frame.assign(sex=frame["sex"].iloc[0]))
    asked = questions(SCHEMA, ["sex", "region"])
    assert asked == ["count:sex*region"]
    result = statistics(
        frame, schema=SCHEMA, ask=asked, epsilon=20.0, delta=1e-5, dataset="d", ledger=tmp_path / "ledger.sqlite"
    )
    (tmp_path / "paid.json").write_text(json.dumps(result.plain()))
    one, other = distances(tmp_path / "paid.json", [near, far])
    assert one < 0.05
    assert other > 0.3


def test_a_pair_too_large_to_be_counted_is_asked_about_column_by_column():
    facts = {"type": "integer", "min": 0, "max": 255}
    wide = synth.Schema.parse({"columns": {"a": facts, "b": facts}})
    assert MOST_CELLS < 256**2
    assert questions(wide, ["a", "b"]) == ["count:a", "count:b"]


def test_columns_that_the_releases_describe_differently_are_not_shared_and_refused(tmp_path):
    plain = json.loads(SCHEMA.to_json())
    plain["columns"]["sex"]["categories"] = [*plain["columns"]["sex"]["categories"][::-1]]
    first = release(tmp_path / "a", small_frame(10))
    second = release(tmp_path / "b", small_frame(10), synth.Schema.parse(plain))
    assert set(shared([first, first])) - set(shared([first, second])) == {"sex"}
    paid = {
        "format": "facsimile-statistics/1",
        "level": 0.95,
        "card": {"epsilon": 1, "delta": 0, "relation": "x"},
        "statistics": [{"ask": "count:sex", "kind": "count", "columns": ["sex"], "cells": []}],
    }
    (tmp_path / "paid.json").write_text(json.dumps(paid))
    with pytest.raises(synth.InputError, match="describe alike"):
        distances(tmp_path / "paid.json", [first, second])
