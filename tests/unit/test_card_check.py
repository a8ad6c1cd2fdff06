"""The card check derives epsilon by itself and finds every figure that was tampered with; forms are valid."""

import copy
import json
from math import sqrt
from pathlib import Path

import jsonschema
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.privacy.accounting.gaussian import derived_epsilon
from synth.release.card import model, verify
from synth.release.card.card import CHOICES, Card, selection
from synth.report import card_page
from synth.report.documents import pack
from tests.conftest import SMALL, small_frame
from tests.made import ran
from tests.unit.small_release import small_release  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def card(folder):
    return copy.deepcopy(verify.load(folder))


@pytest.mark.parametrize(("mu", "delta"), [(0.1, 1e-6), (0.268, 1e-5), (1.3, 1e-5), (4.0, 1e-3)])
def test_its_own_derivation_agrees_with_the_accountant(mu, delta):
    reported = verify.derive([{"name": "a", "sensitivity": mu, "sigma": 1.0, "count": 1}], delta)
    assert reported == pytest.approx(derived_epsilon(mu, delta), rel=1e-6)


def test_mechanisms_compose_by_their_squares():
    one = {"name": "a", "sensitivity": 1.0, "sigma": 10.0, "count": 1}
    many = [{**one, "count": 3}, {**one, "sigma": 10 / sqrt(2)}]
    assert verify.derive(many, 1e-5) == pytest.approx(derived_epsilon(sqrt(5) / 10, 1e-5), rel=1e-6)


def test_a_laplace_mechanism_has_the_epsilon_of_its_scale():
    reported = verify.derive([{"name": "a", "sensitivity": 1.0, "scale": 2.0, "count": 1}], 1e-9)
    assert reported == pytest.approx(0.5, rel=0.01)


def test_a_run_has_a_card_that_holds(card):
    result = verify.check(card)
    assert result.epsilon == 1.0
    assert 0.99 < result.epsilon_derived <= 1.0


@pytest.mark.parametrize("said", [None, "scores", {}, {"covered": True}], ids=str)
def test_a_card_that_does_not_say_how_it_was_chosen_is_refused_when_it_is_read(card, said):
    with pytest.raises(InputError, match="`selection`"):
        Card({**card, "selection": said})


def tampered():
    def mechanism(**more):
        return lambda c: c["mechanisms"][0].update(more)

    return {
        "a smaller epsilon": (lambda c: c.update(epsilon=0.5), "above the 0.5"),
        "a smaller delta": (lambda c: c.update(delta=1e-7), "above the 1 "),
        "less noise": (lambda c: mechanism(sigma=c["mechanisms"][0]["sigma"] / 2)(c), "above the 1 "),
        "more noise": (lambda c: mechanism(sigma=c["mechanisms"][0]["sigma"] * 2)(c), "states a derived epsilon"),
        "a mechanism left out": (lambda c: c["mechanisms"].pop(), "states a derived epsilon"),
        "a count raised": (lambda c: mechanism(count=50)(c), "above the 1 "),
        "a milder meaning": (lambda c: c.update(meaning=synth.app_api.meaning(0.1)), "plain-language meaning"),
        "another relation": (lambda c: c.update(relation="replace_one"), "has sensitivity 1, but"),
        "several rows of a person": (lambda c: c.update(unit="id", max_rows_of_a_unit=3), "has sensitivity 1, but 3"),
        "a reserve cut": (lambda c: c["accountant"].update(delta_reserved_for_sampler=0.0), "kept for the noise"),
        "seeded noise": (lambda c: c.update(noise_source="SEEDED, for tests only"), "seeded"),
        "no mechanism": (lambda c: c.update(mechanisms=[]), "mechanisms"),
        "no noise told": (lambda c: c["mechanisms"][0].pop("sigma"), "needs either sigma"),
        "an infinite epsilon": (lambda c: c.update(epsilon=float("inf")), "epsilon"),
        "a mechanism as text": (lambda c: mechanism(sigma="ten")(c), "sigma"),
    }


@pytest.mark.parametrize("name", tampered())
def test_whatever_is_tampered_with_is_found(card, name):
    change, words = tampered()[name]
    change(card)
    with pytest.raises(InputError, match="the card does not hold") as reported:
        verify.check(card)
    assert words in str(reported.value)
    assert "\n" not in str(reported.value)


def test_a_schema_learnt_before_is_added(tmp_path):
    table = tmp_path / "real.csv"
    small_frame(2000).to_csv(table, index=False)
    plain = {"columns": {"age": {"type": "integer"}, "sex": {"type": "boolean", "categories": ["f", "m"]}}}
    given = {"dataset": "d", "ledger": tmp_path / "ledger.sqlite"}
    learnt = synth.learn_schema(
        table, schema=synth.Schema.parse(plain, complete=False), epsilon=1.0, delta=1e-6, **given
    )
    about = synth.run(table, schema=learnt, epsilon=1.0, delta=1e-5, **given).card
    assert verify.check(about).epsilon == 2.0
    about["of_which_schema"]["epsilon"] = 0.5
    with pytest.raises(InputError, match="does not hold"):
        verify.check(about)


