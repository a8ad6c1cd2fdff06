"""Actions x roles: every action, for every role, is refused by the server where the table says no."""

import json
import os
from functools import partial
from pathlib import Path

import pytest

import synth
from app.result import asking, comparison, export, more, papers, releasing
from app.run import caps, forecast, prior, runs
from app.session import access, frame
from app.session.state import TITLES, Wizard, view
from app.table import database, intake, stored
from synth import jobs
from synth.jobs import looks, roles
from synth.jobs.roles import ACTIONS, ANY, OTHERS, OWN, ROLES
from tests.app.elements import SCHEMA, said

pytestmark = pytest.mark.xdist_group("app")
APP = Path(access.__file__).parents[1]
TRIED = 534  # calls beyond a role
PEOPLE = {
    "steward": "ann@example.org",
    "reviewer": "bob@example.org",
    "asker": "dora@example.org",
    "analyst": "carl@example.org",
}
FILE = """
[roles]
steward = ["ann@example.org", "eve@example.org"]
reviewer = ["bob@example.org"]
asker = ["dora@example.org"]
analyst = ["carl@example.org"]
[approval]
epsilon_above = 5.0
"""


def table_of(owner: str) -> Wizard:
    """A stored upload of somebody's, described, as his session holds it."""
    place = stored.new_place(owner)
    (place / "people.csv").write_text("age,team,city\n20,a,Rome\n21,b,Oslo\n")
    plain = json.loads(synth.Schema.parse(SCHEMA).to_json())
    (place / "wizard.json").write_text(
        json.dumps({"plain": plain, "label": "people.csv", "owner": owner, "rows": 9, "suggestions": []})
    )
    return Wizard(table=place / "people.csv", place=place, label="people.csv", plain=plain, uploaded=True)


def run_of(owner: str, w: Wizard, *, state: str = "done", asked: str = "") -> jobs.Job:
    """A finished run of somebody's, with the files that a result has."""
    job = jobs.create(
        {
            "table": str(w.table),
            "label": "people.csv",
            "dataset": "club",
            "epsilon": 1.0,
            "delta": 1e-5,
            "method": "mixture",
            "relation": "add_remove",
            "owner": owner,
        }
    )
    job.write(jobs.Status(state=state))
    folder = job.path / "release"
    folder.mkdir()
    for name in ("synthetic.csv", "model.json", "card.json", "schema.json"):
        (folder / name).write_text("{}")
    (job.path / "result.json").write_text(
        json.dumps({"paths": {"synthetic": str(folder / "synthetic.csv")}, "num_rows": 2})
    )
    (job.path / comparison.PAGE).write_text("exact shares of real rows")
    if asked:
        (job.path / releasing.ASKED).write_text(json.dumps({"by": asked}))
    return job


def question_of(job: jobs.Job):
    """A question about this run, asked by whoever made it; the same one each time."""
    held = [a for a in jobs.asked.listing() if a.job == job.path.name]
    by = job.request()["owner"]
    return held[0] if held else jobs.asked.ask(by=by, why="x", job=job, questions={"kind": "count"}, epsilon=0.1)


def reported(w: Wizard) -> dict:
    return json.loads((w.place / "wizard.json").read_text())


class Upload:
    """What a page hands over for a file."""

    name, file_id, closed = "people.csv", "x", True

    def read(self, _size: int = -1) -> bytes:
        return b""


