"""How fast rows are drawn from a fitted `mixture`: positions alone, as text, and into a Parquet file.

    python benchmarks/draw.py [--rows 10000000]

Adult (15 columns; it must lie beside the checkout). The model is fitted at epsilon 1. Rows
are drawn in blocks as `synth sample` does, on one core and on two; each measurement is a process of its own. Seconds
of the processor are told beside those of the clock, since other work may keep the machine busy: rows a second of a
core that has nothing else to do are rows over processor seconds. Written to
benchmarks/results/draw_adult.json.
"""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from public_tables import adult, drafted
from runner import Row, apart, show, start, sure, write

WHAT = ("positions", "text", "parquet")


def model(folder: Path) -> None:
    """A fitted model."""
    import synth

    drafted(folder, adult(folder))
    place, schema = folder / "train.csv", synth.Schema.load(folder / "schema.json")
    retained = {"out": folder / "out", "ledger": folder / "ledger.sqlite", "assume_public": True}
    synth.run(place, schema=schema, epsilon=1.0, delta=1e-5, num_rows=1000, seed=0, **retained)


def drawn(folder: Path, what: str, rows: int, cores: int) -> Row:
    """Seconds for ``rows`` rows, on the first cores that this process may use."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    import numpy as np

    from synth.pipeline.draw_rows import ROWS_AT_A_TIME, Drawn
    from synth.release import folder as bundle

    stored = bundle.load_model(folder / "out")
    table = Drawn(stored.model, stored.schema, rows, rng=np.random.default_rng(0))
    stored.model.sample(ROWS_AT_A_TIME // 4, rng=np.random.default_rng(1))
    began, used = time.perf_counter(), time.process_time()
    if what == "positions":
        rng = np.random.default_rng(0)
        for first in range(0, rows, ROWS_AT_A_TIME):
            stored.model.sample(min(ROWS_AT_A_TIME, rows - first), rng=rng)
    elif what == "text":
        for _ in table.blocks():
            pass
    else:
        bundle.write_blocks(folder / f"t{cores}.parquet", table.blocks(), stored.schema)
    return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - used}


def main(given) -> None:
    from docs_figures_speed import drawing

    row: Row = {"rows": given.rows, "load": os.getloadavg()[0], "runs": {}}
    with TemporaryDirectory() as name:
        model(Path(name))
        for what in WHAT:
            for cores in (1, 2):
                row["runs"][f"{what} {cores}"] = sure(apart(drawn, Path(name), what, given.rows, cores))
                show({"drawn": what, "cores": cores} | row["runs"][f"{what} {cores}"])
    print(drawing(row))
    write(given.json, row)


if __name__ == "__main__":
    start(main, public=True, json="draw_adult", rows=10**7)
