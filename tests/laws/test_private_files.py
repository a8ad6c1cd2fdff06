"""Where a run's rows and exact counts may lie: in files that nobody else can open, and nowhere once it has ended."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TIMES = (123_457, 176_543)  # how often each category occurs: numbers that nothing else is
RUN = """
    import json, os, sys
    from pathlib import Path
    import synth
    from synth.privacy.noise import SeededNoise
    from synth.sources.rows import marginals, spill

    spill.HELD = 1 << 10
    spill.Spill.__init__.__kwdefaults__["held"] = 1 << 10  # rows go to the file at once
    found = set()

    def looked(method):
        def look(*given):
            for link in Path("/proc/self/fd").iterdir():
                try:
                    flags = Path(f"/proc/self/fdinfo/{link.name}").read_text().split("flags:")[1].split()[0]
                    target = os.readlink(link)
                except OSError:
                    continue
                writes = int(flags, 8) & (os.O_WRONLY | os.O_RDWR)
                if writes and target[:1] == "/" and not target.startswith(("/dev/null", "/dev/pts")):
                    found.add(target)
            return method(*given)
        return look

    spill.Spill.append = looked(spill.Spill.append)
    marginals.part = looked(marginals.part)
    facts = {"a": {"type": "categorical", "categories": ["x", "y"]}, "b": {"type": "integer", "min": 0, "max": 1}}
    made = synth.run("rows", schema=synth.Schema.parse({"columns": facts}), dataset="d", epsilon=1, delta=1e-5,
                     method=sys.argv[1], num_rows=20, out="out", ledger="ledger.sqlite", seed=1, noise=SeededNoise(1))
    print(json.dumps(sorted(found)))
"""


@pytest.mark.parametrize("method", ["independent", "mixture"])
def test_exact_counts_are_in_no_file_of_a_run_but_its_own_and_in_none_after_it(tmp_path, method):
    """Every file open for writing while rows are encoded and counted; then every file that is left."""
    (tmp_path / "rows").mkdir()
    rng = np.random.default_rng(0)
    table = pa.table({"a": np.repeat(["x", "y"], TIMES), "b": rng.integers(0, 2, sum(TIMES))})
    pq.write_table(table, tmp_path / "rows" / "0.parquet")
    (home := tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RUN), method],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(home)},
    )
    assert done.returncode == 0, done.stderr
    opened = json.loads(done.stdout.splitlines()[-1])
    own = [p for p in opened if p.startswith(str(home))]
    assert any(p.endswith(" (deleted)") for p in own), "the encoded rows: a file without a name"
    for path in own:  # DuckDB's folder is nobody else's: tests/faults/test_spill.py
        assert path.endswith(" (deleted)") or path.startswith(f"{home}/facsimile-spill-"), path
    assert all(p.startswith(str(tmp_path / "ledger.sqlite")) for p in opened if p not in own)
    assert list(home.iterdir()) == []
    left = [p for p in tmp_path.rglob("*") if p.is_file() and p.parent.name != "rows"]
    assert {p.relative_to(tmp_path).parts[0].split(".")[0] for p in left} <= {"out", "ledger"}
    for count in TIMES:
        forms = [np.array([count], kind).tobytes() for kind in ("<i4", "<f4", "<f8")]  # i4 begins i8
        for path in left:
            data = path.read_bytes()
            assert not [f for f in [*forms, str(count).encode(), f"{count:,}".encode()] if f in data], path