def deeds(w: Wizard, job: jobs.Job) -> dict:
    """The functions behind the buttons, for each action, on somebody's table and run."""
    place, path = job.path / "release", str(job.path)
    question = question_of(job)
    return {
        **{f"open_{page}": partial(frame.head, page, "") for page in TITLES},
        "take_sample": intake.sample,
        "send_file": partial(access.allow, "send_file"),  # the server's gate; see test_door.py
        "upload": lambda: intake.uploaded(Upload(), None, []),
        "read_offered": lambda: intake.from_server(Path(os.environ["SYNTH_TABLES"]) / "offered.csv", None, []),
        "read_path": lambda: intake.from_server("/etc/passwd", None, []),
        "list_database": lambda: stored.allow_database("list_database", "@census"),
        "read_database": lambda: each(
            lambda: intake.from_database("@census", "people", None, []),
            lambda: intake.from_database("@census", None, None, []),
        ),
        "read_address": lambda: intake.from_database("duckdb:///etc/passwd", "people", None, []),
        "resume_table": lambda: stored.resume(Wizard(), w.place, w.table, reported(w)),
        "remove_table": lambda: stored.remove(w.place),
        "use_table": lambda: stored.allow_table("use_table", w.table, None),
        "describe": partial(access.allow, "describe"),
        "draft": lambda: intake.redraft(w, {}),
        "add_prior": lambda: each(
            lambda: prior.add_place(w, "/etc/hosts", why="x", who="x"),
            lambda: prior.add_file(w, Upload(), why="", who=""),
        ),
        "preview": lambda: prior.preview(w),
        "learn": lambda: runs.learn(w, ["age"], epsilon=0.1, delta=1e-6),
        "forecast": lambda: forecast.planned(w),
        "set_cap": lambda: caps.put("club", 9.0),
        "spend": lambda: runs.start(w),
        "watch": lambda: access.job("watch", path),
        "cancel": lambda: runs.cancel(job),
        "compare": lambda: each(partial(comparison.make, [job]), partial(comparison.start_report, job, place)),
        "refit": lambda: runs.refit(job, method="mixture", options={}),
        "decide": lambda: runs.decide(job, [job], ["tables"], epsilon=0.1, delta=1e-6),
        "state_choice": lambda: releasing.state_choice([job], "before"),
        "ask_release": lambda: releasing.ask(job),
        "release": lambda: releasing.release_all(job),
        "take_result": lambda: export.packed(job, place),
        "write_papers": lambda: papers._save(job, {"file": "", "asks": []}),
        "draw": lambda: more._draw(job, place, 5, {}, several=False),
        "write_out": lambda: more.allow_outlet(job, "@census"),
        "approve_spend": lambda: runs.approve(job),
        "refuse_spend": lambda: runs.refuse(job),
        "take_released": lambda: export.packed(job, place, "take_released"),
        "ask_question": lambda: asking.ask(job, {"kind": "count"}, epsilon=0.1, why="x"),
        "withdraw_question": lambda: asking.withdraw(question),
        "read_answer": lambda: asking.part(question, "answer.json"),
        "answer_question": lambda: asking.answer(question, epsilon=0.1),
        "decline_question": lambda: asking.decline(question, "x"),
        "set_reserve": lambda: asking.reserve("club", 0.1),
        "read_ledger": lambda: caps.datasets_seen(["club"]),
        "read_any_dataset": partial(access.allow, "read_any_dataset"),
        "compose": partial(access.allow, "compose"),
        "verify_ledger": partial(access.allow, "verify_ledger"),
    }


def each(first, *others):
    """Does all of it; the others must be refused as the first is, whose error is the answer."""
    for deed in others:
        with pytest.raises(synth.UsageError, match=r"may not|somebody else's|nobody without a role"):
            deed()
    first()


