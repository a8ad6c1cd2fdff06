"""A shared installation: who sees what, who spends, who approves, who downloads."""

import pytest

import synth
from app.run import caps
from app.session.state import view
from synth.app_api import jobs, roles
from synth.jobs.roles import Roles, Visitor
from tests.app.elements import FILE, SCHEMA, downloads, ended, keys, said, to_run, upload

pytestmark = pytest.mark.xdist_group("app")


@pytest.mark.parametrize("address", ["", "mallory@elsewhere.org"])
def test_nobody_enters_without_a_role(signed, start, address):
    signed(address)
    at = start()
    assert at.title[0].value == "Facsimile"
    assert not at.file_uploader
    assert "use_sample" not in keys(at)
    assert ("sign_in" in keys(at)) == (address == "")


def test_an_analyst_sees_released_bundles_alone(signed, start):
    signed("carl@example.org")
    at = start()
    assert at.title[0].value == "Releases"
    assert "Nothing was released yet" in said(at)
    for page in ("table", "result", "ledger", "approve"):
        with pytest.raises(ValueError, match="Could not find"):  # the page does not exist for an analyst
            at.switch_page(view(page))


def test_a_large_spend_waits_for_the_reviewer_and_a_release_too(signed, start, people):
    signed("ann@example.org")
    at = to_run(upload(start(), people, SCHEMA))
    assert "Ask a reviewer" in at.button(key="spend").label
    at.button(key="spend").click().run()
    assert "Waiting for a reviewer" in said(at) + str([p.text for p in at.get("progress")])
    job = jobs.Job(at.session_state["wizard"].job)
    assert job.status().state == "held"
    assert {e.kind for e in synth.Ledger().entries("club")} == {"policy"}, "the cap alone; nothing is spent"

    signed("bob@example.org")
    reviewer = start()
    assert reviewer.title[0].value == "Approve"
    assert "asked by ann@example.org" in said(reviewer)
    reviewer.button(key="approve_0").click().run()

    signed("ann@example.org")
    ended(at)
    spend = next(e for e in synth.Ledger().entries("club") if e.kind == "spend")
    assert spend.approved_by == "bob@example.org"
    at.switch_page(view("result")).run()
    assert "bundle" not in downloads(at)
    at.button(key="ask_release").click().run()

    signed("bob@example.org")
    reviewer.run()
    reviewer.button(key="release_0").click().run()
    signed("carl@example.org")
    analyst = start()
    assert "Download the bundle (.zip)" in downloads(analyst)


def test_one_steward_does_not_see_another_s_tables_and_runs(signed, start, people):
    signed("ann@example.org")
    upload(start(), people, SCHEMA)
    job = jobs.create(
        {
            "table": "t.csv",
            "label": "Anns table",
            "dataset": "club",
            "epsilon": 1.0,
            "method": "mixture",
            "owner": "ann@example.org",
        }
    )
    job.write(jobs.Status(state="done"))
    signed("eve@example.org")
    at = start()
    assert "Anns table" not in said(at)
    assert "people.csv" not in said(at)
    assert "open_latest" not in keys(at)


def test_rules_of_a_dataset():
    rules = Roles(
        approval={"epsilon_above": 1.0}, datasets={"secret": {"may_spend": ["eve@x.org"], "epsilon_above": 0.1}}
    )
    ann, eve = (Visitor(name=f"{n}@x.org", role="steward") for n in ("ann", "eve"))
    assert rules.may_spend(ann, "club")
    assert not rules.may_spend(ann, "secret")
    assert rules.may_spend(eve, "secret")
    assert not rules.may_spend(Visitor(name="bob@x.org", role="reviewer"), "club")
    assert rules.needs_approval("secret", 0.2)
    assert not rules.needs_approval("club", 1.0)


def test_the_file_of_roles_sets_the_budget_and_the_ledger_keeps_it(signed, start, people, home):
    (home / "roles.toml").write_text(FILE + "[datasets.club]\nmax_epsilon = 0.4\n")
    signed("ann@example.org")
    at = upload(start(), people, SCHEMA)
    at.session_state["wizard"].method = "independent"
    at.button(key="onward").click().run()
    assert "leaves epsilon 0.4" in said(at)
    assert "set by the file of roles" in said(at)
    assert not {"spend", "set_cap"} & keys(at), "neither the way on nor a cap of one's own"
    assert synth.Ledger().policy("club") is None, "a page that is looked at writes nothing"
    synth.Ledger().set_policy(
        "club", max_epsilon=9.0
    )  # beside the application: the file's holds again at the next spend
    at.number_input(key="epsilon_number").set_value(0.3).run()
    held = caps.of("club")
    assert (held.cap, held.left) == (0.4, 0.4), "what holds is told, not what the ledger says until then"
    at.button(key="spend").click().run()
    ended(at)
    assert synth.Ledger().policy("club").approved_by == "file of roles"
    assert synth.Ledger().summary("club")[0].remaining_epsilon == pytest.approx(0.1)
    at.switch_page(view("ledger")).run()
    assert "cap_set" not in keys(at)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[budget]\nmax_epsilon = 0", "budget.max_epsilon: must be greater than 0"),
        ("[datasets.club]\nmax_delta = 1", "datasets.club.max_delta: must be less than 1"),
        ("[datasets.club]\nmax_epsilons = 1", "datasets.club.max_epsilons: is not known here"),
        ("[budgets]\nmax_epsilon = 1", "budgets: is not known here"),
        ("datasets = 3", "datasets: must be a valid dictionary"),
        ("roles = 3 = 4", "not a TOML file"),
        ("[roles]\nking = ['a']", "roles.king: is not known here"),
        ("[roles]\nsteward = 'ann'", "roles.steward: must be a valid list"),
        ("[approval]\nepsilon_above = 'much'", "epsilon_above"),
        ("[approval]\nepsilon_above = nan", "approval.epsilon_above: must be a finite number"),
        ("[datasets.club]\nepsilon_above = nan", "datasets.club.epsilon_above: must be a finite number"),
        ("[approval]\nepsilon_above = inf", "approval.epsilon_above: must be a finite number"),
    ],
)
def test_a_faulty_file_of_roles_is_refused(tmp_path, text, words):
    place = tmp_path / "roles.toml"
    place.write_text(text)
    with pytest.raises(synth.InputError, match=words):
        roles.load(place)
