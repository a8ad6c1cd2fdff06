"""What one charge bought is answered once: threads wait for one another, and a fork is refused before it draws."""

import copy
import os
import pickle
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import BudgetError
from synth.mechanisms import counts
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SystemNoise
from synth.privacy.owner import Owner
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, Marginal
from tests.made import a_schema, codes, number

FRAME = pd.DataFrame({"sex": ["f"] * 3900 + ["m"] * 100, "age": [str(i % 80) for i in range(4000)]})
SCHEMA = a_schema(sex=codes("f", "m"), age=number(0, 79))
QUESTION = Counts(purpose="test", marginals=(Marginal(bins=(Bins.each("a", 2),), sigma=9.0),))


class Slow(SystemNoise):
    """The same noise, drawn so slowly that threads that may meet do, with a diary of the draws."""

    def __init__(self) -> None:
        super().__init__()
        self.draws = 0

    def laplace_counts(self, shape, *, scale):
        self.draws += 1
        time.sleep(0.02)
        return super().laplace_counts(shape, scale=scale)


def opened(tmp_path, noise=None, updates=3):
    more = {"epsilon": 20.0, "dataset": "d", "ledger": tmp_path / "l.sqlite", "noise": noise}
    return synth.online(FRAME, schema=SCHEMA, options={"updates": updates, "bins": 4}, **more)


def forked(deed) -> str:
    """What the deed said in a fork."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        try:
            said = str(deed())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as words:
        said = words.read()
    os.waitpid(child, 0)
    return said


def test_threads_are_answered_one_after_the_other_and_no_paid_round_twice(tmp_path):
    said, faults = [], []

    def ask(session, gate):
        gate.wait()
        try:
            said.append(session.count({"sex": "m"}))
        except Exception as error:  # whatever a thread meets is a finding
            faults.append(error)

    gate = threading.Barrier(8)
    with opened(tmp_path, Slow(), updates=2) as session:
        crowd = [threading.Thread(target=ask, args=(session, gate)) for _ in range(8)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        releases = session._door.releases
    assert not faults
    above = [r.question.number for r in releases if getattr(r, "above", False)]
    assert len(above) == len(set(above)) == sum(a.counted for a in said)
    assert above == sorted(above, reverse=True)
    assert session._door.left == 2 - len(above) >= 0


def curator(diary):
    adjacency = Adjacency(relation=Relation.REPLACE_ONE)
    grant = Grant(epsilon=1.0, delta=1e-5, adjacency=adjacency, mu=calibrate(1.0, 1e-5))

    def read():
        diary.append("read")
        return {"a": np.array([0, 1, 1])}

    commit = partial(diary.append, "commit")
    return Curator(grant=grant, commit=commit, read=read, mechanisms={Counts: counts}, noise=SystemNoise())


DOORS = {
    "open": lambda c: c.open(),
    "ask": lambda c: c.ask(QUESTION),
    "public_rows": lambda c: c.public_rows(),
    "public_values": lambda c: c.public_values(["a"]),
}


def test_every_door_of_the_curator_is_among_these():
    known = {*DOORS, "close", "grant", "events", "epsilon_derived"}
    assert {n for n in vars(Curator) if not n.startswith("_")} == known


@pytest.mark.parametrize("before", ["nothing asked", "opened"])
@pytest.mark.parametrize("door", DOORS)
def test_a_fork_is_refused_at_every_door_before_anything_is_drawn_or_read(door, before):
    diary: list[str] = []
    session = curator(diary)
    if before == "opened":
        session.open()
    seen = list(diary)

    def knock() -> str:
        with pytest.raises(BudgetError, match="copy of the one that paid"):
            DOORS[door](session)
        session.close()  # its own copy alone
        return str(diary == seen)

    assert forked(knock) == "True"
    assert forked(lambda: forked(knock)) == "True"
    assert DOORS[door](session) is not Ellipsis  # the payer goes on
    assert diary == ["commit", "read"]


def test_forks_of_an_open_session_draw_nothing_and_leave_the_ledger_alone(tmp_path):
    noise = Slow()
    with opened(tmp_path, noise) as session:
        before = noise.draws
        said = [forked(lambda: (session.count({"sex": "m"}), noise.draws)) for _ in range(5)]
        assert all(one.startswith("BudgetError") for one in said)
        assert session.count({"sex": "m"}).counted
        assert noise.draws > before
    assert forked(lambda: session.count({"sex": "m"})).startswith("BudgetError")


def test_a_fork_that_leaves_the_block_records_no_outcome(tmp_path):
    reader, writer = os.pipe()
    child = None
    try:
        with opened(tmp_path):
            child = os.fork()
    finally:
        if child == 0:
            os.write(writer, b"left")
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as words:
        assert words.read() == "left"
    os.waitpid(child, 0)
    kinds = [e.kind for e in Ledger(tmp_path / "l.sqlite").entries()]
    assert (kinds.count("spend"), kinds.count("outcome")) == (1, 1)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_what_holds_a_charge_is_not_copied(copied):
    with pytest.raises(TypeError):
        copied(Owner())
    with pytest.raises((TypeError, AttributeError)):
        copied(curator([]))