def traces(home: Path) -> set:
    """Everything on the disk, with sizes and times."""
    return {(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in home.rglob("*") if p.is_file()}


def test_every_action_is_refused_to_every_role_that_may_not(signed, home, monkeypatch):
    """All actions of the table x (nobody, stranger, four roles) x (own things, others' things), called directly."""
    offered = home / "tables"
    offered.mkdir()
    (offered / "offered.csv").write_text("age\n20\n")
    monkeypatch.setenv("SYNTH_TABLES", str(offered))
    (home / "sources.toml").write_text(f'[census]\naddress = "duckdb:///{home}/d.duckdb"\nmay_write = true\n')
    monkeypatch.setenv("SYNTH_SOURCES", str(home / "sources.toml"))
    tried = 0
    visitors = [("nobody", ""), ("stranger", "mallory@elsewhere.org"), *PEOPLE.items()]
    for role, address in visitors:
        for owner in {address or "ann@example.org", "eve@example.org"}:
            w = table_of(owner)
            job = run_of(owner, w, state="held", asked=owner)
            assert set(deeds(w, job)) == set(ACTIONS), "every row of the table is walked"
            signed(address)
            for action, deed in deeds(w, job).items():
                if roles.may(role, action, name=address, owner=owner):  # as the test below has it
                    continue
                before = traces(home)
                with pytest.raises(synth.UsageError, match=r"may not|somebody else's|nobody without a role"):
                    deed()
                assert traces(home) == before, (role, action, "a refusal leaves everything as it was")
                tried += 1
    assert tried == TRIED, "docs/reliability.md tells this figure"
    assert not synth.Ledger().entries()


def test_the_table_says_what_a_visitor_may():
    for action, row in ACTIONS.items():
        for role, right in zip(ROLES, row.rights, strict=True):
            who = synth.app_api.roles.Visitor(name="" if role == "alone" else "x@example.org", role=role)
            assert who.may(action, who.name) == (right in (ANY, OWN)), (role, action)
            assert who.may(action, "y@example.org") == (right in (ANY, OTHERS)), (role, action)
        assert not synth.app_api.roles.Visitor(name="", role="steward").may(action, "") or row.rights[1] == ANY
    with pytest.raises(KeyError):
        synth.app_api.roles.Visitor().may("fly")


@pytest.mark.parametrize("page", ["privacy", "result"])
def test_a_session_that_names_somebody_else_s_run_shows_nothing_of_it(signed, start, page):
    w = table_of("eve@example.org")
    job = run_of("eve@example.org", w)
    signed("ann@example.org")
    at = start()
    at.session_state["wizard"].job = job.path
    at.session_state["wizard"].table, at.session_state["wizard"].label = w.table, "Eves secret.csv"
    at.session_state["wizard"].plain, at.session_state["wizard"].place = w.plain, w.place
    at.switch_page(view(page)).run()
    assert not at.exception
    summary = said(at) + str([b.label for b in at.get("download_button")])
    assert "Eves secret" not in summary
    assert job.path.name not in summary
    assert at.session_state["wizard"].job is None
    assert at.session_state["wizard"].table is None
    assert not at.get("download_button")


def test_all_scored_runs_leave_together_with_a_reviewer_or_not_at_all(signed):
    ann, eve, bob = "ann@example.org", "eve@example.org", "bob@example.org"
    mine = [run_of(ann, table_of(ann)) for _ in range(2)]
    hers = run_of(eve, table_of(eve))
    for job in (*mine, hers):
        looks.look(job)
    looks.choose([mine[0]], "scores")
    signed(ann)
    with pytest.raises(synth.UsageError, match="may not"):
        releasing.release_all(mine[0])
    for one in releasing.mine(mine[0]):
        releasing.ask(one)
    assert [releasing.asked(j) for j in (*mine, hers)] == [ann, ann, None], "another steward's run is not asked for"
    signed(bob)
    with pytest.raises(synth.UsageError, match="somebody else asked"):
        releasing.release_all(mine[0])
    assert not any(looks.released(j) for j in (*mine, hers)), "all of them or none"
    signed(eve)
    for one in releasing.mine(hers):
        releasing.ask(one)
    signed(bob)
    releasing.release_all(mine[0], seen=releasing.to_sign(mine[0]))
    assert {looks.released(j)["approved_by"] for j in (*mine, hers)} == {bob}
    assert [looks.released(j)["by"] for j in (*mine, hers)] == [ann, ann, eve]
    assert not looks.barrier(mine[0])


def card_of_less(job):
    (job.path / "release" / "card.json").write_text('{"epsilon": 1}')


def one_file_more(job):
    (job.path / "release" / "report.html").write_text("more")


def a_link(job):
    file = job.path / "release" / "synthetic.csv"
    file.rename(job.path / "elsewhere.csv")
    file.symlink_to(job.path / "elsewhere.csv")


def nothing(job):
    pass


@pytest.mark.parametrize("change", [card_of_less, one_file_more, a_link, nothing])
def test_a_signature_is_bound_to_what_was_shown(signed, change):
    """Changed before the decision, a release is not signed; changed after it, it does not leave."""
    ann, bob = "ann@example.org", "bob@example.org"
    early, late = (run_of(ann, table_of(ann)) for _ in range(2))
    signed(ann)
    for job in (early, late):
        looks.choose([job], "before")
        releasing.ask(job)
    signed(bob)
    seen = {job: releasing.to_sign(job) for job in (early, late)}
    change(early)
    if change is nothing:
        releasing.release_all(early, seen=seen[early])
        assert releasing.allow("take_released", early)
        return
    with pytest.raises(synth.UsageError, match="changed since"):
        releasing.release_all(early, seen=seen[early])
    assert looks.released(early) is None
    releasing.release_all(late, seen=seen[late])
    change(late)
    with pytest.raises(synth.UsageError, match="changed after"):
        releasing.allow("take_released", late)


def test_papers_and_choice_are_signed_as_they_are_and_nobody_writes_under_it(signed):
    ann, bob = "ann@example.org", "bob@example.org"
    job, later = (run_of(ann, table_of(ann)) for _ in range(2))
    signed(ann)
    looks.choose([job], "releases")
    releasing.ask(job)
    signed(bob)
    releasing.release_all(job, seen=releasing.to_sign(job))
    form = papers.store(job)
    form.parent.mkdir(parents=True, exist_ok=True)
    form.write_text(json.dumps({"answers": {"contact": "written later"}, "unfinished": ["documents/dpia.html"]}))
    answers, unfinished = papers.read(job)
    assert (answers.get("contact"), answers["approver"], unfinished) == (None, bob, [])
    assert papers.read(later)[0] == {"contact": "written later"}
    signed(ann)
    with pytest.raises(synth.UsageError, match="signed stands"):
        releasing.state_choice([job], "before")
    with pytest.raises(synth.UsageError, match="signed stands"):
        looks.decide(later, [job], line=1)
    signed(bob)
    assert releasing.allow("take_released", job)


def test_the_page_release_asks_a_reviewer_for_all_of_one_s_own(signed, start):
    ann = "ann@example.org"
    jobs_of_ann = [run_of(ann, table_of(ann)) for _ in range(2)]
    run = jobs_of_ann[0]
    hers = run_of("eve@example.org", table_of("eve@example.org"))
    for job in (*jobs_of_ann, hers):
        looks.look(job)
    signed(ann)
    at = start()
    assert not releasing._latest(run)
    code = f"""
from app.result import export
from synth import jobs; from synth.jobs import roles
export.may_leave(jobs.Job({str(run.path)!r}))
"""
    at = type(at).from_string(code, default_timeout=60).run()
    assert {"ask_release"} <= {b.key for b in at.button}
    assert "release_all" not in {b.key for b in at.button}
    assert "Compared too: 1 run of other stewards" in said(at)
    at.button(key="ask_release").click().run()
    assert [releasing.asked(j) for j in (*jobs_of_ann, hers)] == [ann, ann, None]
    assert not any(looks.released(j) for j in (*jobs_of_ann, hers))
    assert database.offered() == []


def test_a_steward_reads_his_own_datasets_in_the_ledger(signed, start):
    """A dataset's name is often a file's: it tells what another works on."""
    for name, actor in (("eves-clinic", "eve@example.org"), ("anns-club", "ann@example.org"), ("no-ones", None)):
        synth.Ledger().set_policy(name, max_epsilon=3.0, actor=actor)
    run_of("ann@example.org", table_of("ann@example.org"))
    synth.Ledger().set_policy("club", max_epsilon=3.0)
    shown = {}
    for person in ("ann@example.org", "eve@example.org", "bob@example.org"):
        signed(person)
        at = start().switch_page(view("ledger")).run()
        assert not at.exception
        rows = at.dataframe[0].value
        shown[person[:3]] = set(rows["Dataset"])
        assert set(at.selectbox(key="lines_of").options) == {*shown[person[:3]]}
    everything = {"eves-clinic", "anns-club", "no-ones", "club"}
    assert shown == {"ann": {"anns-club", "club"}, "eve": {"eves-clinic"}, "bob": everything}


@pytest.mark.parametrize(
    "summary",
    [
        {},
        {"email_verified": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": 1},
        {"email_verified": True, "is_logged_in": "yes"},
        {"email_verified": True, "email": None},
    ],
)
def test_an_address_counts_where_the_provider_says_that_it_verified_it(summary):
    assert access.verified_address({"is_logged_in": True, "email": "ann@example.org", **summary}) == ""
    assert access.verified_address({"is_logged_in": True, "email": "Ann@example.org", "email_verified": True}) == (
        "ann@example.org"
    )


def test_the_documented_table_is_the_code_s():
    assert "python -m synth.jobs.roles" in (APP.parent / "docs" / "reliability.md").read_text()
    assert f"{TRIED} of these calls are beyond a role" in (APP.parent / "docs" / "reliability.md").read_text()