def test_a_person_as_unit_and_a_public_row_count_hold(tmp_path):
    table = tmp_path / "real.csv"
    small_frame(400).to_csv(table, index=False)
    for relation, unit in (("zero_out", None), ("replace_one", None), ("add_remove", "id")):
        asked = {"dataset": relation, "ledger": tmp_path / "l", "separate": True, "unit": unit}
        about = ran(table, SMALL, relation=relation, max_rows=3 if unit else None, **asked).card
        assert verify.check(about).epsilon == 1.0
    assert verify.derive(about["mechanisms"], 1e-5) <= 1.0


def test_the_published_json_schema_is_that_of_the_model_and_cards_fit_it(card):
    published = json.loads((ROOT / "synth" / "release" / "card" / "card_schema.json").read_text())
    assert published == model.json_schema()
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(card, published)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({k: v for k, v in card.items() if k != "relation"}, published)


TEXT = {"type": "string", "minLength": 1}
LABEL = {"type": "string"}


def one_of(*values: object) -> dict:
    return {"enum": [*values]}


def list_of(items: dict) -> dict:
    return {"type": "array", "items": items}


def closed(**fields: dict) -> dict:
    return {"type": "object", "additionalProperties": False, "required": [*fields], "properties": fields}


REGISTRY = closed(
    deployment=closed(
        basic=closed(
            **dict.fromkeys(["name", "description"], TEXT),
            **dict.fromkeys(["intended_use", "data_product_region", "data_product_sector"], LABEL),
            data_product_type={"const": "Synthetic data"},
            publication_date={"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
            data_curators=list_of(closed(data_curator_name=TEXT, data_curator_type=LABEL)),
        ),
        dp_variant=closed(
            variant_name=one_of("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP"),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=closed(
            **dict.fromkeys(["privacy_unit", "privacy_unit_details", "privacy_parameters_details"], TEXT),
            privacy_parameters=closed(epsilon={"type": "number"}, delta={"type": "number"}),
        ),
        deployment_model=closed(
            **dict.fromkeys(["trust_assumptions", "actors", "release_type_details"], TEXT),
            model_name=one_of("Central", "Local", "Shuffle", "Federated"),
            release_type=one_of("One release", "Many releases"),
            data_source_type=one_of("Static", "Dynamic"),
            access_type=one_of("Interactive", "Non-interactive"),
        ),
        implementation=closed(
            **dict.fromkeys(["mechanisms", "composition", "post_processing"], TEXT),
            preprocessing_and_hyperparameter_tuning=TEXT,
            justification=LABEL,
        ),
        administrative=closed(
            status=TEXT, registry_authors=list_of(TEXT), tier=one_of(1, 2, 3), evidence_sources={"type": "object"}
        ),
    )
)


def test_the_registry_record_has_the_fields_of_tiers_one_to_three(card):
    reported = pack.registry(card)
    jsonschema.validate(reported, REGISTRY)
    loss = reported["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-5}
    assert "add_remove" in loss["privacy_unit_details"]
    assert "kind, bounds, categories" in reported["deployment"]["dp_variant"]["unprotected_quantities"]


def test_statements_that_a_card_makes_are_kept_and_invariants_follow_from_it(card):
    card["trust"] = "ours"
    card["rows"]["source_count"] = "public"
    reported = Card({**card, "invariants": []})
    assert reported["trust"] == "ours"
    assert any("number of rows" in i["what"] for i in reported["invariants"])


def test_a_selection_by_scores_is_marked_and_others_are_not():
    assert selection("scores")["mark"] == "selection not covered"
    assert all("mark" not in selection(how) for how in CHOICES if how != "scores")
    with pytest.raises(UsageError, match="say one of"):
        selection("dice")


def test_the_card_is_written_for_people(command, folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "r")
    command.done(f"card write {tmp_path}/r --name", "A | name", "--curator", "Town <hall>", "--sector", "Health")
    text, page = (tmp_path / "r" / "card.md").read_text(), (tmp_path / "r" / "card.html").read_text()
    assert "A \\| name" in text
    assert "Town &lt;hall&gt;" in page
    for words in ("whom it protects", "Taken as public", "tuning", "floating point", "a guess of 50:50", "Mechanisms"):
        assert words in text
        assert words in page
    assert json.loads((tmp_path / "r" / "card.json").read_text())["registry"]
    code, out, _ = command(f"card write {tmp_path}/r --choice scores --ledger {folder.parent}/ledger.sqlite")
    assert (code, out.splitlines()[0]) == (0, "selection not covered")
    assert "selection not covered" in (tmp_path / "r" / "card.html").read_text()


def test_the_command_fails_in_one_line(command, folder, tmp_path):
    code, out, _ = command("card", "check", folder, "--json")
    assert (code, json.loads(out)["ok"]) == (0, True)
    bad = {**verify.load(folder), "epsilon": 0.7}
    (tmp_path / "card.json").write_text(json.dumps(bad))
    code, out, stderr = command("card", "check", tmp_path / "card.json")
    assert (code, out, stderr.count("\n")) == (2, "", 1)
    for content in ("[]", "{", "{}"):
        (tmp_path / "card.json").write_text(content)
        assert command("card", "check", tmp_path)[0] == 2
    assert command("card", "check", tmp_path / "absent")[0] == 2


def test_shares_of_the_budget_add_up(card):
    assert sum(card.shares.values()) == pytest.approx(1)
    assert card.shares["tables"] > 0
    assert card_page.render_html(card).count("share of the noise budget") == 1
