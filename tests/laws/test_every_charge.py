"""Whatever became of a run, its charge enters every sum of its dataset unless nothing was answered; no other ledger
is asked."""

import json
import os
import shutil
import zipfile

import pandas as pd
import pytest

import synth
from synth.errors import SpentError, SynthError, UsageError
from synth.jobs import Cancelled
from synth.mechanisms import counts
from synth.pipeline import charge as charging
from synth.pipeline import run
from synth.pipeline.charge import ChargedRun
from synth.pipeline.prepare import Context
from synth.pipeline.statistics import statistics
from synth.privacy.ledger.ledger import ANSWERED, Ledger
from synth.release import dialect_copy
from synth.report import chosen_release
from tests.conftest import SMALL, small_frame
from tests.made import a_key, several
from tests.unit.privacy.charges import charge

OWN, OTHER = 1.0, 0.25
SCHEMA = synth.Schema.parse(SMALL)
KINDS = synth.Schema.parse({"columns": {n: {"type": c["type"]} for n, c in SMALL["columns"].items()}}, complete=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, and one release of epsilon 1."""
    place = tmp_path_factory.mktemp("charged")
    small_frame(200).to_csv(place / "real.csv", index=False)
    (place / "s.json").write_text(json.dumps(SMALL))
    spend(place, epsilon=OWN, ledger=place / "l.sqlite", out=place / "own")
    return place


@pytest.fixture
def at(made, own_state):
    """The same, with a ledger of the test's own as the default."""
    for name in ("", ".key", ".mark"):
        shutil.copy(made / f"l.sqlite{name}", own_state / f"ledger.sqlite{name}")
    return made


def spend(at, *, epsilon=OTHER, **more):
    asked = {"schema": SCHEMA, "delta": 1e-6, "dataset": "club", "method": "independent", "num_rows": 20, "seed": 1}
    return synth.run(at / "real.csv", epsilon=epsilon, **asked | more)


def failing(error, after=None):
    """In the place of a function: it fails, once what it stands for is done where that is given."""

    def struck(*arguments, **options):
        if after is not None:
            after(*arguments, **options)
        raise error

    return struck


def strike(monkeypatch, owner, name, error, *, done=False):
    monkeypatch.setattr(owner, name, failing(error, getattr(owner, name) if done else None))


def struck_run(owner, name, error, *, done=False, **more):
    """A run in which that function fails: SpentError or the cancellation, in one process."""

    def end(at, out, monkeypatch):
        strike(monkeypatch, owner, name, error, done=done)
        with pytest.raises(SpentError):
            spend(at, out=out, **more)

    return end


def killed(owner, name, *, done=False):
    """A run whose process is gone in that function: nobody records its end."""

    def end(at, out, _):
        if (child := os.fork()) == 0:
            try:
                original = getattr(owner, name)

                def struck(*arguments, **options):
                    if done:
                        original(*arguments, **options)
                    os._exit(9)

                setattr(owner, name, struck)
                spend(at, out=out)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

    return end


def unrecorded(at, out, monkeypatch):
    """Nothing was answered, but the ledger does not say so."""
    monkeypatch.setattr(Ledger, "outcome", failing(OSError(28, "no space left")))
    struck_run(ChargedRun, "_table", OSError(5, "broken"))(at, out, monkeypatch)


def refused(at, out, _):
    Ledger().set_policy("club", max_epsilon=1.1)
    with pytest.raises(synth.BudgetError):
        spend(at, out=out)


def failed_before(at, out, _):
    with pytest.raises(UsageError):
        spend(at, out=out, method="dice")


def learnt(at, *_):
    synth.learn_schema(at / "real.csv", schema=KINDS, epsilon=OTHER, delta=1e-6, dataset="club")


def counted(at, *_):
    statistics(at / "real.csv", schema=SCHEMA, ask=["count:sex"], epsilon=OTHER, delta=1e-6, dataset="club")


def two_ends(*_):
    """One says that nothing was answered, one that the run was done: the larger charge is believed."""
    book = Ledger()
    run = book.spend(charge(OTHER, dataset="club", delta=1e-6)).run
    book.outcome(run, state="failed", detail={ANSWERED: False})
    book.outcome(run, state="done", detail={})


DISK, BREAK, STOP = OSError(28, "no space left"), KeyboardInterrupt(), Cancelled()
# how a run of the same dataset ended; and whether its charge enters the sums: None where there is none
ENDS = {
    "finished": (lambda at, out, _: spend(at, out=out), True),
    "finished without a folder": (lambda at, *_: spend(at), True),
    "refused by the policy": (refused, None),
    "failed before the spend": (failed_before, None),
    "failed while reading": (struck_run(ChargedRun, "_table", DISK), False),
    "cancelled while reading": (struck_run(ChargedRun, "_table", STOP), False),
    "killed while reading": (killed(ChargedRun, "_table"), True),
    "failed while reading, unrecorded": (unrecorded, True),
    "failed before the first answer": (struck_run(charging, "setting", DISK, done=True), False),
    "failed in the first answer": (struck_run(counts, "answer", DISK), True),
    "cancelled in the first answer": (struck_run(counts, "answer", STOP, done=True), True),
    "failed in the fit": (struck_run(run, "fit_and_sample", MemoryError()), True),
    "interrupted in the fit": (struck_run(run, "fit_and_sample", BREAK), True),
    "failed before the folder": (struck_run(run, "write", DISK), True),
    "cancelled while writing": (struck_run(run.folder, "write", STOP), True),
    "interrupted in the dialect copy": (struck_run(dialect_copy, "write", BREAK, done=True), True),
    "interrupted once all is written": (struck_run(run, "write", BREAK, done=True), True),
    "killed while writing": (killed(dialect_copy, "write"), True),
    "killed once all is written": (killed(run, "write", done=True), True),
    "learnt": (learnt, True),
    "statistics": (counted, True),
    "two ends of one run": (two_ends, True),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_charge_enters_every_sum_unless_nothing_was_answered(at, end, tmp_path, monkeypatch):
    carry_out, enters = ENDS[end]
    with monkeypatch.context() as faults:
        carry_out(at, tmp_path / "other", faults)
    charged, total = enters is not None, OWN + (OTHER if enters else 0.0)
    assert Ledger().summary("club")[0].epsilon == OWN + (OTHER if charged else 0.0), "the cap counts all, always"
    for how in (None, "releases"):
        assert chosen_release.settle(at / "own", how)["epsilon"] == total, how
    if enters:
        with pytest.raises(UsageError, match="not the only candidate"):
            chosen_release.settle(at / "own", "only")
    else:
        assert chosen_release.settle(at / "own", "only")["epsilon"] == OWN
    assert chosen_release.settle(at / "own", "before")["epsilon"] == OWN


def of_zip(path):
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("card.json"))["epsilon"]


def in_the_library(release, out, how):
    synth.bundle(release, out, how=how)
    return of_zip(out)


def bundled(command, release, out, *more):
    said, _ = command.done("bundle", release, "--out", out, "--json", *more)
    assert json.loads(said)["epsilon"] == of_zip(out)
    return of_zip(out)


def stated(command, release, how):
    said, _ = command.done("card", "write", release, "--choice", how, "--json")
    assert command("card", "check", release, "--ledger", Ledger().path)[0] == 0
    return json.loads(said)["epsilon"]


def test_all_ends_together_make_one_sum_wherever_it_is_stated(at, command, tmp_path, monkeypatch):
    """Also on a card that stated its sum before the last of them was charged."""
    own = shutil.copytree(at / "own", tmp_path / "own")
    ends = {name: end for name, end in ENDS.items() if end[1] is not None}
    half = len(ends) // 2
    for number, (end, _) in enumerate(ends.values()):
        if number == half:
            stated(command, own, "releases")
        with monkeypatch.context() as faults:
            end(at, tmp_path / f"other {number}", faults)
    total = OWN + OTHER * sum(bool(enters) for _, enters in ends.values())
    assert chosen_release.settle(own, None)["epsilon"] == total, "what was charged since is in it"
    assert bundled(command, own, tmp_path / "stated.zip") == total
    assert stated(command, own, "releases") == total
    assert bundled(command, at / "own", tmp_path / "unstated.zip") == total
    assert bundled(command, at / "own", tmp_path / "releases.zip", "--choice", "releases") == total
    for how in (None, "releases"):
        assert in_the_library(at / "own", tmp_path / "l.zip", how) == total
    assert command("bundle", at / "own", "--out", tmp_path / "only.zip", "--choice", "only")[0] == 2
    code, said, _ = command("ledger", "show", "--json")
    (shown,) = json.loads(said)["datasets"]
    assert (code, shown["epsilon"]) == (0, OWN + OTHER * len(ends)), "the cap counts all of them"


SUMS = {
    "bundle": ("bundle", "{r}", "--out", "{o}.zip"),
    "bundle, chosen": ("bundle", "{r}", "--out", "{o}.zip", "--choice", "releases"),
    "bundle, before": ("bundle", "{r}", "--out", "{o}.zip", "--choice", "before"),
    "bundle, only": ("bundle", "{r}", "--out", "{o}.zip", "--choice", "only"),
    "bundle, all": ("bundle", "{r}", "--out", "{o}.zip", "--choice", "all", "--with", "{r}"),
    "card write": ("card", "write", "{r}", "--choice", "releases"),
    "card check": ("card", "check", "{r}", "--ledger", "{l}"),
    "report": ("report", "{r}", "--real", "{t}", "--out", "{o}.html"),
}

COLUMNS = {"columns": {"id": {"type": "identifier"}, "x": {"type": "integer", "min": 0, "max": 9}}}
TREE = several(a_key("events", "roots", "id", 2), roots=COLUMNS, events=COLUMNS) | {"dataset": "d"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A release of related tables, and another run of them whose process was killed while it was writing."""
    from synth.generators.core.related import Nested
    from synth.generators.core.related_fit import TreeOptions
    from synth.pipeline.run import carry_out

    place = tmp_path_factory.mktemp("tree")
    (place / "tables").mkdir()
    for name in TREE["tables"]:
        cells = "".join(f"k{i % 60},{i % 7}\n" for i in range(100 if name == "events" else 60))
        (place / "tables" / f"{name}.csv").write_text(f"id,x\n{cells}")

    def run_it(out, epsilon):
        request = synth.app_api.RunRequest(
            table=place / "tables", epsilon=epsilon, delta=1e-6, out=out, ledger=place / "l.sqlite", num_rows=20, seed=1
        )
        few = Nested(options=TreeOptions(fits=2, roots=6, children=12, steps=20))
        carry_out(request, synth.app_api.parse_related(TREE), Context(questions=few))

    run_it(place / "own", OWN)
    if (child := os.fork()) == 0:
        run.folder.write = lambda *_, **__: os._exit(9)
        run_it(place / "other", OTHER)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    return place


def test_related_tables_have_the_same_sums(tree, command, tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_LEDGER", str(tree / "l.sqlite"))
    own = shutil.copytree(tree / "own", tmp_path / "own")
    assert bundled(command, own, tmp_path / "z.zip") == OWN + OTHER
    assert stated(command, own, "releases") == OWN + OTHER
    assert command("bundle", own, "--out", tmp_path / "only.zip", "--choice", "only")[0] == 2


@pytest.mark.parametrize("which", ["no ledger", "a ledger without the line", "another line of its number"])
@pytest.mark.parametrize("tables", ["one", "related"])
def test_no_sum_is_taken_from_a_ledger_without_the_line_that_paid(made, tree, tables, which, command, own_state):
    place, table = (made, made / "real.csv") if tables == "one" else (tree, tree / "tables")
    ledger = own_state / "ledger.sqlite"
    if which != "no ledger":
        book = Ledger(ledger)
        book.set_policy("club", max_epsilon=9.0) if which == "a ledger without the line" else None
    if which == "another line of its number":
        book.spend(charge(OWN, dataset="club", delta=1e-6))
    for name, words in SUMS.items():
        reported = [w.format(r=place / "own", o=own_state / "out", l=ledger, t=table) for w in words]
        code, said, error = command(*reported)
        assert (code, said) == (2, ""), (name, error)
        assert "ledger" in error, name
        assert not list(own_state.glob("out*")), name
    for deed in (chosen_release.settle, chosen_release.look):
        with pytest.raises(SynthError, match="not in the ledger"):
            deed(place / "own", **({"how": None} if deed is chosen_release.settle else {}))
    with pytest.raises(SynthError, match="not in the ledger"):
        chosen_release.compared_elsewhere([place / "own"], dataset="club")


def learn(at, ledger, epsilon=4.0, schema=KINDS):
    return synth.learn_schema(
        at / "real.csv", schema=schema, epsilon=epsilon, delta=1e-6, dataset="club", ledger=ledger
    )


def test_a_schema_learnt_under_another_ledger_keeps_its_price_and_hides_no_line(at, tmp_path):
    """Ledgers number their lines alike: line 1 there is the learning, line 1 here is somebody's run."""
    schema = learn(at, tmp_path / "there.sqlite")
    fresh = {"schema": schema, "ledger": tmp_path / "here.sqlite"}
    assert spend(at, **fresh).card["epsilon"] == 4.0 + OTHER, "line 1 of both ledgers"
    spend(at, out=tmp_path / "own", epsilon=OWN, **fresh)
    for how in ("releases", None, "only"):
        with pytest.raises(UsageError, match="learning of its schema"):
            chosen_release.settle(tmp_path / "own", how, ledger=tmp_path / "here.sqlite")
    fixed = chosen_release.settle(tmp_path / "own", "before", ledger=tmp_path / "here.sqlite")
    assert fixed["epsilon"] == 4.0 + OWN


def test_a_learnt_schema_counts_once(at, tmp_path):
    schema = learn(at, None)
    for name in ("own", "rival"):
        spend(at, schema=schema, out=tmp_path / name, epsilon=OWN)
    own, others = tmp_path / "own", [at / "own", tmp_path / "rival"]
    assert chosen_release.settle(own, "releases")["epsilon"] == 4.0 + 3 * OWN
    assert chosen_release.settle(own, "all", candidates=others)["epsilon"] == 4.0 + 3 * OWN


def test_a_schema_learnt_in_two_steps_keeps_the_price_of_both(at, tmp_path):
    """The second step's line has the first one's price beside its own; the first one's line may count twice."""
    first = learn(at, None)
    part = first.model_copy(update={"columns": {**first.columns, "age": KINDS.columns["age"]}})
    schema = learn(at, None, epsilon=2.0, schema=part)
    made = spend(at, schema=schema, out=tmp_path / "own", epsilon=OWN)
    assert made.card["epsilon"] == 4.0 + 2.0 + OWN
    assert chosen_release.settle(tmp_path / "own", "releases")["epsilon"] >= OWN + 4.0 + 2.0 + OWN


def test_a_run_that_learnt_and_measured_is_counted_whole_for_the_next_user_of_its_schema(at, tmp_path):
    schema = spend(at, schema=KINDS, learn_share=0.1, epsilon=4.0).schema
    spend(at, schema=schema, out=tmp_path / "own", epsilon=OWN)
    sums = chosen_release.settle(tmp_path / "own", "releases")
    assert sums["epsilon"] >= OWN + 4.0 + OWN


def test_facts_of_related_tables_count_once_and_keep_their_price_under_another_ledger(own_state):
    """What learning cost for all tables together stands beside them, and enters the sums as a single table's does."""
    homes = {"hid": {"type": "identifier"}, "area": {"type": "categorical"}}
    people = {"hid": {"type": "identifier"}, "age": {"type": "integer"}}
    key = a_key("people", "homes", "hid", 3)
    plain = several(key, homes={"columns": homes}, people={"columns": people}) | {"dataset": "club"}
    rows = pd.DataFrame({"hid": range(60), "area": ["n", "s"] * 30, "age": range(60)})
    tables = {"homes": rows[["hid", "area"]], "people": rows[["hid", "age"]]}
    there, here = own_state / "there.sqlite", own_state / "here.sqlite"
    bare = synth.app_api.parse_related(plain, complete=False)
    schema = synth.learn_schema(tables, schema=bare, epsilon=4.0, delta=1e-6, ledger=there)

    def release(name, ledger):
        asked = {"schema": schema, "epsilon": OWN, "delta": 1e-6, "method": "independent"}
        return synth.run(tables, ledger=ledger, out=own_state / name, **asked)

    for name in ("own", "rival"):
        assert release(name, there).card["epsilon"] == 4.0 + OWN
    own, others = own_state / "own", [own_state / "rival"]
    assert chosen_release.settle(own, "releases", ledger=there)["epsilon"] == 4.0 + 2 * OWN
    assert chosen_release.settle(own, "all", candidates=others, ledger=there)["epsilon"] == 4.0 + 2 * OWN
    assert release("elsewhere", here).card["epsilon"] == 4.0 + OWN, "line 1 of both ledgers"
    with pytest.raises(UsageError, match="learning of its schema"):
        chosen_release.settle(own_state / "elsewhere", "releases", ledger=here)
