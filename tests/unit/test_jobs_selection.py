"""A run chosen by its comparison with the real rows leaves with all that were compared, or not at all."""

import pytest

from synth import jobs
from synth.errors import UsageError
from synth.jobs import looks


@pytest.fixture
def three(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path))
    made = [jobs.create({"dataset": name, "epsilon": 1.0}) for name in ("club", "club", "other")]
    for job in made:
        job.write(jobs.Status(state="done"))
    return made


def test_one_compared_run_is_no_selection(three):
    looks.look(three[0])
    assert looks.barrier(three[0]) == ""


def test_another_spelling_of_the_dataset_s_name_is_the_same_dataset(three):
    other = jobs.create({"dataset": "CLUB", "epsilon": 1.0})
    other.write(jobs.Status(state="done"))
    looks.look(other)
    assert "say how this one was chosen" in looks.barrier(three[0])
    assert looks.barrier(three[2]) == ""


def test_another_compared_run_stands_in_the_way_even_of_one_that_nobody_looked_at(three):
    first, second, elsewhere = three
    looks.look(first)
    assert "say how this one was chosen" in looks.barrier(second)
    assert looks.barrier(elsewhere) == ""


@pytest.mark.parametrize(("how", "free"), [("before", True), ("releases", True), ("scores", False)])
def test_what_the_steward_says_decides(three, how, free):
    for job in three[:2]:
        looks.look(job)
    looks.choose([three[0]], how, by="ann")
    assert (looks.barrier(three[0]) == "") == free
    assert looks.choice(three[0])["in_words"] == looks.CHOICES[how]
    assert looks.barrier(three[1])


def test_a_choice_by_scores_is_marked_until_all_are_released(three):
    for job in three[:2]:
        looks.look(job)
    looks.choose([three[0]], "scores")
    assert looks.barrier(three[0]).startswith(looks.UNCOVERED)
    looks.release(three[0])
    assert looks.barrier(three[0])
    looks.release(three[1])
    assert looks.barrier(three[0]) == ""


def test_an_unfinished_run_is_no_candidate(three):
    looks.look(three[1])
    three[1].write(jobs.Status(state="failed"))
    assert looks.barrier(three[0]) == ""


def test_an_unknown_reason_is_refused(three):
    with pytest.raises(UsageError, match="say one of"):
        looks.choose([three[0]], "because")


def test_of_several_runs_one_alone_was_fixed_before_and_all_are_answered_for_or_none(three):
    """“Before”, said of each of several at once, let every one of them leave after their scores were seen."""
    first, second, _ = three
    for job in (first, second):
        looks.look(job)
    with pytest.raises(UsageError, match="say one of releases, scores"):
        looks.choose([first, second], "before")
    assert looks.barrier(first)
    looks.release(second, by="ann", approved_by="bob", shown={})
    with pytest.raises(UsageError, match="what he signed stands"):
        looks.choose([first, second], "releases")
    assert looks.choice(first) is looks.choice(second) is None


def test_a_paid_selection_frees_its_winner_while_it_was_among_all_that_were_compared(three):
    first, second, _ = three
    for job in three[:2]:
        looks.look(job)
    with pytest.raises(UsageError, match="were left out"):
        looks.decide(first, [], line=3)
    looks.decide(first, [second], line=3, by="ann")
    assert looks.barrier(first) == ""
    assert looks.how(first) == "private"
    assert looks.barrier(second)
    with pytest.raises(UsageError, match="already decided between"):
        looks.decide(second, [first], line=4)
    assert looks.barrier(first) == ""
    later = jobs.create({"dataset": "club", "epsilon": 1.0})
    later.write(jobs.Status(state="done"))
    assert looks.barrier(first) == ""
    looks.look(later)
    assert looks.barrier(first), "a run that was compared later took no part"
    looks.decide(later, [first, second], line=4)
    assert (looks.choice(first), looks.barrier(later)) == (None, "")


def test_jobs_that_make_no_table_are_no_candidates(three):
    elsewhere = three[2]
    assert looks.how(elsewhere) == "only"
    for kind in ("learns", "decides"):
        jobs.create({"dataset": "other", kind: ["x"]}).write(jobs.Status(state="done"))
    assert looks.how(elsewhere) == "only"
    jobs.create({"dataset": "other", "epsilon": 1.0}).write(jobs.Status(state="done"))
    assert looks.how(elsewhere) is None
