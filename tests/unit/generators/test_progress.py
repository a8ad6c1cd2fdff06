"""Fits tell their loss with their progress, through every part of a phase, into the job's status."""

import numpy as np
import pytest

from synth import jobs
from synth.generators.base import Share, part
from synth.pipeline import run as pipeline
from synth.schema import table as schema


def test_a_part_of_a_phase_keeps_the_loss_and_a_bare_share_has_none():
    reported = []
    half = part(part(reported.append, 0.5, 1.0), 0.0, 0.5)
    half(Share(1.0, loss=7.0))
    half(0.5)
    assert [(float(s), s.loss) for s in reported] == [(0.75, 7.0), (0.625, None)]


@pytest.fixture
def table(tmp_path):
    """300 made-up rows of two related columns, with their schema."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 300)
    place = tmp_path / "t.csv"
    place.write_text("a,b\n" + "".join(f"{i},{(i + int(rng.random() < 0.1)) % 3}\n" for i in x))
    three = {"type": "categorical", "categories": ["0", "1", "2"], "source": "public"}
    return place, schema.parse({"dataset": "t", "columns": {"a": three, "b": three}})


FITS = [("mixture", {}), ("dp_merf", {"steps": 20, "frequencies": 200}), ("slicing", {"loss": "js", "steps": 20})]


@pytest.mark.parametrize(("method", "options"), FITS)
def test_a_run_leaves_a_curve_of_finite_losses_in_its_status(table, tmp_path, method, options):
    job = jobs.create({"epsilon": 1.0}, folder=tmp_path / "job")
    with jobs.Reporter(job, stages=pipeline.STAGES, bar=False) as report:
        pipeline.run(
            table[0],
            schema=table[1],
            epsilon=1.0,
            delta=1e-5,
            method=method,
            reporter=report,
            options=options,
            ledger=tmp_path / "ledger.sqlite",
            device="cpu",
        )
        report.finish("done", "done", 0)
    losses = job.status().losses
    assert losses, "at least one loss was told"
    assert np.isfinite(losses).all()
    assert all(0 <= share <= 1 for share, _ in losses)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_left_out(tmp_path, loss):
    job = jobs.create({}, folder=tmp_path / "job")
    report = jobs.Reporter(job, stages={"fit": 1.0}, bar=False)
    report.stage("fit")
    report.progress(Share(0.5, loss=loss))
    report.finish("done", "done", 0)
    assert not job.status().losses
